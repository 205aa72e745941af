"""Conditions over values that nobody knows: every run of Python fits its document, whatever the values turn out to be.

Each predicate is asked of operands that are inputs, declared unknowns, or both, in programs that are written twice: as
a document, and as plain Python that makes the same calls. What follows the document knows neither the unknowns nor
which way a condition over them goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product, repeat
from typing import Any, Final, NamedTuple

import pytest
from unknown_documents import document

from lictor_ir.document import Document
from lictor_ir.errors import DifferenceError
from lictor_ir.evaluation import Following, ObservedCall
from lictor_ir.values import Open


class Operands(NamedTuple):
    """What a predicate is asked of."""

    x: str
    y: str
    n: int


Predicate = Callable[[Operands], bool]

PREDICATES: Final[dict[str, Predicate]] = {
    # Always so, or never, whatever is open in them.
    'endswith({x}, "")': lambda v: v.x.endswith(""),
    'startswith({x}, "")': lambda v: v.x.startswith(""),
    'contains({x}, "")': lambda v: "" in v.x,
    'not endswith({x}, "")': lambda v: not v.x.endswith(""),
    'endswith(concat({x}, "ab"), "ab")': lambda v: (v.x + "ab").endswith("ab"),
    'startswith(concat("ab", {x}), "ab")': lambda v: ("ab" + v.x).startswith("ab"),
    "startswith(concat({x}, {y}), {x})": lambda v: (v.x + v.y).startswith(v.x),
    "contains(concat({y}, {x}, {y}), {x})": lambda v: v.x in v.y + v.x + v.y,
    "startswith({x}, {x})": lambda v: v.x.startswith(v.x),
    "startswith({x}, substring({x}, 0, 1))": lambda v: v.x.startswith(v.x[:1]),
    "{x} == {x}": lambda v: v.x in (v.x,),
    "concat({x}, {y}) == concat({x}, {y})": lambda v: v.x + v.y in (v.x + v.y,),
    'concat({x}, "a") == {x}': lambda v: v.x + "a" == v.x,
    "0 <= len({x})": lambda v: len(v.x) >= 0,
    "len({x}) < 0": lambda v: len(v.x) < 0,
    "len({x}) < len(concat({x}, {y}, {x}))": lambda v: len(v.x) < len(v.x + v.y + v.x),
    'count({x}, "a") <= len({x})': lambda v: v.x.count("a") <= len(v.x),
    'find({x}, "", 0) == 0': lambda v: v.x.find("") == 0,
    "-1 <= find({x}, {y}, 0)": lambda v: v.x.find(v.y) >= -1,
    '{x} matches rep(any, 0)': lambda v: re.fullmatch("(?s:.*)", v.x) is not None,
    "{x} matches nothing": lambda v: re.fullmatch("(?!)", v.x) is not None,
    "{x} in []": lambda v: v.x in list[str](),
    "{x} in [{y}, {x}]": lambda v: v.x in [v.y, v.x],
    "{n} % 2 < 2": lambda v: v.n % 2 < 2,
    "0 <= abs({n})": lambda v: abs(v.n) >= 0,
    "{n} < {n} + 1": lambda v: v.n < v.n + 1,
    "{n} * 0 == 0": lambda v: v.n * 0 == 0,
    # So of some.
    "endswith({x}, {y})": lambda v: v.x.endswith(v.y),
    "startswith({x}, {y})": lambda v: v.x.startswith(v.y),
    "contains({x}, {y})": lambda v: v.y in v.x,
    'endswith({x}, "a")': lambda v: v.x.endswith("a"),
    '{x} == "a"': lambda v: v.x == "a",
    "{x} == {y}": lambda v: v.x == v.y,
    "not {x} == {y}": lambda v: v.x != v.y,
    "{x} < {y}": lambda v: v.x < v.y,
    "{x} in [\"a\", {y}]": lambda v: v.x in ["a", v.y],
    "0 < len({x})": lambda v: len(v.x) > 0,
    "len({x}) == {n}": lambda v: len(v.x) == v.n,
    'count({x}, "") == len({x}) + 1': lambda v: v.x.count("") == len(v.x) + 1,
    "find({x}, {y}, 0) < 0": lambda v: v.x.find(v.y) < 0,
    'replace({x}, "a", {y}) == {x}': lambda v: v.x.replace("a", v.y) == v.x,
    "substring({x}, 0, 2) == {y}": lambda v: v.x[:2] == v.y,
    '{x} matches rep("a", 1)': lambda v: re.fullmatch("a+", v.x) is not None,
    "{n} < 3": lambda v: v.n < 3,
    "{n} // 2 == 1": lambda v: v.n // 2 == 1,
    "{n} % 3 == 0": lambda v: v.n % 3 == 0,
    "startswith({x}, {y}) or {n} < 1": lambda v: v.x.startswith(v.y) or v.n < 1,
    "endswith({x}, {y}) and not {n} == 0": lambda v: v.x.endswith(v.y) and v.n != 0,
    "(if {n} < 1 then startswith({x}, {y}) else contains({y}, {x}))": lambda v: (
        v.x.startswith(v.y) if v.n < 1 else v.x in v.y
    ),
}  # fmt: skip
TEXTS: Final = ("", "a", "ba")
NUMBERS: Final = (0, 2)

Calls = list[ObservedCall]


class Desk:
    """Trusted calls of one run: what they are given, and what they return."""

    def __init__(self, answers: Iterator[int]) -> None:
        self.calls: Calls = []
        self._answers = answers

    def _called(self, effect: str, result: Any, **given: Any) -> Any:
        self.calls.append(ObservedCall(effect, given, result))
        return result

    def ask(self, what: str) -> int:
        return self._called("ask", next(self._answers), what=what)

    def words(self) -> list[str]:
        return self._called("words", ["w"] * next(self._answers))

    def note(self, text: str) -> None:
        self._called("note", None, text=text)

    def send(self, addr: str, msg: str) -> None:
        self._called("send", None, addr=addr, msg=msg)

    def keep(self, items: list[str]) -> None:
        self._called("keep", None, items=items)


@dataclass(frozen=True)
class Program:
    """The same program twice; `p` and `q` are conditions, `{p}` and `{q}` stand for them in the document."""

    text: str
    run: Callable[[Desk, bool, bool], None]


def _left(desk: Desk, p: bool, q: bool) -> None:
    if q and not p and desk.ask("n") != 1:
        return
    desk.note("done")


def _looped(desk: Desk, p: bool, q: bool) -> None:
    if q and p:
        for at, word in enumerate(desk.words()):
            if at < 2:
                desk.note(word)
    desk.note("end")


def _nested(desk: Desk, p: bool, q: bool) -> None:
    for _ in desk.words():
        if p and q and desk.ask("n") == 1:
            desk.note("one")
    desk.note("end")


def _chosen(desk: Desk, p: bool, q: bool) -> None:
    one = p and q and desk.ask("n") == 1
    desk.note("<" + ("yes" if one else "no") + ">")


def _listed(desk: Desk, p: bool, q: bool) -> None:
    one = p and q and desk.ask("n") == 1
    desk.keep(["x", "yes" if one else "no"])


def _deep(desk: Desk, p: bool, q: bool) -> None:
    one = p and desk.ask("n") == 1
    # q chooses, and behind it p does.
    desk.note(("yes" if one else "no") if q else "other")


def _both(desk: Desk, p: bool, q: bool) -> None:
    one = p and desk.ask("n") == 1
    desk.send("a" if q else "b", ("yes" if one else "no") if q else "other")


def _turned(desk: Desk, p: bool, q: bool) -> None:
    one = p and q and desk.ask("n") == 1
    if one or not q:
        desk.note("x")
    desk.note("end")


def _implied(desk: Desk, p: bool, q: bool) -> None:
    one = p and q and desk.ask("n") == 1
    if q and (not p or one):
        desk.note("x")
    desk.note("end")


def _promised(desk: Desk, p: bool, q: bool) -> None:
    if p and q:
        desk.ask("n")
    desk.ask("m")


PROGRAMS: Final[dict[str, Program]] = {
    "left early": Program(
        """
effect c1: ask(what = "n") when {q} and not {p}
effect c2: note(text = "done") when {q} and {p} or {q} and not {p} and result(c1) == 1 or not {q}
""",
        _left,
    ),
    "looped": Program(
        """
effect c1: words() when {q} and {p}
effect c2: note(text = result(c1)[i]) for i in result(c1) when {q} and {p} and i < 2
effect c3: note(text = "end")
""",
        _looped,
    ),
    "nested": Program(
        """
effect c1: words()
effect c2: ask(what = "n") for i in result(c1) when {p} and {q}
effect c3: note(text = "one") for i in result(c1) when {p} and {q} and result(c2, i) == 1
effect c4: note(text = "end")
""",
        _nested,
    ),
    "chosen": Program(
        """
effect c1: ask(what = "n") when {p} and {q}
effect c2: note(text = concat("<", (if {p} and {q} and result(c1) == 1 then "yes" else "no"), ">"))
guarantee "framed" : forall e in note : startswith(e.text, "<")
""",
        _chosen,
    ),
    "listed": Program(
        """
effect c1: ask(what = "n") when {p} and {q}
effect c2: keep(items = ["x", (if {p} and {q} and result(c1) == 1 then "yes" else "no")])
""",
        _listed,
    ),
    "deep": Program(
        """
effect c1: ask(what = "n") when {p}
effect c2: note(text = (if {q} then (if {p} and result(c1) == 1 then "yes" else "no") else "other"))
""",
        _deep,
    ),
    "both": Program(
        """
event sent(kind: str)
effect c1: ask(what = "n") when {p} and 0 <= len(result(u9))
effect c2: send(
  addr = (if {q} then "a" else "b"),
  msg = (if {q} then (if {p} and 0 <= len(result(u9)) and result(c1) == 1 then "yes" else "no") else "other")
) performs sent(kind = (if {q} then (if {p} and 0 <= len(result(u9)) and result(c1) == 1 then "y" else "n") else "o"))
guarantee "one" : (count e in event sent) <= 1
""",
        _both,
    ),
    "turned": Program(
        """
effect c1: ask(what = "n") when {p} and {q}
effect c2: note(text = "x") when (if {q} then ({p} and result(c1) == 1) else false) or not {q}
effect c3: note(text = "end")
""",
        _turned,
    ),
    "implied": Program(
        """
effect c1: ask(what = "n") when {p} and {q}
effect c2: note(text = "x") when (if {q} then (not {p} or result(c1) == 1) else len(result(u9)) == 7) and {q}
effect c3: note(text = "end")
""",
        _implied,
    ),
    "promised": Program(
        """
effect c1: ask(what = "n") when {p} and {q}
effect c2: ask(what = "m")
assume c2 when {p} and {q} and result(c1) == 1 : result(c2) == 1
""",
        _promised,
    ),
}  # fmt: skip

OPERANDS: Final = {"x": "str", "y": "str", "n": "int"}
OTHER: Final = "0 < len(result(u9))"
"""The condition that stands for `q`, of a text that nobody knows."""


def operands_of(predicate: str) -> list[str]:
    return [name for name in OPERANDS if f"{{{name}}}" in predicate]


def documents_of(program: Program, predicate: str) -> Iterator[tuple[Document, list[str]]]:
    """The program with the predicate for `p`, and which operands are inputs; the others are unknown."""
    names = operands_of(predicate)
    for is_open in product((True, False), repeat=len(names)):
        if not any(is_open):
            continue
        opened = [name for name, each in zip(names, is_open, strict=True) if each]
        known = [name for name in names if name not in opened]
        terms = {name: f"result(u{name})" if name in opened else name for name in names}
        lines = [f"input {name}: {OPERANDS[name]}" for name in known]
        lines += [f'unknown u{name}: {OPERANDS[name]} says "{name}"' for name in opened]
        lines += ['unknown u9: str says "other"']
        p = predicate.format(**terms)
        body = program.text.replace("{p}", f"({p})").replace("{q}", OTHER)
        yield document("\n" + "\n".join(lines) + body), known


def runs_of(program: Program, predicate: str) -> Iterator[tuple[Document, dict[str, Any], Calls]]:
    """Documents with what is known of the operands, and what Python does for some values of them all."""
    done = list(_runs(program, predicate))
    for known, inputs in documents_of(program, predicate):
        followed: list[tuple[dict[str, Any], Calls]] = []
        for operands, calls in done:
            run = ({name: operands[name] for name in inputs}, calls)
            # What is unknown is not seen: many runs look alike.
            if run not in followed:
                followed.append(run)
                yield known, *run


def _runs(program: Program, predicate: str) -> Iterator[tuple[dict[str, str | int], Calls]]:
    names = operands_of(predicate)
    values = {"x": TEXTS, "y": TEXTS, "n": NUMBERS}
    for given in product(*(values[name] for name in names)):
        operands: dict[str, Any] = {
            "x": "",
            "y": "",
            "n": 0,
            **dict(zip(names, given, strict=True)),
        }
        p = PREDICATES[predicate](Operands(**operands))
        for q, answer in product((True, False), (1, 3)):
            desk = Desk(repeat(answer))
            program.run(desk, p, q)
            yield {name: operands[name] for name in names}, desk.calls


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_python_does_fits_whatever_is_open_in_a_condition(
    program: str, predicate: str
) -> None:
    for known, inputs, calls in runs_of(PROGRAMS[program], predicate):
        difference = differs(known, inputs, calls)
        assert difference is None, f"{difference}: {inputs} {calls}"


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_and_nothing_fits_that_it_does_for_no_values(program: str, predicate: str) -> None:
    for known, inputs, (*before, last) in runs_of(PROGRAMS[program], predicate):
        other = ObservedCall(last.effect, dict.fromkeys(last.arguments, "?"), last.result)
        for wrong in (before, [*before, other], [*before, last, last]):
            assert differs(known, inputs, wrong) is not None, f"{inputs} {wrong}"


def differs(known: Document, inputs: dict[str, Any], calls: list[ObservedCall]) -> str | None:
    """How the calls differ from the document, or which guarantee they do not keep."""
    following = Following(known, inputs, monitored=True)
    try:
        for call in calls:
            following.called(call.effect, call.arguments)
            if (unkept := following.unkept()) is not None:
                return f"{unkept}"
            assert not isinstance(call.result, Open)
            following.returned(call.result)
        following.ended()
    except DifferenceError as difference:
        return str(difference)
    unkept = following.unkept()
    return None if unkept is None else f"{unkept}"
