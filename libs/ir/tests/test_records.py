"""Values that are made by the thousand: equal by what they hold, whatever made them."""

from __future__ import annotations

import pickle

from lictor_ir.places import Place
from lictor_ir.records import record


@record()
class Pair:
    one: int
    other: str = ""


@record(eq=False)
class Single:
    held: int


def test_records_are_equal_and_hashed_by_what_they_hold() -> None:
    assert Pair(1, "a") == Pair(1, "a") != Pair(2, "a")
    assert len({Pair(1), Pair(1), Pair(2)}) == 2


def test_records_without_equality_are_themselves() -> None:
    assert Single(1) != Single(1)


def test_records_have_slots_and_can_be_pickled() -> None:
    assert not hasattr(Pair(1), "__dict__")
    made = pickle.loads(pickle.dumps(Pair(1, "a")))
    assert made == Pair(1, "a")
    assert hasattr(Place, "__slots__")
