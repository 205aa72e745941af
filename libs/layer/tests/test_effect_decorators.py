"""Trusted functions at run time: what they refuse, what they promise, and what they say of themselves."""

import functools
from collections.abc import Callable
from operator import is_
from types import ModuleType

import pytest

from lictor_layer import (
    DeclarationError,
    Event,
    PostconditionError,
    PreconditionError,
    ensures,
    fluent,
    mock,
    performs,
    requires,
    sets,
    trusted,
)
from lictor_layer.declarations import Declaration, declaration


class Sent(Event):
    addr: str


Outbox = fluent("outbox", key=str, value=bool, initial=False)


def declared(function: object) -> Declaration:
    found = declaration(function)
    assert found is not None
    return found


def test_a_call_that_breaks_a_precondition_never_reaches_the_body() -> None:
    calls: list[str] = []

    @requires(lambda addr: "@" in addr, message="addr is an e-mail address")
    @trusted
    def send(addr: str, text: str = "") -> None:
        calls.append(addr + text)

    send("bob@example.com")
    with pytest.raises(PreconditionError, match="addr is an e-mail address"):
        send("bob", text="hi")
    with pytest.raises(PreconditionError):
        send(addr="bob")
    assert calls == ["bob@example.com"]


def test_a_result_that_breaks_a_postcondition_is_not_returned() -> None:
    @ensures(lambda result: result >= 0)
    @ensures(lambda limit, result: result <= limit)
    @trusted
    def count(limit: int, beyond: int) -> int:
        return limit + beyond

    assert count(3, -1) == 2
    with pytest.raises(PostconditionError):
        count(3, 1)
    with pytest.raises(PostconditionError):
        count(limit=3, beyond=-4)


def test_a_condition_reads_defaults_as_the_body_would() -> None:
    @requires(lambda *, dry_run=True: dry_run)
    @trusted
    def send(addr: str, *, dry_run: bool = True) -> str:
        return addr if dry_run else ""

    assert send("a") == "a"
    with pytest.raises(PreconditionError):
        send("a", dry_run=False)


def test_a_condition_may_raise_an_exception_of_the_layer() -> None:
    @requires(lambda n: n > 0, exception=LookupError)
    @trusted
    def take(n: int) -> None: ...

    with pytest.raises(LookupError):
        take(0)


def test_every_decorator_is_kept_whatever_their_order() -> None:
    @trusted("net")
    @requires(lambda addr: addr != "")
    @sets(lambda addr: Outbox.set(addr, True))
    @performs(lambda addr: Sent(addr))
    @mock
    @ensures(lambda result: result is None)
    def send(addr: str) -> None:
        """Sends."""

    said = declared(send)
    assert (said.trusted, said.mock, said.markers) == (True, True, ("net",))
    assert len(said.requires) == len(said.ensures) == len(said.performs) == len(said.sets) == 1
    assert send.__name__ == "send"
    assert send.__doc__ == "Sends."


def test_trusted_may_be_written_with_and_without_parentheses() -> None:
    @trusted
    def one() -> None: ...

    @trusted()
    def other() -> None: ...

    assert declared(one) == declared(other)


def test_conditions_must_name_the_parameters_of_their_function() -> None:
    with pytest.raises(
        DeclarationError, match="'adress', which is no parameter of send; it has addr"
    ):

        @requires(lambda adress: "@" in adress)
        @trusted
        def send(addr: str) -> None: ...

    with pytest.raises(DeclarationError, match="same default"):

        @requires(lambda dry_run: dry_run)
        @trusted
        def draft(dry_run: bool = True) -> None: ...

    with pytest.raises(DeclarationError, match="one by one"):

        @requires(lambda *all_: all_)
        @trusted
        def other(a: str) -> None: ...

    with pytest.raises(DeclarationError, match="result"):
        ensures(lambda a, b: a < b)


def test_events_and_fluents_are_made_of_parameters_that_every_call_passes() -> None:
    with pytest.raises(DeclarationError, match="must be a parameter"):
        performs(lambda: Sent("bob"))
    with pytest.raises(DeclarationError, match="computes nothing"):
        performs(lambda addr: Sent(str(addr)))
    with pytest.raises(DeclarationError, match="is computed with"):
        performs(lambda addr: Sent(f"{addr}"))
    with pytest.raises(DeclarationError, match="decides something"):
        performs(lambda addr: Sent(addr) if addr is not None else Sent("bob"))
    with pytest.raises(DeclarationError, match="has a default"):

        @performs(lambda addr: Sent(addr))
        @trusted
        def send(addr: str = "bob") -> None: ...

    with pytest.raises(DeclarationError, match="no parameter of lock"):

        @sets(lambda gate: Outbox.set(gate, True))
        @trusted
        def lock(door: str) -> None: ...

    with pytest.raises(DeclarationError, match="known bool"):
        sets(lambda addr: Outbox.set(addr, "yes"))


def test_only_functions_are_effects() -> None:
    with pytest.raises(DeclarationError, match="no function"):
        trusted(len)


class Lost(Event):
    addr: str


class Odd(Event):
    addr: str

    def __post_init__(self) -> None:
        if isinstance(self.addr, str):
            raise TypeError


def either(addr: str) -> Event:
    return Sent(addr) if isinstance(addr, str) else Lost(addr)


HELPERS = ModuleType("helpers")
vars(HELPERS).update(either=either, sent=lambda addr: Sent(addr))


class Maker:
    @staticmethod
    def make(addr: str) -> Event:
        return either(addr)


MAKER = Maker()
EVENTS = functools.partial(either)


def captured() -> Callable[[str], Event]:
    inner = either
    return lambda addr: inner(addr)


@pytest.mark.parametrize(
    "builder",
    [
        lambda addr: either(addr),
        lambda addr: HELPERS.either(addr),
        lambda addr: Maker.make(addr),
        lambda addr: MAKER.make(addr),
        lambda addr: EVENTS(addr),
        lambda addr: (Sent(addr), Lost(addr))[is_(addr, None)],
        lambda addr: (lambda inner: Sent(inner) if inner else Lost(inner))(addr),
        lambda addr: Odd(addr),
        captured(),
    ],
)
def test_what_a_builder_calls_decides_nothing_either(builder: Callable[[str], Event]) -> None:
    with pytest.raises(DeclarationError, match=r"decides something|can't be looked into|calls"):
        performs(builder)


def test_a_builder_may_call_what_only_passes_on() -> None:
    performs(lambda addr: HELPERS.sent(addr))
    sets(lambda addr: Outbox.set(addr, True))
