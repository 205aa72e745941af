"""A small layer made by hand, and programs over it: read, run for real, and run by their documents."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from lictor_ir.contracts import All, Anything, Comparison, Contract, Count, Relation, field
from lictor_ir.document import Atom, Document, Event, Fluent, Parameter, Schema
from lictor_ir.evaluation.following import ObservedCall, follows
from lictor_ir.evaluation.traces import failed_obligations
from lictor_ir.evaluation.traces import run as run_document
from lictor_ir.terms import apply, const, eq
from lictor_ir.types import ANY, BOOL, FLOAT, INT, NONE, STR, ListOf, RowOf
from lictor_ir.validation.document import validate
from lictor_ir.values import RowValue
from lictor_layer import FilePath
from lictor_layer.rows import row_class
from lictor_prove.errors import ProveError, Reason, Rejected
from lictor_prove.layer_model import (
    EventUse,
    FluentUse,
    Layer,
    LayerParameter,
    Predicate,
    TrustedFunction,
    TrustedModule,
)
from lictor_prove.python import read_program

USER = Schema(
    "UserRow", (Parameter("email", STR), Parameter("age", INT), Parameter("active", BOOL))
)
UserRow = row_class("UserRow", {"email": str, "age": int, "active": bool})


def predicate(text: str, **names: object) -> Predicate:
    """A lambda of the layer."""
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Lambda)
    helpers = [
        held.__code__.co_filename for held in names.values() if isinstance(held, FunctionType)
    ]
    texts = {path: Path(path).read_text("utf-8") for path in helpers}
    return Predicate(node, names, text.partition(":")[2].strip(), "layer.py:1", texts)


def function(name: str, result: Any, **parameters: Any) -> TrustedFunction:
    """A trusted function."""
    return TrustedFunction(
        name,
        "tools.desk.trusted.effects",
        tuple(LayerParameter(each, type_) for each, type_ in parameters.items()),
        result,
    )


@dataclass(frozen=True)
class Built:
    """A contract made of a plain function."""

    name: str
    make: Callable[..., Contract]
    module: str = "tools.desk.trusted.contracts"
    nullary: bool = False

    def build(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Contract, str]:
        try:
            return self.make(*args, **kwargs), f"{self.name} holds."
        except TypeError as error:
            raise ProveError(str(error)) from error

    build_stated = build


def only(addresses: list[str]) -> Contract:
    if not isinstance(addresses, list):
        raise ProveError("addresses takes a list")
    listed = apply("list", *(const(each) for each in addresses))
    return All(Relation(("send",)), apply("in", field("addr", STR), listed))


def comes_from(schema: Schema, column: str) -> Contract:
    return All(
        Relation(("send",)), apply("from", field("addr", STR), param=f"{schema.name}.{column}")
    )


def exactly(path: FilePath) -> Contract:
    return All(Relation(("send",)), eq(field("msg", STR), const(path.value)))


FUNCTIONS = (
    function("send", NONE, addr=STR, msg=STR),
    TrustedFunction(
        "pay",
        "tools.desk.trusted.effects",
        (LayerParameter("amount", INT), LayerParameter("dry_run", BOOL, has_default=True)),
        NONE,
        requires=(predicate("lambda amount, dry_run=True: amount >= 0 or dry_run"),),
    ),
    function("pay_float", NONE, amount=FLOAT),
    function("note", NONE, value=ANY),
    function("tags", NONE, values=ListOf(STR)),
    function("ask", BOOL, question=STR),
    function("number", INT),
    function("text", STR),
    function("rate", FLOAT),
    function("names", ListOf(STR)),
    TrustedFunction(
        "users",
        "tools.desk.trusted.effects",
        (LayerParameter("where", ANY, has_default=True),),
        ListOf(RowOf("UserRow")),
        ensures=(predicate("lambda result: len(result) <= 3"),),
    ),
    TrustedFunction(
        "rows_of",
        "tools.desk.trusted.effects",
        (LayerParameter("schema", ANY, is_schema=True), LayerParameter("table", STR)),
        ListOf(RowOf("*")),
        result_of_schema="schema",
    ),
    TrustedFunction(
        "lock",
        "tools.desk.trusted.effects",
        (LayerParameter("door", STR),),
        NONE,
        events=(EventUse("Locked", {"where": "door"}),),
        updates=(FluentUse("locked", "door", True, True, False),),
        markers=("doors",),
    ),
    function("opaque", None),
)
CONTRACTS = (
    Built("only", only),
    Built("comes_from", comes_from),
    Built("exactly", exactly),
    Built("at_most", lambda n: Count(Relation(("send",)), Comparison.AT_MOST, const(n))),
    Built("nothing", lambda: Anything(), nullary=True),
)


def _layer() -> Layer:
    effects = TrustedModule(
        "tools.desk.trusted.effects",
        {**{each.name: each for each in FUNCTIONS}, "LIMIT": 7, "_private": object()},
    )
    contracts = TrustedModule(
        "tools.desk.trusted.contracts", {each.name: each for each in CONTRACTS}
    )
    rows = TrustedModule("tools.desk.trusted.rows", {"UserRow": USER})
    return Layer(
        "sha256:" + "0" * 64,
        {each.name: each for each in (effects, contracts, rows)},
        {each.name: each for each in FUNCTIONS},
        events={"Locked": Event("Locked", ("Locked",), (Parameter("where", STR),))},
        fluents={"locked": Fluent("locked", STR, BOOL, const(value=False))},
        schemas={"UserRow": USER},
    )


LAYER = _layer()
HEAD = (
    "import lictor_layer\n"
    "import math\n"
    "import re\n"
    "from tools.desk.trusted import contracts as c\n"
    f"from tools.desk.trusted.effects import {', '.join(each.name for each in FUNCTIONS)}\n"
    "from tools.desk.trusted.rows import UserRow\n"
)


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.strip("\n").splitlines())


def program(body: str, parameters: str = "", before: str = "", guarantee: str = "") -> str:
    """A whole file around the body of main."""
    return f"{HEAD}{before}\n{guarantee}\ndef main({parameters}) -> None:\n{indented(body)}"


def read(source: str) -> Document:
    """The document, which follows every rule of the format."""
    document = read_program(source, name="test.py", layer=LAYER)
    validate(document)
    return document


def atoms(body: str, parameters: str = "", before: str = "") -> tuple[Atom, ...]:
    return read(program(body, parameters, before)).atoms


def rejection(source: str) -> Reason:
    """Why the program is rejected."""
    with pytest.raises(Rejected) as refused:
        read_program(source, name="test.py", layer=LAYER)
    (reason,) = refused.value.reasons
    assert reason.message
    assert reason.remedy
    return reason


def code_of(body: str, parameters: str = "", before: str = "") -> str:
    """Why the body of a program is rejected."""
    return rejection(program(body, parameters, before)).code


ACCEPTED = ""
"""In a table of codes: nothing of it is refused, what has no model is declared unknown."""


def outcome_of(body: str, parameters: str = "", before: str = "") -> str:
    """Why the body of a program is rejected, or ACCEPTED."""
    try:
        read(program(body, parameters, before))
    except Rejected as refused:
        return refused.reasons[0].code
    return ACCEPTED


# -- runs ------------------------------------------------------------------------------------------

ANSWERS: Mapping[str, Sequence[Any]] = {
    "ask": (True, False),
    "number": (3, -2, 0, 7),
    "text": ("bob", "", "a-b", "eve"),
    "rate": (0.5, -1.25),
    "names": (["ann", "bob"], [], ["x"]),
    "users": (
        [{"email": "a@x", "age": 1, "active": True}, {"email": "b@x", "age": -5, "active": False}],
        [],
        [{"email": "c@x", "age": 40, "active": True}],
    ),
}


class Answers:
    """What trusted calls return: for the n-th call of a function, the n-th answer."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def next(self, name: str) -> Any:
        if name not in ANSWERS:
            return None
        at = self._given.get(name, 0)
        self._given[name] = at + 1
        return copy.deepcopy(ANSWERS[name][at % len(ANSWERS[name])])


Call = tuple[str, Mapping[str, Any]]


def concrete(source: str, inputs: Mapping[str, Any]) -> tuple[list[Call], Exception | None]:
    """What the program does when it is run, with stand-ins for trusted calls."""
    done: list[Call] = []
    answers = Answers()

    def stand_in(trusted: TrustedFunction) -> Callable[..., Any]:
        order = [each.name for each in trusted.parameters]

        def call(*args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(order, args, strict=False)), **kwargs}
            done.append((trusted.name, copy.deepcopy(given)))
            answer = answers.next(trusted.name)
            return [UserRow(**each) for each in answer] if trusted.name == "users" else answer

        return call

    tree = ast.parse(source)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("tools"))
    ]
    names: dict[str, Any] = {each.name: stand_in(each) for each in FUNCTIONS}
    names["UserRow"] = UserRow
    exec(compile(tree, "<test>", "exec"), names)  # noqa: S102 -- our own programs, to hold documents against
    try:
        names["main"](**inputs)
    except Exception as error:  # noqa: BLE001 -- whatever the program raises
        return done, error
    return done, None


def fits(
    document: Document, inputs: Mapping[str, Any], calls: Sequence[Call], error: Exception | None
) -> str | None:
    """How what a program did differs from its document, in which unknowns stand; None when it does not."""
    answers = Answers()
    observed: list[ObservedCall] = []
    for effect, given in calls:
        answer = answers.next(effect)
        if effect == "users":
            answer = [RowValue("UserRow", each) for each in answer]
        arguments = {name: _as_ir(value) for name, value in given.items() if not _is_class(value)}
        observed.append(ObservedCall(effect, arguments, answer))
    difference = follows(document, inputs, observed, ended=error is None)
    if difference is None and error is not None:
        may_end = document.obligations or any(each.may_raise for each in document.unknowns)
        return None if may_end else f"{error!r} is raised, and nothing says that it may be"
    return difference


def _is_class(value: Any) -> bool:
    return isinstance(value, type)


def _as_ir(value: Any) -> Any:
    if isinstance(value, UserRow):
        return RowValue("UserRow", dict(value))
    if isinstance(value, list):
        return [_as_ir(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_as_ir(item) for item in value)
    if isinstance(value, dict):
        return {key: _as_ir(item) for key, item in value.items()}
    return value


def predicted(document: Document, inputs: Mapping[str, Any]) -> tuple[list[Call], bool]:
    """What the document says happens, and whether it says that something is wrong."""
    answers = Answers()

    def result(_: str, __: tuple[int, ...], effect: str, ___: Mapping[str, Any]) -> Any:
        answer = answers.next(effect)
        if effect == "users":
            return [RowValue("UserRow", each) for each in answer]
        return answer

    trace = run_document(document, inputs, result)
    return [(step.effect, step.arguments) for step in trace.steps], bool(failed_obligations(trace))


def plain(value: Any) -> Any:
    """A value as something whose equality also tells types apart."""
    match value:
        case RowValue():
            return ("row", tuple((k, plain(v)) for k, v in value.columns.items()))
        case list():
            return ("list", tuple(map(plain, value)))
        case tuple():
            return ("tuple", tuple(map(plain, value)))
        case set() | frozenset():
            return ("set", frozenset(map(plain, value)))
        case dict():
            return ("dict", tuple((plain(k), plain(v)) for k, v in value.items()))
        case _ if type(value).__name__ == "UserRow":
            return ("row", tuple((k, plain(v)) for k, v in value))
        case _:
            return (type(value).__name__, repr(value))
