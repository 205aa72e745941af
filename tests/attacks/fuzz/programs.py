"""Generated programs, run with random answers: each does what its document says, and breaks nothing that was proved."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from differential import Differential, desk
from fuzz.tally import Tally, Told, silent
from generated_programs import program_of

_BATCH = 25
_PATIENCE = 60
"""Seconds of this process for one program, whose proof is given two; told again where nobody heard of it."""


@dataclass(frozen=True)
class Case:
    """A program, which of the guarantees that it might state it states, and what trusted calls answer."""

    program: str
    first: int
    step: int
    slack: int
    answers: int


def case_of(seed: int, number: int) -> Case:
    """The case of that number; always the same."""
    chance = Random(f"{seed}/{number}")
    return Case(
        program_of(chance.randbytes(chance.randint(60, 900))),
        chance.randint(0, 20),
        chance.choice((1, 2, 4, 5, 8)),
        chance.choice((0, 0, 0, 1, -1)),
        chance.randint(0, 10_000),
    )


def fuzz(count: int, seed: int, told: Told = silent) -> Tally:
    """Try this many programs, on all cores."""
    tally = Tally(told)
    batches = [(seed, range(at, min(at + _BATCH, count))) for at in range(0, count, _BATCH)]
    # Each process ends after some batches: solvers keep what they were given.
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=20) as pool:
        for outcomes in pool.imap_unordered(_outcomes, batches):
            for outcome in outcomes:
                tally.begin()
                if outcome == "refused":
                    tally.refused += 1
                elif outcome == "open":
                    tally.open += 1
                elif outcome == "right":
                    tally.right += 1
                else:
                    tally.wrong.append(outcome)
    return tally


@cache
def _differential() -> Differential:
    return Differential(desk())


def _outcomes(batch: tuple[int, Sequence[int]]) -> list[str]:
    seed, numbers = batch
    signal.signal(signal.SIGPROF, _out_of_time)
    return [outcome_of(case_of(seed, number)) for number in numbers]


def _out_of_time(*_: object) -> None:
    raise TimeoutError(f"more than {_PATIENCE} seconds")


def outcome_of(case: Case) -> str:
    """`refused`, `right`, or `open` where the prover does not know; or what is wrong."""
    differential = _differential()
    before = differential.tally.copy()
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE, 1)
    try:
        differential.check(case.program, case.first, case.step, case.slack, case.answers)
    except Exception as error:  # noqa: BLE001 -- whatever ends the check is a finding
        return f"{type(error).__name__}: {error}\n{case.program}{case!r}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    found = differential.tally - before
    return "refused" if found["rejected"] else "open" if found["unknown"] else "right"
