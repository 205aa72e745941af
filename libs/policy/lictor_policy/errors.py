"""The errors of the evaluator's core."""

import difflib
from collections.abc import Callable, Iterable
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


class EvaluatorError(Exception):
    """Root of the errors this package raises itself."""


class PackError(EvaluatorError):
    """A policy pack can't be used; the text names the file, the rule and the field."""


def gathered(given: Iterable[Given], make: Callable[[Given], Made]) -> list[Made]:
    """What is made of each; when some can't be used, one error that lists them all."""
    made: list[Made] = []
    problems: dict[str, None] = {}
    for each in given:
        try:
            made.append(make(each))
        except PackError as error:
            problems.update(dict.fromkeys(str(error).splitlines()))
    if problems:
        raise PackError("\n".join(problems))
    return made


class TaskStateError(EvaluatorError):
    """Stored bytes are not a task state of this engine."""


class StoryError(EvaluatorError):
    """A step of a story can't happen, such as a timer that was never set."""


class UnacceptableEvent(EvaluatorError):
    """An event is well formed but can't be judged; nothing was changed by it."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint: the known name that was probably meant, else all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(names) or 'none'}"
