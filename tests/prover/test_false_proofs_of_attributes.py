"""Programs of a hunt through attributes, methods, formats and modules: none of them keeps what it promises.

The name of a program says what it tries. None of them may be proved; most are refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove

LAYERS = Path(__file__).parent / "layers"
HEAD = """
import lictor_layer
import re
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup, names, number, send_email

@lictor_layer.guarantee(c.{promise})
def main() -> None:
"""

NONE_SENT = {
    "the pattern of a regular expression": """
    if re.compile("a+").pattern == "a+":
        send_email("eve", "x")
""",
    "the flags of a regular expression": """
    if re.compile("a+").flags == 32:
        send_email("eve", "x")
""",
    "the groups of a regular expression": """
    if re.compile("(a)+").groups == 1:
        send_email("eve", "x")
""",
    "the string of a match": """
    m = re.fullmatch("a+", "aa")
    if m is not None and m.string == "aa":
        send_email("eve", "x")
""",
    "the position of a match": """
    m = re.fullmatch("a+", "aa")
    if m is not None and m.pos == 0:
        send_email("eve", "x")
""",
    "the pattern of a match": """
    m = re.fullmatch("a+", "aa")
    if m is not None and m.re != 1 and m.lastindex is None:
        send_email("eve", "x")
""",
    "a converted value is formatted as a string": """
    if "{!s:3}".format(7) == "7  ":
        send_email("eve", "x")
""",
    "a converted bool is formatted as a string": """
    if "{!s:5}".format(True) == "True ":
        send_email("eve", "x")
""",
    "a format inside a format": """
    if "{:{}}".format(7, 3) == "  7":
        send_email("eve", "x")
""",
    "bound methods of one list are equal": """
    xs = [1]
    if xs.append == xs.append:
        send_email("eve", "x")
""",
    "a real part": """
    if (7).real == 7:
        send_email("eve", "x")
""",
}
AT_LEAST_ONE = {
    "a list has no add": """
    ["ann"].add
    send_email("eve", "x")
""",
    "a list has no add, on one path": """
    xs = ["ann"] if number() > 3 else {"ann"}
    f = xs.add
    send_email("eve", "x")
""",
    "a set has no append": """
    f = {"ann"}.append
    send_email("eve", "x")
""",
    "a tuple has no sort": """
    f = (1, 2).sort
    send_email("eve", "x")
""",
    "a tuple has no keys": """
    t = (1, 2)
    ok = t.keys is not None
    send_email("eve", "x")
""",
    "a list that was returned has no keys": """
    ok = names().keys
    send_email("eve", "x")
""",
    "a regular expression has no such method": """
    f = re.compile("a").matches
    send_email("eve", "x")
""",
    "a match has no such method": """
    f = re.fullmatch("a", "a").matches
    send_email("eve", "x")
""",
    "a format without its argument": """
    x = "{}{}".format("a")
    send_email("eve", "x")
""",
    "a module that nobody imported": """
    x = c.tools
    send_email("eve", "x")
""",
}
CASES = {
    **{name: ("none_sent()", body) for name, body in NONE_SENT.items()},
    **{name: ("at_least(1)", body) for name, body in AT_LEAST_ONE.items()},
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return load_layer(
        [LAYERS / "tools" / each / "trusted" for each in ("desk", "switched")], [LAYERS]
    )


@pytest.mark.parametrize("name", CASES)
def test_nothing_false_is_proved(name: str, layer: Layer) -> None:
    promise, body = CASES[name]
    proof = prove(HEAD.format(promise=promise) + body, name="program.py", layer=layer)
    assert str(proof.verdict) in ("refuted", "unknown", "rejected"), proof


def test_a_module_that_the_program_does_not_import_is_not_there(layer: Layer) -> None:
    program = """
import lictor_layer
import tools.desk.trusted.effects
from tools.desk.trusted import contracts as c

@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    x = tools.switched
    tools.desk.trusted.effects.send_email("eve", "x")
"""
    proof = prove(program, name="program.py", layer=layer)
    assert str(proof.verdict) == "rejected", proof
    imported = program.replace("import tools.desk", "import tools.switched\nimport tools.desk", 1)
    assert str(prove(imported, name="program.py", layer=layer).verdict) == "proved"
