"""Asks solvers about a goal, the cheapest question first, within one time limit.

Linear arithmetic goes to Z3 here. Where there are strings, the abstraction of the goal to lengths is decided first: it
holds, or gives strings of the right lengths to try. What is left goes to Z3 and cvc5 in processes of their own, which
are killed when the time is up. Of two solvers that work at the same time, the first that decides is believed; what the
other would have said, a certificate finds out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from lictor_ir.goals.goal import Goal
from lictor_ir.solver import z3_lowering
from lictor_ir.solver.answers import Answer, Conclusion, undecided
from lictor_ir.solver.solver_child import SLACK_S, first_to_answer
from lictor_ir.solver.z3_process import decide_abstraction, keeps_time, z3_child
from lictor_prove.proof.second_answers import cvc5_child

ABSTRACTION_MS: Final = 1_000
HEAD_START_S: Final = 0.25
"""How long Z3 works alone: most of what it decides takes it milliseconds, and a second process costs as much."""


def answers(goal: Goal, timeout_ms: int, memory_mb: int) -> Iterator[Answer]:
    """What is found out about a goal, one answer after the other; at least one.

    One that it holds is the last. After a model that no run confirms, the next answer may be worth its time.
    """
    if keeps_time(goal, texts=False):
        yield z3_lowering.decide(goal, timeout_ms, memory_mb)
        return
    end = time.monotonic() + timeout_ms / 1000
    abstracted = decide_abstraction(goal, min(timeout_ms, ABSTRACTION_MS), memory_mb)
    if abstracted is not None and abstracted.conclusion is not Conclusion.UNDECIDED:
        yield abstracted
        if abstracted.conclusion is Conclusion.HOLDS:
            return
    yield _raced(goal, end, memory_mb)


def _raced(goal: Goal, end: float, memory_mb: int) -> Answer:
    """What the first solver says that decides it."""
    reasons: list[str] = []
    with ExitStack() as running:
        left = _left_ms(end)
        children = [running.enter_context(z3_child(goal, left, memory_mb))]
        has_second = False
        while True:
            patience = end + SLACK_S - time.monotonic()
            ready = first_to_answer(
                children, patience if has_second else min(patience, HEAD_START_S)
            )
            if ready is not None:
                answer = ready.answer(patience)
                if answer.conclusion is not Conclusion.UNDECIDED:
                    return answer
                children.remove(ready)
                reasons.append(answer.reason)
            if not has_second and (left := _left_ms(end)) > 0:
                has_second = True
                children.append(running.enter_context(cvc5_child(goal, left, memory_mb)))
            elif not children or patience <= 0:
                break
        # What is still at work is killed: it has used up its time.
        reasons += [each.answer(0).reason for each in children]
    return undecided("; ".join(reasons), "")


def _left_ms(end: float) -> int:
    return max(0, round((end - time.monotonic()) * 1000))
