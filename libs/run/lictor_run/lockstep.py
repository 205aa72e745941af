"""Holds a run to its Effect IR and its guarantees, call by call, before each call is made.

What was proved is proved about a document. The document is run beside the program: it is given what the program's calls
return, and says which call comes next, with which arguments. A program that is about to do anything else is stopped
before it does. So is one whose document can't say what comes next: what is left open, too long, too large, or our own
error. Only what the document itself declares unknown is admitted, with any value of its type.

A proof may be wrong, and its document in the same way. So the guarantees are evaluated with each call that is about to
be made, without the proof. One that the call would break stops the run before it.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from lictor_ir.document import Document
from lictor_ir.errors import DifferenceError
from lictor_ir.evaluation.contract_monitor import UnkeptGuarantee
from lictor_ir.evaluation.following import Following
from lictor_ir.values import RowValue
from lictor_layer.rows import Row
from lictor_run.errors import RunStopped


class Lockstep:
    """A document that is run beside its program."""

    def __init__(self, document: Document, inputs: Mapping[str, Any] | None = None) -> None:
        """`inputs`: the values that the target is called with."""
        with _stopping():
            self._following = Following(document, dict(inputs or {}), monitored=True)

    def expect(
        self, effect: str, arguments: Mapping[str, Any], schemas: Collection[str] = ()
    ) -> None:
        """RunStopped unless this is the call that the document says is next, and the guarantees hold with it.

        `arguments`: as documents know them (`ir_value`), without those that are left to their defaults.
        `schemas`: the row classes among them.
        """
        with _stopping():
            self._following.called(effect, arguments, schemas)
            unkept = self._following.unkept()
        if unkept is not None:
            raise _not_kept(unkept, f"{effect} is not called: with it, the run")

    def returned(self, value: Any) -> None:
        """Pass on what the call returned; RunStopped when the document can't go on with it."""
        with _stopping():
            self._following.returned(ir_value(value))

    def failed(self) -> bool:
        """The call failed: whether the document says how the program goes on."""
        with _stopping():
            return self._following.failed()

    def complete(self) -> None:
        """The program is done: RunStopped unless the document is, and its guarantees hold of what happened."""
        with _stopping():
            self._following.ended()
            unkept = self._following.unkept()
        if unkept is not None:
            raise _not_kept(unkept, "the run")


_REMEDY = "report this program: the prover and Python disagree about it; it must not run"


@contextmanager
def _stopping() -> Generator[None]:
    """Whatever goes wrong stops the run: nobody can say any more what it may do."""
    try:
        yield
    except DifferenceError as difference:
        raise _diverged(str(difference)) from None
    except Exception as error:  # noqa: BLE001 -- memory and recursion too
        told = f"the document can't be followed: {type(error).__name__}: {error}"
        raise _diverged(told) from None


def _diverged(message: str) -> RunStopped:
    return RunStopped("run.diverged", f"the run is not the one that was proved: {message}", _REMEDY)


def _not_kept(unkept: UnkeptGuarantee, what: str) -> RunStopped:
    name = unkept.guarantee.name
    if unkept.open is None:
        return RunStopped(
            "guarantee.broken", f"{what} does not keep {name}, which was proved", _REMEDY
        )
    return RunStopped(
        "guarantee.open",
        f"{what} can't be held to {name}, which was proved ({unkept.open})",
        _REMEDY,
    )


def ir_value(value: Any) -> Any:
    """A value of the program as documents know it."""
    if isinstance(value, Row):
        row: Any = type(value)
        columns = {name: ir_value(getattr(value, name)) for name in row.__lictor_columns__}
        return RowValue(row.__lictor_schema__, columns)
    if isinstance(value, list):
        return [ir_value(item) for item in cast(list[Any], value)]
    if isinstance(value, tuple):
        return tuple(ir_value(item) for item in cast(tuple[Any, ...], value))
    if isinstance(value, dict):
        return {key: ir_value(item) for key, item in cast(dict[Any, Any], value).items()}
    return value
