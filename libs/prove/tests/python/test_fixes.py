"""What is refused and can be rewritten mechanically: the result is read, and does what Python does."""

from __future__ import annotations

import pytest

from libs.prove.tests.python_front_end import LAYER, indented, program
from lictor_prove.errors import Rejected
from lictor_prove.proof.prover import prove
from lictor_prove.python import read_program
from lictor_prove.python.diagnosis import every_reason
from lictor_prove.python.fixes import rewritten
from lictor_schema.proofs.proof import ProofVerdict


def fixed(body: str, before: str = "") -> str:
    """The program after the rewriting; empty where there is none."""
    source = program(body, before=before)
    try:
        read_program(source, name="test.py", layer=LAYER)
    except Rejected as refused:
        first = refused.reasons[0]
        reasons = every_reason(first, source, target="main", layer=LAYER)
        return rewritten(source, reasons, target="main", layer=LAYER)
    raise AssertionError("it is not refused")


FIXES = {
    "xs = list(map(str, [1, 2]))\nsend('a', xs[0])": "xs = [str(item) for item in [1, 2]]\nsend('a', xs[0])",
    "xs = list(map(lambda n: n + 1, [1, 2]))": "xs = [item + 1 for item in [1, 2]]",
    "for x in filter(None, ['a', '']):\n    send('a', x)": (
        "for x in [item for item in ['a', ''] if item]:\n    send('a', x)"
    ),
    "import math\nsend('a', 'b')": "send('a', 'b')",
    "if number() is 1:\n    send('a', 'b')": "if number() == 1:\n    send('a', 'b')",
    "if (number() or 2) is 2:\n    send('a', 'b')": "if (number() or 2) == 2:\n    send('a', 'b')",
    "if 1 is (number() == 1):\n    send('a', 'b')": "if 1 == (number() == 1):\n    send('a', 'b')",
    "if (0 if number() else 1) is 1:\n    send('a', 'b')": (
        "if (0 if number() else 1) == 1:\n    send('a', 'b')"
    ),
    "for x in {2, 1}:\n    send('a', str(x))": "for x in sorted({2, 1}):\n    send('a', str(x))",
    "xs = (n for n in ['a'])\nfor x in xs:\n    send('a', x)": (
        "xs = [n for n in ['a']]\nfor x in xs:\n    send('a', x)"
    ),
    "xs = reversed(['a'])\nfor x in xs:\n    send('a', x)": (
        "xs = list(reversed(['a']))\nfor x in xs:\n    send('a', x)"
    ),
    "d = {'a': 1}\ne = {**d, 'b': 2}": "d = {'a': 1}\ne = (d | {'b': 2})",
}


@pytest.mark.parametrize("body", FIXES)
def test_the_rewritten_program_is_proved(body: str) -> None:
    text = fixed(body)
    assert text.endswith(indented(FIXES[body]))
    proof = prove(text, name="test.py", layer=LAYER)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons


def test_imports_that_nobody_reads_are_left_out() -> None:
    assert "import os" not in fixed("send('a', 'b')", before="import os")
    assert fixed("send('a', os.name)", before="import os") == ""


@pytest.mark.parametrize(
    "body",
    [
        "open('f')",
        "global x",
        "xs = list(map(lambda a, b: a, [1], [2]))",
        "xs = list(map(lambda n: [n for n in [1]], [2]))",
        "x = eval('1')",
    ],
)
def test_what_has_no_mechanical_rewriting_has_none(body: str) -> None:
    assert fixed(body) == ""


def test_strings_with_other_line_separators_stay_what_they_are() -> None:
    text = fixed("d = {**{}, 'é': 1}\nsend('a', T)", before="T = 'a\u2028b'")
    assert "T = 'a\u2028b'\n" in text
    assert "(({}) | {'é': 1})" in text


def test_a_name_of_the_program_is_not_taken() -> None:
    assert "each + str(item)" not in fixed("item = 1\nxs = list(map(str, [1, 2]))")
    assert "[str(each) for each in [1, 2]]" in fixed("item = 1\nxs = list(map(str, [1, 2]))")


def test_a_proof_of_a_rejected_program_has_it() -> None:
    proof = prove(program("for x in {'a', 'b'}:\n    send('a', x)"), name="test.py", layer=LAYER)
    assert proof.verdict is ProofVerdict.REJECTED
    assert "sorted({'a', 'b'})" in proof.rewritten
