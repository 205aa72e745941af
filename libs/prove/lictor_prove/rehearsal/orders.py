"""What a stage is asked to do, and what it observed.

Plain data, so that it can cross to a process that holds nothing else. A stage runs the original program with stand-ins
for trusted calls. It knows the answers and nothing of what is expected: whoever planned the runs compares. Values are
written as `lictor_prove.written_values` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Json = Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a trusted call returns in a run, if it is the call that is expected there."""

    effect: str
    result: Json
    error: str = ""
    """The builtin class of the error that it raises instead; the program may handle it."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of the program: inputs, and the answers of its trusted calls.

    A stage stops a run at a call that has no answer: what it would return is not known.
    """

    inputs: Mapping[str, Json]
    answers: tuple[Answer, ...]
    fails_at: int | None = None
    """The number of the call that raises instead of returning, from 0; None when all return."""
    in_order: bool = True
    """Whether the calls are known: each has the answer at its place. Else those of one effect have its answers in turn,
    from the first again after the last; and arguments are reported as they are, not by their hashes."""

    def answer(self, effect: str, made: Sequence[str]) -> Answer | None:
        """The answer of the next call; `made`: the effects of the calls before it."""
        if self.in_order:
            answers = self.answers[len(made) : len(made) + 1]
            return answers[0] if answers and answers[0].effect == effect else None
        own = [each for each in self.answers if each.effect == effect]
        return own[list(made).count(effect) % len(own)] if own else None


@dataclass(frozen=True, slots=True)
class StageOrder:
    """A program, what it may import, and the runs to make of it."""

    language: Literal["python", "commands"]
    source: str
    source_name: str
    target: str
    outline: Json
    """What each module of the layer offers, without any code of it: signatures, row classes, constants."""
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A trusted call that the program made."""

    effect: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """What the program did."""

    calls: tuple[ObservedCall, ...]
    ended: Literal["completed", "raised", "failed", "unanswered", "limit"]
    """`failed`: at the call that was told to fail. `unanswered`: at a call without an answer. `limit`: of time, memory
    or size."""
    error: str = ""
    """Type and message of what was raised, or which limit."""
    line: int = 0
    """Where in the program it was raised; 0 when that is not known."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a stage saw, run by run; fewer runs than were ordered only when it could not go on."""

    runs: tuple[ObservedRun, ...]
    refused: str = ""
    """Why the stage does not work here at all: no seccomp, no answer in time. Then there are no runs."""
    python: str = ""
    """The Python of the stage, as `lictor_prove.this_python` writes it."""
