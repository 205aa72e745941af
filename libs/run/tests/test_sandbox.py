"""What a program can reach while it runs, and what stops one that is not the program that was proved."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from runs_on_disk import Bank, program

from lictor_ir.evaluation.possible_run import PossibleRun
from lictor_ir.types import FLOAT, INT, STR, ListOf, RowOf
from lictor_layer.rows import row_class
from lictor_prove.errors import Rejected, ValueRefused
from lictor_prove.layers.files import discover_trusted_roots, read_files
from lictor_prove.layers.load import LivingLayer, load_living
from lictor_prove.proof.prover import document_of
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.written_values import ValueReader, check_type, same, written
from lictor_run.child import ParentChannel, carried_out
from lictor_run.errors import RunStopped
from lictor_run.lockstep import Lockstep
from lictor_run.sandbox import World, compiled
from lictor_run.trusted_calls import Boundary
from lictor_schema.approvals.run import UndoKind

RUN_ID = "00000000-0000-4000-8000-00000000000c"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return Bank.at(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def living(bank: Bank) -> LivingLayer:
    return load_living(read_files(discover_trusted_roots([bank.root]), [bank.root]))


def _nothing(effect: str, _given: Mapping[str, Any]) -> None:
    raise AssertionError(f"{effect} is called")


def _world(living: LivingLayer) -> World:
    return World(outline_of(living.layer), living.rows, _nothing)


# -- the world of a program ------------------------------------------------------------------------

ESCAPES = {
    "import os": ImportError,
    "import tools.bank.trusted.effects as e\nx = e.os": AttributeError,
    "import tools.bank.trusted.effects as e\nx = e.LEDGER": AttributeError,
    "from tools.bank.trusted.effects import give_back": ImportError,
    "import tools.bank.trusted.effects\nx = tools.bank.trusted.contracts": AttributeError,
    "from tools.bank import trusted\nx = trusted.effects": AttributeError,
    "import tools\nx = tools.bank": AttributeError,
    "import lictor_layer\nx = lictor_layer.trusted": AttributeError,
    "import re\nx = re.enum": AttributeError,
    "import math\nx = math.__loader__.load_module": AttributeError,
    "import dataclasses\nx = dataclasses.sys": AttributeError,
    "from dataclasses import make_dataclass": ImportError,
    "from dataclasses import dataclass\nfrom lictor_layer import Row\ndataclass(Row)": TypeError,
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    pass\nx = A.__init__.__globals__": AttributeError,
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    __module__ = 'os'": TypeError,
    "x = open": NameError,
    "x = eval": NameError,
    "x = getattr": NameError,
    "x = __builtins__['__import__']('sys')": ImportError,
    "from . import x": ImportError,
    "def f(): pass\nx = f.__globals__": AttributeError,
    "from tools.bank.trusted.effects import send\nx = send.__closure__": AttributeError,
    "import typing\nx = typing.cast.__globals__": AttributeError,
    "x = ().__class__.__base__.__subclasses__()": AttributeError,
    "g = (each for each in [1])\nx = g.gi_frame.f_back": AttributeError,
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = e.__traceback__": AttributeError,
    "from fractions import Fraction\nFraction.numerator = 3": AttributeError,
    "import json\njson.loads.x = 3": AttributeError,
    "from string import Template\nfor Template.pattern in [1]: pass": AttributeError,
    "from uuid import UUID\ndel UUID.hex": AttributeError,
    "from string import Template\nTemplate.delimiter += '#'": AttributeError,
    "from dataclasses import dataclass\nfrom fractions import Fraction\n@dataclass\nclass L:\n    numerator: int\n"
    "Fraction.numerator = 3": AttributeError,
    "import typing\ndef f(a: '().__class__'): pass\ntyping.get_type_hints(f)": TypeError,
    "import typing\ntyping.ForwardRef('1')._evaluate({}, {}, frozenset())": TypeError,
}


@pytest.mark.parametrize("text", ESCAPES)
def test_a_program_that_got_past_the_front_end_still_reaches_nothing(
    living: LivingLayer, text: str
) -> None:
    with pytest.raises(ESCAPES[text]):
        _world(living).run(compiled(ast.parse(text), "escape.py"))


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "x = open('f')",
        "main.__globals__",
        # Nobody calls it, and the runner would stop the whole program for it.
        "def other(x):\n    return x.gi_frame",
        "def other(x):\n    x.name = 1",
    ],
)
def test_a_program_that_tries_is_rejected_and_so_never_approved(bank: Bank, text: str) -> None:
    with pytest.raises(Rejected):
        bank.approved(program("send('x')", more=text))


# -- the boundary ----------------------------------------------------------------------------------


class Silent:
    """Lets every call happen."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def started(self, call: int, effect: str, arguments: Any, undo: UndoKind) -> None:
        self.told.append(("started", call, effect, arguments, undo))

    def done(self, call: int, result: Any, result_hash: str, *, kept: bool) -> None:
        self.told.append(("done", call, result, result_hash, kept))

    def failed(self, call: int, happened: str, code: str, message: str) -> None:
        self.told.append(("failed", call, happened, code, message))


def _boundary(living: LivingLayer, source: str) -> tuple[Boundary, Silent]:
    document = document_of(source, name="program.py", layer=living.layer)
    teller = Silent()
    boundary = Boundary(RUN_ID, living, ValueReader(living.rows), teller, Lockstep(document))
    boundary.begin()
    return boundary, teller


@pytest.mark.parametrize(
    ("effect", "args"),
    [("send", ("other",)), ("book", ("x",)), ("pay", ("x", 1))],
    ids=["another argument", "another effect", "another one with more"],
)
def test_a_call_that_the_document_does_not_say_is_not_made(
    living: LivingLayer, effect: str, args: tuple[Any, ...]
) -> None:
    boundary, teller = _boundary(living, program("send('x')"))
    with pytest.raises(RunStopped, match="not the one that was proved") as stopped:
        boundary.call(effect, args, {})
    assert stopped.value.code == "run.diverged"
    assert teller.told == []


def test_a_run_that_does_more_or_less_than_its_document_is_stopped(living: LivingLayer) -> None:
    boundary, teller = _boundary(living, program("send('x')"))
    boundary.call("send", ("x",), {})
    with pytest.raises(RunStopped, match="nothing should be"):
        boundary.call("send", ("x",), {})
    boundary, _ = _boundary(living, program("send('x')"))
    with pytest.raises(RunStopped, match="the program ended"):
        boundary.complete()
    assert [each[0] for each in teller.told] == ["started", "done"]


@pytest.mark.parametrize("error", [LookupError, MemoryError, RecursionError, AssertionError])
def test_a_document_that_breaks_off_in_whatever_way_stops_the_run_at_once(
    living: LivingLayer, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(*_: Any) -> Any:
        raise error("nobody foresaw this")

    boundary, teller = _boundary(living, program("send('x')"))
    monkeypatch.setattr(PossibleRun, "advance", broken)
    with pytest.raises(RunStopped, match="nobody foresaw this"):
        boundary.call("send", ("x",), {})
    assert teller.told == []


def test_no_call_is_made_out_of_turn(living: LivingLayer) -> None:
    document = document_of(program("send('x')\nsend('x')"), name="p", layer=living.layer)
    teller = Silent()
    early = Boundary(RUN_ID, living, ValueReader(living.rows), teller, Lockstep(document))
    with pytest.raises(RunStopped, match="before the program began"):
        early.call("send", ("x",), {})
    elsewhere, teller = _boundary(living, program("send('x')"))
    with ThreadPoolExecutor(1) as pool, pytest.raises(RunStopped, match="in another thread"):
        pool.submit(elsewhere.call, "send", ("x",), {}).result()
    late, teller = _boundary(living, program("accounts()"))
    late.call("accounts", (), {})
    late.complete()
    with pytest.raises(RunStopped, match="after the run was stopped or ended"):
        late.call("accounts", (), {})
    assert [each[0] for each in teller.told] == ["started", "done"]


def test_a_run_that_was_stopped_stays_stopped(living: LivingLayer) -> None:
    # A program that handles the error gains nothing: it is told again why it was stopped.
    boundary, teller = _boundary(living, program("send('x')"))
    with pytest.raises(RunStopped) as stopped:
        boundary.call("send", ("other",), {})
    for go_on in (lambda: boundary.call("send", ("x",), {}), boundary.complete):
        with pytest.raises(RunStopped) as again:
            go_on()
        assert again.value is stopped.value
    assert teller.told == []


def test_a_trusted_function_does_not_call_back_into_the_run(living: LivingLayer) -> None:
    class Eager(Silent):
        def started(self, call: int, effect: str, arguments: Any, undo: UndoKind) -> None:
            super().started(call, effect, arguments, undo)
            with suppress(RunStopped):
                boundary.call("send", ("x",), {})

    teller = Eager()
    boundary = Boundary(
        RUN_ID,
        living,
        ValueReader(living.rows),
        teller,
        Lockstep(document_of(program("send('x')\nsend('x')"), name="p", layer=living.layer)),
    )
    boundary.begin()
    with pytest.raises(RunStopped, match="after the run was stopped"):
        boundary.call("send", ("x",), {})
    assert [each[0] for each in teller.told] == ["started", "done"]


class Loud(str):
    """Looks like a string."""


@pytest.mark.parametrize("value", [Loud("x"), b"x", None, 1, "\ud800", chr(0x30000)])
def test_an_argument_of_another_type_than_declared_does_not_cross(
    living: LivingLayer, value: Any
) -> None:
    boundary, teller = _boundary(living, program("send('x')"))
    with pytest.raises(RunStopped) as stopped:
        boundary.call("send", (value,), {})
    assert stopped.value.code == "argument.type"
    assert teller.told == []


def test_a_call_against_a_precondition_is_not_made(living: LivingLayer) -> None:
    # Such a program is not proved; the boundary does not know that.
    boundary, teller = _boundary(living, program("charge(0)"))
    with pytest.raises(RunStopped, match="cents is positive"):
        boundary.call("charge", (0,), {})
    assert teller.told == []


def test_a_call_that_is_given_too_much_is_not_made(living: LivingLayer) -> None:
    boundary, teller = _boundary(living, program("send('x')"))
    with pytest.raises(RunStopped, match="bytes"):
        boundary.call("send", ("x" * 300_000,), {})
    assert teller.told == []


# -- values ----------------------------------------------------------------------------------------

Person = row_class("Person", {"name": str, "age": int})
VALUES: list[Any] = [
    None,
    True,
    0,
    -(2**53) + 1,
    2**53,
    -(10**400),
    0.0,
    -0.0,
    float("inf"),
    1e-310,
    "",
    "é\n\x00🙂",
    [1, [2.5, (3, "x")], []],
    {"a": 1, (1, 2): [None]},
    {1, "x", 2.5},
    Person(name="Ada", age=36),
    [Person(name="Bob", age=1)],
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_read_as_it_was_written_and_shares_nothing(value: Any) -> None:
    again = ValueReader({"Person": Person}).read(written(value))
    assert repr(again) == repr(value) or again == value
    assert type(again) is type(value)
    if isinstance(value, list | dict | set) and value:
        assert again is not value
    assert same(written(again), written(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, 1), (1, 1.0), (0.0, -0.0), ((1,), [1]), ("1", 1), ([], ()), ({1}, [1])],
    ids=str,
)
def test_values_that_python_takes_for_equal_are_told_apart(one: Any, other: Any) -> None:
    assert not same(written(one), written(other))


def test_the_order_of_a_dict_tells_nothing() -> None:
    assert same(written({"a": 1, "b": 2}), written({"b": 2, "a": 1}))


def test_a_value_that_holds_itself_or_is_too_large_does_not_cross() -> None:
    endless: list[Any] = []
    endless.append(endless)
    doubled: list[Any] = [1]
    for _ in range(20):
        doubled = [doubled, doubled]
    for value in (endless, doubled, object(), len, {object()}):
        with pytest.raises(ValueRefused):
            written(value)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, INT),
        (1, FLOAT),
        (Loud("x"), STR),
        ([1, True], ListOf(INT)),
        ((1,), ListOf(INT)),
        (Person(name="a", age=1), RowOf("Account")),
        (None, STR),
    ],
    ids=str,
)
def test_types_are_exact(value: Any, wanted: Any) -> None:
    with pytest.raises(ValueRefused):
        check_type(value, wanted, "it")


def test_a_row_of_another_class_with_the_same_name_becomes_the_layers_own() -> None:
    other = row_class("Person", {"name": str, "age": int})
    again = ValueReader({"Person": Person}).read(written(other(name="Ada", age=1)))
    assert type(again) is Person
    wrong = row_class("Person", {"name": str})
    with pytest.raises(TypeError):
        ValueReader({"Person": Person}).read(written(wrong(name="Ada")))


def test_what_runs_is_what_was_read_and_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank.at(tmp_path)
    source = program("send('x')")
    order = {"approved": asdict(bank.approved(source)), "layer": str(bank.root), "do": "run"}
    line = ParentChannel(BytesIO())
    monkeypatch.setattr(line, "say", lambda *_, **__: None)
    monkeypatch.setattr(line, "hear", lambda: {"say": "go"})
    real, parsed = builtins.compile, list[object]()

    def compiling(text: Any, *args: Any, **named: Any) -> Any:
        if text == source:
            parsed.append(text)
        return real(text, *args, **named)

    monkeypatch.setattr(builtins, "compile", compiling)
    assert carried_out(order, line) == {"code": None, "result": {"value": None}}
    assert bank.done() == [["send", "x"]]
    assert parsed == [source]
