"""Documents predict what programs do: every construct, over inputs that nobody knew when the program was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from libs.prove.tests.python_front_end import concrete, plain, predicted, program, read

PARAMETERS = "a: int, b: int, s: str, t: str, p: bool, q: bool, f: float"
INPUTS: list[dict[str, Any]] = [
    dict(zip("abstpqf", values, strict=True))
    for values in (
        (0, 0, "", "", False, False, 0.0),
        (1, 2, "ab", "b", True, False, 1.5),
        (-7, 2, "bob@example.com", "@", False, True, -0.0),
        (7, -2, "a,b,,c", ",", True, True, float("nan")),
        (-3, -3, "x", "xyz", False, True, float("inf")),
        (5, 3, "hello\n", "l", True, False, 2.0),
        (2, 0, "42", "4", False, False, -2.5),
        (10**30, 7, "éé", "é", True, True, 1e300),
        (3, 1, "aaaa", "aa", True, False, 0.1),
        (4, 4, "/tmp/x", "/tmp/", False, True, 3.0),
    )
]


def programs() -> dict[str, str]:
    """The programs of `python_programs.txt`, by their titles."""
    text = Path(__file__).with_name("python_programs.txt").read_text("utf-8")
    _, *sections = text.split("\n== ")
    return {title: body for title, _, body in (each.partition("\n") for each in sections)}


PROGRAMS = programs()

BEYOND = {
    "int of a float input fails for nan",
    "float division",
    "true division",
}
"""Programs whose documents may demand more than Python does."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_document_predicts_the_run(name: str) -> None:
    source = program(PROGRAMS[name], PARAMETERS)
    document = read(source)
    for inputs in INPUTS:
        calls, error = concrete(source, inputs)
        steps, failed = predicted(document, inputs)
        told = f"{inputs}: {calls} {error!r}, predicted {steps}"
        if error is not None:
            assert failed, told
            steps = steps[: len(calls)]
        elif name not in BEYOND:
            assert not failed, told
        assert plain([list(each) for each in calls]) == plain([list(each) for each in steps]), told
