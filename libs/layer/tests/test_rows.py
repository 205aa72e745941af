"""Rows: values with typed columns, and classes that name them."""

import copy
import pickle

import pytest

from lictor_layer import Column, DeclarationError, Row
from lictor_layer.rows import RowType, row_class


class UserRow(Row):
    name: str
    age: int
    score: float
    admin: bool


BOB = UserRow(name="Bob", age=7, score=0.5, admin=False)


def test_a_row_has_its_columns_and_never_changes() -> None:
    assert (BOB.name, BOB.age, BOB.score, BOB.admin) == ("Bob", 7, 0.5, False)
    with pytest.raises(AttributeError, match="does not change"):
        BOB.name = "Eve"
    with pytest.raises(AttributeError, match="does not change"):
        del BOB.name
    with pytest.raises(AttributeError, match="no column"):
        _ = BOB.address  # type: ignore[attr-defined]


def test_rows_are_equal_when_class_and_columns_are() -> None:
    assert UserRow(name="Bob", age=7, score=0.5, admin=False) == BOB
    assert len({BOB, copy.deepcopy(BOB), pickle.loads(pickle.dumps(BOB))}) == 1
    other = row_class("UserRow", {"name": str, "age": int, "score": float, "admin": bool})
    assert other(name="Bob", age=7, score=0.5, admin=False) != BOB


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"name": "Bob"}, "lacks admin, age, score"),
        ({"name": "Bob", "age": 7, "score": 0.5, "admin": False, "x": 1}, "no columns x"),
        ({"name": None, "age": 7, "score": 0.5, "admin": False}, "name is a str, not NoneType"),
        ({"name": "Bob", "age": True, "score": 0.5, "admin": False}, "age is a int, not bool"),
        ({"name": "Bob", "age": 7, "score": 1, "admin": False}, "score is a float, not int"),
    ],
)
def test_a_row_is_complete_and_of_the_declared_types(columns: dict[str, object], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        UserRow(**columns)


def test_the_class_names_its_columns() -> None:
    assert Column("UserRow", "name", UserRow) == UserRow.name
    assert Column.__lictor_column__


def test_a_subclass_has_the_columns_of_its_base() -> None:
    class Member(UserRow):
        since: int

    assert Member.name == Column("Member", "name", Member)
    assert Member(name="Bob", age=7, score=0.5, admin=False, since=1).since == 1


def test_columns_have_no_defaults_and_only_plain_types() -> None:
    with pytest.raises(DeclarationError, match="default"):

        class WithDefault(Row):
            name: str = "Bob"

    with pytest.raises(DeclarationError, match="str, int, bool or float"):

        class WithList(Row):
            names: list[str]


def test_a_column_is_no_method_of_a_class_above() -> None:
    """Python would find the method, and a proof speaks about the column."""

    class Named(Row):
        def label(self) -> str:
            return "none"

    with pytest.raises(DeclarationError, match="label"):
        RowType("Labelled", (Named,), {"__annotations__": {"label": str}})

    class Labelled(Row):
        label: str

    with pytest.raises(DeclarationError, match="label"):
        RowType("Both", (Named, Labelled), {})


def test_a_column_can_not_be_assigned_to_the_class_or_to_one_above() -> None:
    class Member(UserRow):
        since: int

    for row, column in ((UserRow, "name"), (Member, "name"), (UserRow, "since")):
        with pytest.raises(DeclarationError, match=column):
            setattr(row, column, property(lambda _: "eve"))
    Member.table = "members"  # type: ignore[attr-defined]
    assert Member(name="Bob", age=7, score=0.5, admin=False, since=1).name == "Bob"


@pytest.mark.parametrize(
    "method", ["__eq__", "__hash__", "__bool__", "__getattribute__", "__init__"]
)
def test_what_rows_do_is_the_same_for_all_of_them(method: str) -> None:
    with pytest.raises(DeclarationError, match=method):
        RowType("Odd", (Row,), {method: lambda *_: True})


def test_a_row_class_is_below_row_classes_alone() -> None:
    class Mixin:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(DeclarationError, match="a row is a row only"):
        RowType("Odd", (Mixin, Row), {})


def test_a_row_class_may_have_a_docstring_and_methods() -> None:
    class Named(UserRow):
        """With a method for the layer's own use."""

        def shout(self) -> str:
            return self.name.upper()

    assert Named(name="Bob", age=7, score=0.5, admin=False).shout() == "BOB"
