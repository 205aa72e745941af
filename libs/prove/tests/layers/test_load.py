"""Loading a layer: what it declares, apart from everything else in the process."""

import inspect
import sys
from pathlib import Path

import pytest

from libs.prove.tests.layers_on_disk import CONTRACTS, EFFECTS, MAIL, mail, write
from lictor_ir.document import Event, Fluent, Parameter, Schema
from lictor_ir.terms import const
from lictor_ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    SetOf,
    TupleOf,
)
from lictor_layer import path_predicates
from lictor_prove.coverage.required_contracts import is_contract
from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import EventUse, FluentUse, LayerParameter, TrustedFunction
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.layers.files import read_files
from lictor_prove.layers.load import load_living


def test_functions_are_read_with_their_signatures_and_conditions(tmp_path: Path) -> None:
    send = mail(tmp_path).functions["send"]
    assert (send.name, send.module) == ("send", "tools.mail.trusted.effects")
    assert send.parameters == (LayerParameter("addr", STR), LayerParameter("text", STR))
    assert send.result == NONE
    assert send.documentation == "Sends a mail."
    (condition,) = send.requires
    assert condition.text == "addr is an address"
    assert condition.place == "tools/mail/trusted/effects.py:3"


def test_modules_say_what_a_program_may_import(tmp_path: Path) -> None:
    layer = mail(tmp_path)
    contracts = layer.modules["tools.mail.trusted.contracts"].names
    assert contracts["send"] is layer.functions["send"]
    assert is_contract(contracts["only"])
    assert not is_contract(contracts["Send"])
    package = layer.modules["tools.mail.trusted"]
    assert package.names["contracts"] is layer.modules["tools.mail.trusted.contracts"]
    assert layer.modules["tools"].names["mail"] is layer.modules["tools.mail"]


def test_annotations_become_types(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        typed="""
            from __future__ import annotations
            from typing import TYPE_CHECKING, Any, Literal, TypeVar
            from lictor_layer import Row, trusted
            if TYPE_CHECKING:
                from nowhere import Nothing

            class User(Row):
                name: str
                age: int

            RowT = TypeVar("RowT", bound=Row)

            @trusted
            def takes(a: bool, b: int, c: float, d: list[str], e: set[int], f: dict[str, object],
                      g: tuple[str, int], h: str | None, i: Any, j: User, k: list[User],
                      m: Nothing, n: Literal["x", "y"], /, o=None, *, p: None = None) -> Nothing: ...

            @trusted
            def rows(schema: type[RowT], where: dict[str, str]) -> list[RowT]: ...
            @trusted
            def unknown_rows(row: RowT) -> list[RowT]: ...
            @trusted
            def users() -> list[User]: ...
            @trusted
            def user() -> User: ...
            @trusted
            def lines() -> list[list[str]]: ...
            @trusted
            def score() -> float: ...
            @trusted
            def perhaps() -> str | None: ...
            @trusted
            def table() -> dict[str, str]: ...
            @trusted
            def several() -> tuple[list[User], int | None]: ...
            @trusted
            def words() -> set[str]: ...
            @trusted
            def vague() -> int | str | None: ...
            @trusted
            def unsaid(): ...
        """,
    )
    takes = layer.functions["takes"]
    user = RowOf("User")
    assert [parameter.type for parameter in takes.parameters] == [
        BOOL,
        INT,
        FLOAT,
        ListOf(STR),
        SetOf(INT),
        MapOf(STR, ANY),
        TupleOf((STR, INT)),
        ANY,
        ANY,
        user,
        ListOf(user),
        ANY,
        STR,
        ANY,
        NONE,
    ]
    assert takes.parameters[0].positional_only
    assert takes.parameters[-1].keyword_only
    assert takes.parameters[-1].has_default
    results = {name: function.result for name, function in layer.functions.items()}
    assert results["takes"] is results["unsaid"] is results["vague"] is None
    assert results["perhaps"] == OptionalOf(STR)
    assert results["table"] == MapOf(STR, STR)
    assert results["several"] == TupleOf((ListOf(user), OptionalOf(INT)))
    assert results["words"] == SetOf(STR)
    assert (results["users"], results["user"]) == (ListOf(user), user)
    assert (results["lines"], results["score"]) == (ListOf(ListOf(STR)), FLOAT)
    rows = layer.functions["rows"]
    assert rows.parameters[0].is_schema
    assert rows.result_of_schema == "schema"
    assert isinstance(rows.result, ListOf)
    assert layer.functions["unknown_rows"].result is None
    assert layer.schemas["User"] == Schema("User", (Parameter("name", STR), Parameter("age", INT)))
    assert layer.modules["tools.mail.trusted.typed"].names["User"] == layer.schemas["User"]


def test_events_carry_their_kinds_and_fields(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        files="""
            from lictor_layer import Event, performs, trusted

            class FileEvent(Event):
                path: str

            class Write(FileEvent):
                text: str

            @trusted
            @performs(lambda path, text: [FileEvent(path), Write(path, text)])
            def store(path: str, text: str) -> None: ...
        """,
    )
    assert layer.events["Write"] == Event(
        "Write", ("Write", "FileEvent"), (Parameter("path", STR), Parameter("text", STR))
    )
    assert layer.functions["store"].events == (
        EventUse("FileEvent", {"path": "path"}),
        EventUse("Write", {"path": "path", "text": "text"}),
    )


def test_fluents_carry_their_types_and_updates(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        doors="""
            from lictor_layer import fluent, sets, trusted
            Locked = fluent("locked", key=str, value=bool, initial=True)

            @trusted
            @sets(lambda door, to: [Locked.set(door, to), Locked.set("front", True)])
            def turn(door: str, to: bool) -> None: ...
        """,
    )
    assert layer.fluents == {"locked": Fluent("locked", STR, BOOL, const(value=True))}
    assert layer.functions["turn"].updates == (
        FluentUse("locked", "door", True, "to", True),
        FluentUse("locked", "front", False, True, False),
    )


def test_a_postcondition_over_the_result_reads_it_by_one_name(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        more="""
            from lictor_layer import ensures, trusted

            @ensures(lambda n: 0 <= n and n < 10)
            @ensures(lambda limit, result: result <= limit)
            @trusted
            def count(limit: int) -> int: ...
        """,
    )
    one, other = layer.functions["count"].ensures
    assert [argument.arg for argument in one.node.args.args] == ["result"]
    assert [argument.arg for argument in other.node.args.args] == ["limit", "result"]


def test_names_of_a_lambda_are_what_they_mean_there(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        more="""
            from lictor_layer import is_plain_path, requires, trusted
            LIMIT = 3

            @requires(lambda path: is_plain_path(path) and len(path) < LIMIT)
            @trusted
            def read(path: str) -> str: ...
        """,
    )
    (condition,) = layer.functions["read"].requires
    assert condition.names["is_plain_path"] is path_predicates.is_plain_path
    assert (condition.names["len"], condition.names["LIMIT"]) == (len, 3)
    assert condition.text == "is_plain_path(path) and len(path) < LIMIT"


def test_layers_with_the_same_module_names_do_not_see_each_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    first = mail(one)
    second = mail(
        other,
        effects=EFFECTS.replace("def draft(addr: str) -> int", "def draft(addr: str) -> str"),
    )
    assert first.functions["draft"].result == INT
    assert second.functions["draft"].result == STR
    assert first.hash != second.hash
    assert not [
        name for name in sys.modules if name.partition(".")[0] in ("tools", "clauz3", "deal")
    ]


def test_what_stood_in_the_process_before_stands_there_after(tmp_path: Path) -> None:
    before = type(sys)("tools")
    sys.modules["tools"] = before
    finders = list(sys.meta_path)
    try:
        mail(tmp_path)
        with pytest.raises(Exception, match="can't be loaded"):
            mail(tmp_path, bad="raise RuntimeError('no')")
        assert sys.modules["tools"] is before
        assert sys.meta_path == finders
    finally:
        del sys.modules["tools"]


def test_what_the_process_imports_between_two_uses_of_a_layer_is_none_of_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail(tmp_path)
    runtime = load_living(read_files(discover_trusted_roots([tmp_path]), [tmp_path])).runtime
    name = "tools.mail.trusted.effects"
    for _ in range(2):
        with runtime.active():
            assert sys.modules[name] is runtime.modules[name]
        assert "tools" not in sys.modules
    foreign = type(sys)("tools")
    monkeypatch.setitem(sys.modules, "tools", foreign)
    for _ in range(2):
        with runtime.active():
            assert sys.modules[name] is runtime.modules[name]
            assert sys.modules["tools"] is not foreign
            # Imported inside, it belongs to the layer, and is gone outside.
            sys.modules["tools.late"] = type(sys)("tools.late")
        assert sys.modules["tools"] is foreign
        assert "tools.late" not in sys.modules


def test_loading_writes_nothing(tmp_path: Path) -> None:
    mail(tmp_path)
    assert not list(tmp_path.rglob("__pycache__"))


def test_the_hash_is_over_names_and_contents_wherever_they_lie(tmp_path: Path) -> None:
    one, other = mail(tmp_path / "one"), mail(tmp_path / "some" / "where" / "else")
    assert one.hash == other.hash
    assert one.hash.startswith("sha256:")
    (tmp_path / "one" / "tools" / "mail" / "trusted" / "words.txt").write_text("spam")
    again = mail(tmp_path / "one")
    renamed = mail(tmp_path / "three", contracts="", vocabulary=CONTRACTS)
    assert len({one.hash, again.hash, renamed.hash}) == 3


def test_roots_are_found_below_import_roots(tmp_path: Path) -> None:
    near = write(tmp_path, {"effects": "x = 1"}, "tools/mail/trusted")
    far = write(tmp_path, {"effects": "x = 1"}, "tools/org/mail/trusted")
    write(tmp_path, {"effects": "x = 1"}, "tools/mail/untrusted")
    write(tmp_path, {"effects": "x = 1"}, "tools/.hidden/trusted")
    write(tmp_path, {"effects": "x = 1"}, "other/mail/trusted")
    assert discover_trusted_roots([tmp_path, tmp_path]) == (near.resolve(), far.resolve())
    assert discover_trusted_roots([tmp_path / "nowhere"]) == ()


def test_a_module_is_named_from_the_first_import_root_that_holds_it(tmp_path: Path) -> None:
    root = write(tmp_path / "a", {"effects": EFFECTS}, "mail/trusted")
    by_near = load_layer([root], [tmp_path / "b", tmp_path / "a" / "mail", tmp_path])
    by_far = load_layer([root], [tmp_path])
    assert "trusted.effects" in by_near.modules
    assert "a.mail.trusted.effects" in by_far.modules


def test_roots_may_be_given_twice_and_inside_each_other(tmp_path: Path) -> None:
    root = write(tmp_path, MAIL)
    layer = load_layer([root, root, root.parent], [tmp_path])
    assert set(layer.functions) == {"send", "draft"}


def test_no_roots_are_an_empty_layer(tmp_path: Path) -> None:
    layer = load_layer([], [tmp_path])
    assert (layer.functions, layer.modules, layer.policies) == ({}, {}, ())


def test_rows_that_share_a_name_are_told_apart(tmp_path: Path) -> None:
    schema = "from lictor_layer import Row\nclass User(Row):\n    email: str\n"
    reads = (
        "from lictor_layer import trusted\nfrom tools.{0}.trusted.rows import User\n"
        "@trusted\ndef read_{0}() -> list[User]: ...\n"
    )
    for domain in ("db", "ldap"):
        write(
            tmp_path, {"rows": schema, "effects": reads.format(domain)}, f"tools/{domain}/trusted"
        )
    layer = load_layer(discover_trusted_roots([tmp_path]), [tmp_path])
    assert layer.functions["read_db"].result == ListOf(RowOf("tools_db_trusted_rows_User"))
    assert layer.functions["read_ldap"].result == ListOf(RowOf("tools_ldap_trusted_rows_User"))
    assert set(layer.schemas) == {"tools_db_trusted_rows_User", "tools_ldap_trusted_rows_User"}


def test_an_effect_may_stand_in_the_package_itself(tmp_path: Path) -> None:
    root = write(tmp_path, {"__init__": EFFECTS}, "mailtrusted")
    layer = load_layer([root], [tmp_path])
    assert isinstance(layer.modules["mailtrusted"].names["send"], TrustedFunction)


def test_the_source_of_a_helper_is_the_text_that_runs(tmp_path: Path) -> None:
    text = """
        from lictor_layer import requires, trusted

        def short(text: str) -> bool:
            return len(text) < 9

        @requires(lambda text: short(text))
        @trusted
        def say(text: str) -> None: ...
    """
    layer = mail(tmp_path, more=text)
    write(tmp_path, {"more": "# edited meanwhile\n\ndef short(text):\n    return True\n"})
    (condition,) = layer.functions["say"].requires
    short = condition.names["short"]
    assert callable(short)
    assert "len(text) < 9" in inspect.getsource(short)


def test_a_folder_that_is_a_link_is_refused_because_nobody_hashes_what_is_behind_it(
    tmp_path: Path,
) -> None:
    root = write(tmp_path, MAIL)
    behind = tmp_path / "elsewhere"
    behind.mkdir()
    (root / "data").symlink_to(behind, target_is_directory=True)
    with pytest.raises(ProverConfigError, match="is a link"):
        read_files([root], [tmp_path])
