"""What a trusted function can know about the call it is in, when the runner makes it.

    @trusted("net")
    def charge(account: str, cents: int) -> str:
        call = current_call()
        return bank.charge(account, cents, key=call.idempotency_key if call else None)

A call that the runner makes has an idempotency key: the same if it is ever made again, another for every other call. A
back-end that is given it can tell a repetition from a second order.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a trusted function, or of its undo, in one run."""

    run_id: str
    effect: str
    """The trusted function; also while it is undone."""
    number: int
    """From 0, in the order of the run."""
    idempotency_key: str
    is_undo: bool = False


_CURRENT: Final[ContextVar[Call | None]] = ContextVar("lictor_layer_call", default=None)


def current_call() -> Call | None:
    """The call that the runner is making; None outside of a run."""
    return _CURRENT.get()


@contextmanager
def calling(call: Call) -> Generator[None]:
    """Within, `current_call()` is this one. For runners."""
    token = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(token)
