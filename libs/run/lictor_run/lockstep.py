"""Holds a run to its Effect IR, call by call, before each call is made.

What was proved is proved about a document. The document is run beside the program: it is given what the program's calls
return, and says which call comes next, with which arguments. A program that is about to do anything else is stopped
before it does; where the document leaves open what happens (`UnspecifiedError`), nothing more is compared.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any

from lictor_ir.document import Document
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation import traces
from lictor_ir.evaluation.contract_truth import holds
from lictor_ir.evaluation.traces import Trace
from lictor_ir.values import RowValue
from lictor_layer.rows import Row
from lictor_run.errors import RunStopped
from lictor_run.values import Json, same, written


class Lockstep:
    """A document that is run beside its program."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._told: SimpleQueue[_Told] = SimpleQueue()
        self._returned: SimpleQueue[Any] = SimpleQueue()
        self._open = False
        threading.Thread(target=self._run, daemon=True).start()

    def expect(self, effect: str, arguments: Mapping[str, Json]) -> None:
        """RunStopped unless this is the call that the document says is next."""
        told = self._next()
        if told is None:
            return
        if not isinstance(told, _Step):
            raise _diverged(f"{effect} is about to be called, and nothing should be")
        if told.effect != effect or told.arguments.keys() != arguments.keys():
            raise _diverged(f"{effect} is about to be called, where {told.effect} should be")
        for name, value in arguments.items():
            if not same(told.arguments[name], value):
                raise _diverged(f"{name} of {effect} is not what it should be")

    def returned(self, value: Any) -> None:
        """Pass on what the call returned."""
        if not self._open:
            self._returned.put(ir_value(value))

    def complete(self) -> None:
        """The program is done: RunStopped unless the document is, and its guarantees hold of what happened."""
        told = self._next()
        if told is None:
            return
        if isinstance(told, _Step):
            raise _diverged(f"the program ended, where {told.effect} should be called")
        assert isinstance(told, Trace)
        for guarantee in self._document.guarantees:
            try:
                kept = holds(guarantee.contract, told)
            except UnspecifiedError:
                continue
            if not kept:
                raise RunStopped(
                    "guarantee.broken",
                    f"the run does not keep {guarantee.name}, which was proved",
                    _REMEDY,
                )

    def _next(self) -> _Told:
        if self._open:
            return None
        told = self._told.get()
        if isinstance(told, Exception):
            raise _diverged(f"the document can't be run: {told}")
        self._open = told is None
        return told

    def _run(self) -> None:
        def answer(
            _call: str, _indices: tuple[int, ...], effect: str, given: Mapping[str, Any]
        ) -> Any:
            self._told.put(_Step(effect, {name: written(value) for name, value in given.items()}))
            return self._returned.get()

        try:
            self._told.put(traces.run(self._document, {}, answer))
        except UnspecifiedError:
            self._told.put(None)
        except Exception as error:  # noqa: BLE001 -- whatever ends the document is reported: the program waits for it
            self._told.put(error)


class _Step:
    """A call that the document says is next."""

    def __init__(self, effect: str, arguments: Mapping[str, Json]) -> None:
        self.effect = effect
        self.arguments = arguments


_Told = _Step | Trace | Exception | None
"""What the document says: a call, its end, that it can't be run, or that it leaves open what happens."""

_REMEDY = "report this program: the prover and Python disagree about it; it must not run"


def _diverged(message: str) -> RunStopped:
    return RunStopped("run.diverged", f"the run is not the one that was proved: {message}", _REMEDY)


def ir_value(value: Any) -> Any:
    """A value of the program as documents know it."""
    if isinstance(value, Row):
        row: Any = type(value)
        columns = {name: getattr(value, name) for name in row.__lictor_columns__}
        return RowValue(row.__lictor_schema__, columns)
    if isinstance(value, list):
        return [ir_value(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
