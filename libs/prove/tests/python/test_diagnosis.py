"""Whoever's program is rejected learns of every reason at once."""

from pathlib import Path

import pytest

from libs.prove.tests.python_front_end import HEAD, LAYER, program
from lictor_prove.errors import Reason, Rejected
from lictor_prove.proof.prover import prove
from lictor_prove.python import diagnosis, parse_program, read_program
from lictor_prove.python.diagnosis import MAX_REASONS, every_reason
from lictor_schema.proofs.proof import ProofVerdict

FIRST_LINE = HEAD.count("\n") + 4
"""Of the body of `main`, in what `program` makes."""


def reasons(source: str) -> tuple[Reason, ...]:
    try:
        parse_program(source)
        read_program(source, name="test.py", layer=LAYER)
    except Rejected as refused:
        return every_reason(refused.reasons[0], source, target="main", layer=LAYER)
    return ()


def told(body: str, parameters: str = "", before: str = "") -> list[tuple[int, str]]:
    """Lines of the body, and codes."""
    found = reasons(program(body, parameters, before))
    return sorted(((each.line or 0) - FIRST_LINE + 1, each.code) for each in found)


def test_reasons_of_all_kinds_are_told_at_once() -> None:
    body = """
x = unheard_of()
global y
names().title()
xs[0:1] = []
send("a", 1, 2, 3)
"""
    assert told(body) == [
        (1, "name.unknown"),
        (2, "unsupported.global"),
        (3, "error.certain"),
        (4, "assign.slice"),
        (5, "error.certain"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "x = unheard_of()\ny = x + 1\nsend(y, str(x))\nsend('a', f'{y}')",
        "x = unheard_of()\nfor each in x:\n    send(each.addr, each['k'])",
        "x = unheard_of()\nif x:\n    send(x.y, 'a')\nelse:\n    x()",
        "x = unheard_of()\nwhile x:\n    x = x.next()\n    if not x:\n        break",
        "xs = [1, unheard_of()]\nxs[1].go()\nfor each in xs:\n    each + 1",
        "a, (b, c) = unheard_of()\nsend(a, b + c)",
        "xs = [each.name for each in unheard_of()]\nsend('a', ', '.join(xs))",
        "d = {unheard_of(): 1}\nd['a'] += 1",
        "def helper(v):\n    return v.strip()\nsend('a', helper(unheard_of()))",
        "n = len(unheard_of())\nif n > 3:\n    send('a', str(n))",
        "xs = []\nxs.append(unheard_of())\nxs[0].close()",
        "x = text(unheard_of())\nsend('a', x)",
    ],
)
def test_what_is_refused_only_because_of_another_reason_is_none(body: str) -> None:
    assert [code for _, code in told(body)] == ["name.unknown"]


def test_blocks_of_a_refused_statement_are_looked_at() -> None:
    body = """
global z
for x in unheard_of():
    "a" + 1
else:
    missing
if unheard_of():
    [].nothing
else:
    def inner():
        pass
    inner(1)
"""
    assert told(body) == [
        (1, "unsupported.global"),
        (2, "name.unknown"),
        (3, "error.certain"),
        (5, "name.unknown"),
        (6, "name.unknown"),
        (7, "error.certain"),
        (11, "error.certain"),
    ]


def test_the_rest_of_an_import_is_bound() -> None:
    source = (
        "import requests\nfrom tools.desk.trusted.effects import send, nothing\n\n\n"
        "def main() -> None:\n    send('a', requests.get('u').text)\n    send('a', nothing())\n    send(1, 2)\n"
    )
    assert [(each.line, each.code) for each in reasons(source)] == [
        (1, "import.unknown"),
        (2, "import.missing"),
        (8, "argument.type"),
    ]


def test_guarantees_and_parameters_are_looked_at_one_by_one() -> None:
    guarantee = (
        "@lictor_layer.guarantee(c.only())\n@lictor_layer.guarantee(c.nothing(1 + 1))\n@other"
    )
    found = reasons(program("send(a, b)", "a, b: list", guarantee=guarantee))
    assert {each.code for each in found} == {
        "guarantee.arguments",
        "guarantee.grammar",
        "decorator.unknown",
        "input.type",
    }
    assert len([each for each in found if each.code == "input.type"]) == 1, "of one line"


def test_the_first_reason_stays_first() -> None:
    source = program("missing\nglobal x")
    with pytest.raises(Rejected) as refused:
        parse_program(source)
    assert reasons(source)[0] == refused.value.reasons[0]
    assert reasons(source)[0].line == FIRST_LINE + 1
    assert reasons(source)[1].line == FIRST_LINE


def test_reasons_are_bounded_and_say_how_many_more_there_are() -> None:
    found = reasons(program("\n".join(f"missing{number}" for number in range(80))))
    assert len(found) == MAX_REASONS + 1
    assert found[-1] == Reason(
        "reasons.more", "and 30 more", "Correct these first, then prove the program again."
    )


@pytest.mark.parametrize("source", ["def main(:\n", "x = '\0'\n", "import a\n" * 100_000])
def test_what_is_no_program_has_one_reason(source: str) -> None:
    assert len(reasons(source)) == 1


def test_a_defect_of_the_diagnosis_costs_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(diagnosis, "check_subset", broken)
    assert [each.code for each in reasons(program("missing"))] == ["name.unknown"]


def test_a_proof_tells_them() -> None:
    proof = prove(program("missing\nglobal x"), name="test.py", layer=LAYER)
    assert proof.verdict is ProofVerdict.REJECTED
    assert [each.code for each in proof.reasons] == ["unsupported.global", "name.unknown"]


def test_programs_that_can_be_read_have_no_reasons() -> None:
    """What the front-end tries and gives up again is none either."""
    from lictor_prove.layers import discover_trusted_roots, load_layer

    folder = Path(__file__).parents[4] / "tests/ordinary_programs"
    root = [folder / "layers"]
    layer = load_layer(list(discover_trusted_roots(root)), root)
    read = 0
    for path in sorted((folder / "programs").glob("*.py")):
        source = path.read_text("utf-8")
        try:
            read_program(source, name=path.name, layer=layer)
        except Rejected:
            continue
        read += 1
        anything = Reason("anything", "", "")
        assert every_reason(anything, source, target="main", layer=layer) == (anything,), path.name
    assert read >= 25
