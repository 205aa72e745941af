"""Where a program calls and branches is told beside its document."""

from __future__ import annotations

import pytest

from libs.prove.tests.python_front_end import LAYER, program
from lictor_ir.document import Span
from lictor_ir.terms import FALSE, TRUE
from lictor_prove.commands import HEADER, lowered_with_shape, read_commands
from lictor_prove.python import parse_program, read_parsed
from lictor_prove.python.machine.program_shape import (
    MAX_VIAS,
    BranchPoint,
    ProgramShape,
    Spot,
    told_apart,
)


def shape(body: str, parameters: str = "", before: str = "") -> ProgramShape:
    parsed = parse_program(program(body, parameters, before))
    return read_parsed(parsed, name="test.py", layer=LAYER)[1]


def branches(body: str, parameters: str = "") -> tuple[BranchPoint, ...]:
    return shape(body, parameters).branches


def test_every_kind_of_branch_is_noted() -> None:
    assert len(branches("if x:\n    pass", "x: bool")) == 1
    assert len(branches("if x:\n    pass\nelif y:\n    pass", "x: bool, y: bool")) == 2
    assert len(branches("pay(1 if x else 2)", "x: bool")) == 1
    assert len(branches("z = x and y and x", "x: bool, y: bool")) == 2
    assert len(branches("z = [n for n in names() if n]")) == 2
    assert len(branches("z = [n for n in (1, x) if n]", "x: int")) == 2
    assert len(branches("for n in names():\n    send(n, n)")) == 1
    assert len(branches("for n in (1, 2):\n    pass")) == 0
    (asserted,) = branches("assert x or not x", "x: bool")[1:]
    assert asserted.must_hold


def test_branch_in_a_loop_has_its_binder_and_a_nested_one_its_path() -> None:
    entered, inside = branches("for n in names():\n    if n == 'a':\n        send(n, n)")
    assert (len(entered.binders), len(inside.binders)) == (0, 1)
    _, inner = branches("if x:\n    if x:\n        pass", "x: bool")
    assert inner.condition is TRUE


def test_what_stands_in_a_helper_counts_for_each_call_of_it() -> None:
    found = shape(
        "h(True)\nh(x)", "x: bool", "def h(on: bool) -> None:\n    if on:\n        send('a', 'b')\n"
    )
    first, second = found.branches
    assert first.span == second.span
    assert first.condition is TRUE
    assert sorted(site.lines for site in found.sites) == ["9 via 13", "9 via 14"]
    assert [point.spot.lines for point in found.branches] == ["8 via 13", "8 via 14"]


def test_way_through_several_helpers_is_told_the_innermost_call_first() -> None:
    helpers = (
        "def inner() -> None:\n    pay(1)\n\n"
        "def outer() -> None:\n    inner()\n    inner()\n\n"
        "def unused() -> None:\n    pay(2)\n"
    )
    found = shape("outer()\nfor n in (1, 2, 3):\n    outer()", before=helpers)
    assert sorted(site.lines for site in found.sites) == [
        "15",
        "8 via 11 via 19",
        "8 via 11 via 21",
        "8 via 12 via 19",
        "8 via 12 via 21",
    ]


def test_call_that_one_way_does_not_come_to_counts_there_too() -> None:
    """The front-end says that nothing comes there, so whoever rehearses must not take the other way for it."""
    helper = "def h(on: bool) -> None:\n    if on:\n        pay(1)\n    else:\n        pay(2)\n"
    found = shape("h(True)\nh(False)", before=helper)
    assert len(found.sites) == 4
    assert len(found.via_of) == 2


def test_ways_to_a_place_are_told_apart_up_to_a_number() -> None:
    def at(line: int) -> Span:
        return Span(line, 1, line, 9)

    few = [Spot(at(1), (at(2), at(100 + number))) for number in range(MAX_VIAS)]
    assert told_apart(few) == {spot: spot for spot in few}
    many = [Spot(at(1), (at(2 + number % 3), at(100 + number))) for number in range(MAX_VIAS + 1)]
    assert {spot.lines for spot in told_apart(many).values()} == {"1 via 2", "1 via 3", "1 via 4"}
    wide = [Spot(at(1), (at(100 + number),)) for number in range(MAX_VIAS + 1)]
    other = Spot(at(2), (at(3),))
    assert set(told_apart([*wide, other]).values()) == {Spot(at(1)), other}


def test_site_counts_where_no_path_leads_and_under_another_name() -> None:
    dead = shape("if False:\n    send('a', 'b')\nout = send\nout('a', 'b')")
    assert len(dead.sites) == 2
    assert dead.branches[0].condition is FALSE


@pytest.mark.parametrize(
    "kept",
    [
        "out = send\nfor n in ():\n    out('a', 'b')",
        "out = [send]\nif False:\n    out[0]('a', 'b')",
        "for out in (send,):\n    if False:\n        out('a', 'b')",
        "(lambda out: out('a', 'b') if False else None)(send)",
        "def h(out, on):\n    if on:\n        out('a', 'b')\nh(send, False)",
        "there = effects\nfor n in ():\n    there.send('a', 'b')",
    ],
)
def test_call_under_another_name_where_no_path_leads_is_a_site(kept: str) -> None:
    """Else nobody tells that the front-end takes it for unreachable, and a rehearsal plans fewer runs."""
    assert len(shape(kept, before="from tools.desk.trusted import effects\n").sites) == 1


def test_way_into_a_helper_that_does_not_come_to_a_call_under_another_name_counts() -> None:
    helper = "def h(out, on):\n    if on:\n        out('a', 'b')\n"
    assert len(shape("h(send, True)\nh(send, False)", before=helper).sites) == 2


def test_call_that_is_known_to_be_no_trusted_one_is_no_site() -> None:
    assert not shape("def h():\n    return 1\nf = h\nf()\nif False:\n    f()\n    len('a')").sites
    assert len(shape("f = len\nf('a')\nout = send\nout('a', 'b')").sites) == 1


def test_commands_have_a_shape_too() -> None:
    source = (
        f"{HEADER}\ninput x: int\n"
        'when 0 < x {\n  call send(addr = "a", msg = "b")\n} else {\n  call pay(amount = 1)\n}\n'
    )
    _, found = lowered_with_shape(read_commands(source, layer=LAYER), name="p")
    assert len(found.branches) == 1
    assert len(found.sites) == 2
