"""Programs put together at random from those of `python_programs.txt` still do what their documents say.

The pieces share names, so what one leaves behind (a list or None, an alias, a closure) is what the next one meets.
"""

from __future__ import annotations

import ast
import random

import pytest

from libs.prove.tests.python_front_end import (
    concrete,
    fits,
    indented,
    plain,
    predicted,
    program,
    read,
)
from lictor_ir.errors import UnspecifiedError
from lictor_prove.errors import Rejected

from .test_differential import INPUTS, PARAMETERS, PROGRAMS

PRELUDE = """\
x, y, i, k, v, total = 1, 2, 0, t, b, 0
xs = [1, a]
ys, zs = xs, [2]
d = {"a": a, "k": [1]}
u = {1, a}
rows = users()
n, m, e, r = number(), None, s, 1.5
def f(x):
    if x == 1:
        return None
    return x
"""
CONDITIONS = ("p", "q", "a > b", "s", "p and q", "s == t", "f2 < 1.0", "t in s", "x", "m is None")
ITEMS = ("range(2)", "[a, b]", "[1, s]", "['x']", "xs[:2]")


class Composer:
    """Draws programs."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._statements = [one for body in PROGRAMS.values() for one in _statements(body)]

    def program(self) -> str:
        pieces = [self.piece(0) for _ in range(self._random.randint(1, 3))]
        return PRELUDE + "f2 = 0.5\n" + "\n".join(pieces)

    def piece(self, depth: int) -> str:
        pick = self._random
        match pick.choice(["whole", "some", "mixed", "if", "else", "for", "rows", "def", "return"]):
            case "whole":
                return pick.choice(list(PROGRAMS.values()))
            case "some":
                body = pick.choice(list(PROGRAMS.values()))
                kept = [one for one in _statements(body) if pick.random() < 0.7]
                return "\n".join(kept) or "pass"
            case kind if kind == "mixed" or depth > 2:
                return "\n".join(pick.choice(self._statements) for _ in range(3))
            case "if":
                return f"if {pick.choice(CONDITIONS)}:\n{indented(self.piece(depth + 1))}"
            case "else":
                one, other = self.piece(depth + 1), self.piece(depth + 1)
                test = pick.choice(CONDITIONS)
                return f"if {test}:\n{indented(one)}else:\n{indented(other)}"
            case "for":
                return f"for w{depth} in {pick.choice(ITEMS)}:\n{indented(self.piece(depth + 1))}"
            case "rows":
                return f"for row{depth} in users():\n{indented(self.piece(depth + 1))}"
            case "def":
                body = indented(self.piece(depth + 1))
                name = f"h{depth}"
                return f"def {name}(x, y=2):\n{body}    return x\n{name}(a)\n{name}(b, y=s)"
            case _:
                return f"{self.piece(depth + 1)}\nif q:\n    return\n{self.piece(depth + 1)}"


def _statements(body: str) -> list[str]:
    lines = body.splitlines()
    return ["\n".join(lines[one.lineno - 1 : one.end_lineno]) for one in ast.parse(body).body]


@pytest.mark.parametrize("seed", range(8))
def test_composed_programs_do_what_their_documents_say(seed: int) -> None:
    composer = Composer(seed)
    seen = 0
    for _ in range(25):
        source = program(composer.program(), PARAMETERS)
        try:
            document = read(source)
        except Rejected:
            continue
        seen += 1
        for inputs in INPUTS[:6]:
            calls, error = concrete(source, inputs)
            if document.unknowns:
                assert fits(document, inputs, calls, error) is None, source
                continue
            try:
                steps, failed = predicted(document, inputs)
            except UnspecifiedError:
                # After an error values are left open.
                assert error is not None, source
                continue
            told = f"{source}\n{inputs}: {calls} {error!r}, predicted {steps}"
            if error is not None:
                assert failed, told
                steps = steps[: len(calls)]
            assert plain([list(each) for each in calls]) == plain([list(each) for each in steps]), (
                told
            )
    assert seen > 3
