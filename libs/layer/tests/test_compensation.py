"""How an effect says that it can be taken back, and what a call knows of itself."""

from __future__ import annotations

import pytest

from lictor_layer import (
    DeclarationError,
    compensated_by,
    current_call,
    nothing_to_undo,
    requires,
    trusted,
)
from lictor_layer.call_context import Call, calling
from lictor_layer.declarations import declaration


def undo_pay(account: str, cents: int, result: str) -> None: ...


def pay(account: str, cents: int) -> str:
    return f"{account} {cents}"


def test_an_undo_takes_what_the_effect_takes_and_its_result() -> None:
    said = declaration(compensated_by(undo_pay)(trusted(pay)))
    assert said is not None
    assert said.trusted
    assert said.compensation is not None
    assert said.compensation.undo is undo_pay
    assert not said.compensation.when_in_doubt


def test_conditions_around_it_keep_what_was_said() -> None:
    @requires(lambda cents: cents > 0)
    @compensated_by(undo_pay, when_in_doubt=True)
    @trusted
    def pay(account: str, cents: int) -> str:
        return f"{account} {cents}"

    said = declaration(pay)
    assert said is not None
    assert said.compensation is not None
    assert said.compensation.when_in_doubt


def without_result(account: str, cents: int) -> None: ...
def too_many(account: str, cents: int, result: str, more: int) -> None: ...
def any_at_all(*args: object) -> None: ...
async def later(account: str, cents: int, result: str) -> None: ...


@pytest.mark.parametrize("undo", [without_result, too_many, any_at_all, later, len, "undo"])
def test_an_undo_that_can_not_be_called_so_is_refused(undo: object) -> None:
    with pytest.raises(DeclarationError):
        compensated_by(undo)(pay)  # pyright: ignore[reportArgumentType] -- what is refused


def test_how_it_is_undone_is_said_once() -> None:
    @trusted
    def read() -> None: ...

    nothing_to_undo(read)
    with pytest.raises(DeclarationError, match="twice"):
        nothing_to_undo(read)


def test_a_parameter_called_result_can_not_be_told_from_the_result() -> None:
    def effect(result: str) -> None: ...

    with pytest.raises(DeclarationError, match="rename it"):
        compensated_by(effect)(effect)


def test_a_call_knows_itself_only_while_it_is_made() -> None:
    assert current_call() is None
    call = Call("run", "pay", 0, "key")
    with calling(call):
        assert current_call() is call
    assert current_call() is None
