"""Contracts of a layer, called with literals: closed contracts of the Effect IR, or a refusal."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from libs.prove.tests.layers_on_disk import mail
from lictor_ir import contracts as ir
from lictor_ir.document import Parameter, Schema
from lictor_ir.terms import App, Const, Term, const, eq, not_, postorder, var, variables
from lictor_ir.types import BOOL, INT, STR
from lictor_layer import DirectoryPath, FilePath
from lictor_prove.coverage.required_contracts import is_contract
from lictor_prove.errors import ProveError, ProverConfigError

ADDR = ir.field("addr", STR)
SENT = ir.Relation(("send",))
Build = Callable[..., tuple[ir.Contract, str]]

VOCABULARY = """
    from typing import Any, Literal, Optional
    from lictor_layer import *
    from lictor_layer.specs import Spec as Base
    from tools.mail.trusted.effects import draft, send

    class Note(Event):
        text: str

    class Loud(Note):
        volume: int

    class Unheard(Event):
        text: str

    class User(Row):
        name: str
        email: str

    Locked = fluent("locked", key=str, value=bool, initial=True)
    Never = fluent("never", key=str, value=bool, initial=True)
    Send, Both = effect(send), effect(send, draft)

    @trusted
    @performs(lambda text, volume: Loud(text, volume))
    def shout(text: str, volume: int) -> None: ...

    @trusted
    @sets(lambda door: Locked.set(door, False))
    def unlock(door: str) -> None: ...

    @contract
    def none() -> Spec: return Both.empty()
    @contract
    def nothing() -> Spec: return no_guarantees()
    @contract
    def every() -> Spec: return effect().empty()
    @contract
    def at_most(n: int) -> Spec: return Send.count() <= n
    @contract
    def exactly(n: int) -> Spec: return Send.count() == n
    @contract
    def cheap(limit: float) -> Spec: return Loud.sum(lambda e: e.volume) <= limit
    @contract
    def bob_x() -> Spec:
        return Send.where(lambda e: e.addr == "bob").where(lambda e: e.text != "").all(lambda e: e.text == "x")
    @contract
    def same(a: str, b: str) -> Spec:
        return Send.where(lambda e: e.addr == a).shares_value(Send.where(lambda e: e.addr == b), lambda e: e.text)
    @contract
    def quiet() -> Spec: return Note.all(lambda n: n.text != "")
    @contract
    def unheard() -> Spec: return Unheard.empty()
    @contract
    def ordered() -> Spec:
        return Send.before(effect(draft), key=lambda e: e.addr) & Send.never_after(Note)
    @contract
    def locked() -> Spec: return Locked.final.all(lambda d: d.value)
    @contract
    def door(name: str) -> Spec: return Locked.final[name] == True
    @contract
    def open_door(name: str) -> Spec: return Locked.final[name] != True
    @contract
    def never() -> Spec: return Never.final.all(lambda d: d.value)
    @contract
    def sent_from(schema: type, field: str) -> Spec:
        column = getattr(schema, field)
        return Send.all(lambda e: e.addr == column)
    @contract
    def users() -> Spec: return Send.all(lambda e: comes_from(e.addr, User.email))
    @contract
    def lazy() -> Spec:
        from tools.mail.trusted.effects import draft as late
        import clauz3
        assert clauz3.effect is effect
        return effect(late).empty()

    @contract
    def raises() -> Spec: raise ValueError("not today")
    @contract
    def exits() -> Spec: raise SystemExit(0)
    @contract
    def returns() -> Spec: return True
    @contract
    def uncompared() -> Spec: return Send.count()
    class Own(Base): ...
    @contract
    def own() -> Spec: return Own()
    @contract
    def not_a_bool() -> Spec: return Send.all(lambda e: e.addr)
    @contract
    def two_effects() -> Spec: return Send.all(lambda e, f: True)
    @contract
    def misspelt() -> Spec: return effect("sn" + "ed").empty()
    @contract
    def unknown_field() -> Spec:
        key = lambda e: e.adress
        return Send.distinct(key)
    @contract
    def sum_of_text() -> Spec: return Send.sum(lambda e: e.text) <= 3
    @contract
    def typed(a: Any = 0, b: Optional[str] = None, c: Literal["x", 1] = 1, d: dict[str, list[int]] = {},
              e: tuple[int, ...] = (), f: set[str] = set(), g: list[FilePath] = [], h: bool = True,
              i: type[Row] = User, j: tuple[int, str] = (1, ""), k=None) -> Spec:
        return no_guarantees()
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    base = tmp_path_factory.mktemp("contracts")
    layer = mail(base, more=VOCABULARY)

    def called(name: str, *args: object, **kwargs: object) -> tuple[ir.Contract, str]:
        for module in ("tools.mail.trusted.contracts", "tools.mail.trusted.more"):
            value = layer.modules[module].names.get(name)
            if is_contract(value):
                return value.build(args, kwargs)
        raise AssertionError(name)

    return called


def contract(build: Build, name: str, *args: object) -> ir.Contract:
    return build(name, *args)[0]


def test_a_contract_is_closed_over_its_arguments(build: Build) -> None:
    made = contract(build, "only", ["bob@example.com", "ada@example.com"])
    assert isinstance(made, ir.All)
    assert made.relation == SENT
    assert variables(made.holds) == {ADDR}
    values = {term.value for term in postorder(made.holds) if isinstance(term, Const)}
    assert {"bob@example.com", "ada@example.com"} <= values


def test_the_sentence_shows_the_arguments(build: Build) -> None:
    assert build("only", ["b@x"])[1] == "Mail goes only to ['b@x']."
    assert build("unique")[1] == "Nobody gets two mails."


def test_relations_become_what_they_cover(build: Build) -> None:
    assert contract(build, "none") == ir.Empty(ir.Relation(("draft", "send")))
    assert contract(build, "nothing") == ir.Anything()
    assert contract(build, "every") == ir.Empty(ir.Relation(("draft", "send", "shout", "unlock")))
    quiet = contract(build, "quiet")
    assert isinstance(quiet, ir.All)
    assert quiet.relation == ir.Relation(events=("Loud", "Note"))


def test_aggregates_keep_their_comparison_and_bound(build: Build) -> None:
    assert contract(build, "at_most", 3) == ir.Count(SENT, ir.Comparison.AT_MOST, const(3))
    assert contract(build, "exactly", 3) == ir.Count(SENT, ir.Comparison.EXACTLY, const(3))
    assert contract(build, "cheap", 1.5) == ir.Sum(
        ir.Relation(events=("Loud",)), ir.field("volume", INT), ir.Comparison.AT_MOST, const(1.5)
    )
    assert contract(build, "unique") == ir.Distinct(SENT, ADDR)


def test_two_lambdas_on_one_line_keep_their_own_bodies(build: Build) -> None:
    made = contract(build, "bob_x")
    text = ir.field("text", STR)
    assert isinstance(made, ir.All)
    assert made.holds == eq(text, const("x"))
    assert made.relation.where is not None
    assert variables(made.relation.where) == {ADDR, text}


def test_existence_and_order(build: Build) -> None:
    same = contract(build, "same", "a", "b")
    assert isinstance(same, ir.SharesValue)
    assert same.key == ir.field("text", STR)
    assert contract(build, "ordered") == ir.Both(
        (
            ir.Before(SENT, ir.Relation(("draft",)), ADDR, ADDR),
            ir.NeverAfter(ir.Relation(events=("Loud", "Note")), SENT),
        )
    )


def test_fluents_at_the_end(build: Build) -> None:
    value = var(ir.VALUE_NAME, BOOL)
    assert contract(build, "locked") == ir.AtEnd("locked", value)
    same = eq(value, const(value=True))
    assert contract(build, "door", "front") == ir.AtEnd("locked", same, const("front"))
    assert contract(build, "open_door", "front") == ir.AtEnd("locked", not_(same), const("front"))


def origin(made: ir.Contract) -> tuple[str, str]:
    assert isinstance(made, ir.All)
    holds: Term = made.holds
    assert isinstance(holds, App)
    return holds.op, holds.param


def test_columns_say_where_a_value_comes_from(build: Build) -> None:
    user = Schema("User", (Parameter("name", STR), Parameter("email", STR)))
    assert origin(contract(build, "sent_from", user, "email")) == ("from", "User.email")
    assert origin(contract(build, "users")) == ("from", "User.email")


def test_a_table_that_the_program_declared_has_columns_too(build: Build) -> None:
    own = Schema("Mine", (Parameter("to", STR),))
    assert origin(contract(build, "sent_from", own, "to")) == ("from", "Mine.to")
    with pytest.raises(ProveError, match="AttributeError"):
        build("sent_from", own, "email")


def test_a_builder_may_import_late(build: Build) -> None:
    assert contract(build, "lazy") == ir.Empty(ir.Relation(("draft",)))
    assert not [name for name in sys.modules if name.partition(".")[0] in ("tools", "clauz3")]


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("only", ["bob@example.com"], {}),
        ("only", [[1]], {}),
        ("only", [("a",)], {}),
        ("only", [], {}),
        ("only", [["a"], ["b"]], {}),
        ("only", [["a"]], {"addresses": ["b"]}),
        ("only", [], {"addrs": ["b"]}),
        ("at_most", [True], {}),
        ("at_most", [1.0], {}),
        ("at_most", ["1"], {}),
        ("cheap", [True], {}),
        ("cheap", ["1"], {}),
        ("sent_from", ["User", "email"], {}),
        ("typed", [], {"b": 1}),
        ("typed", [], {"c": "y"}),
        ("typed", [], {"c": True}),
        ("typed", [], {"d": {"a": ["x"]}}),
        ("typed", [], {"d": [("a", [1])]}),
        ("typed", [], {"e": (1, "x")}),
        ("typed", [], {"e": [1]}),
        ("typed", [], {"f": {1}}),
        ("typed", [], {"g": ["a.txt"]}),
        ("typed", [], {"g": [DirectoryPath("a")]}),
        ("typed", [], {"h": 1}),
        ("typed", [], {"i": 3}),
        ("typed", [], {"j": (1,)}),
    ],
)
def test_arguments_of_other_types_are_refused(
    build: Build, name: str, args: list[object], kwargs: dict[str, object]
) -> None:
    with pytest.raises(ProveError, match=name):
        build(name, *args, **kwargs)


def test_arguments_of_the_right_types_pass(build: Build) -> None:
    user = Schema("User", (Parameter("name", STR), Parameter("email", STR)))
    build("cheap", 1)
    build(
        "typed",
        object,
        "b",
        "x",
        {"a": [1]},
        (1, 2),
        {"s"},
        [FilePath("a")],
        False,
        user,
        (1, "a"),
        3,
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raises", "ValueError: not today"),
        ("exits", "SystemExit"),
        ("returns", "returned bool, not a spec"),
        ("uncompared", "returned Aggregate, not a spec"),
        ("own", "Own, which is no spec"),
        ("two_effects", "takes one effect"),
    ],
)
def test_a_builder_that_gives_no_contract_is_a_clear_error(
    build: Build, name: str, why: str
) -> None:
    with pytest.raises(ProveError, match=why) as caught:
        build(name)
    assert "more.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("misspelt", "names no effect"),
        ("unheard", "performs Unheard"),
        ("never", "set by no effect"),
        ("sum_of_text", "over numbers"),
        ("not_a_bool", "true or false"),
    ],
)
def test_a_contract_about_nothing_is_an_error_of_the_layer(
    build: Build, name: str, why: str
) -> None:
    with pytest.raises(ProverConfigError, match=why):
        build(name)


def test_a_field_that_is_not_there_is_refused_even_when_only_building_shows_it(
    build: Build,
) -> None:
    with pytest.raises(ProveError, match="adress"):
        build("unknown_field")


def test_a_final_value_is_of_the_fluents_type(tmp_path: Path) -> None:
    text = """
        from lictor_layer import *
        Locked = fluent("locked", key=str, value=bool, initial=True)
        @trusted
        @sets(lambda door: Locked.set(door, False))
        def unlock(door: str) -> None: ...
        @contract
        def bad() -> Spec: return Locked.final["x"] == 1
    """
    value = mail(tmp_path, doors=text).modules["tools.mail.trusted.doors"].names["bad"]
    assert is_contract(value)
    with pytest.raises(ProveError, match="is a bool, not 1"):
        value.build((), {})


def test_an_effect_from_elsewhere_is_not_taken_for_one_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = "from lictor_layer import trusted\n@trusted\ndef send(addr: str) -> None: ...\n"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "installed_mail_package.py").write_text(elsewhere)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    text = """
        from installed_mail_package import send
        from lictor_layer import Spec, contract, effect

        @contract
        def none() -> Spec: return effect(send).empty()
    """
    value = mail(tmp_path, more=text).modules["tools.mail.trusted.more"].names["none"]
    monkeypatch.delitem(sys.modules, "installed_mail_package")
    assert is_contract(value)
    with pytest.raises(ProverConfigError, match="names no effect of this layer"):
        value.build((), {})
