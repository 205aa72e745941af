"""Takes effects back: calls the undo that each one's layer declares for it."""

from __future__ import annotations

import inspect
from typing import Protocol

from lictor_layer.call_context import Call, calling
from lictor_layer.compensation import RESULT
from lictor_layer.declarations import declaration
from lictor_prove.layers.load import LivingLayer
from lictor_prove.written_values import ValueReader
from lictor_run.child_orders import UndoOrder, UndoStep
from lictor_schema.core.ids import idempotency_key


class UndoTeller(Protocol):
    """Where undoing is written down."""

    def undo_started(self, call: int) -> None:
        """Returns when it is durable; only then may the undo be called."""
        ...

    def undo_done(self, call: int) -> None: ...

    def undo_failed(self, call: int, code: str, message: str) -> None: ...


def undo_all(order: UndoOrder, living: LivingLayer, teller: UndoTeller) -> None:
    """Every step; one that fails is reported, and does not keep the others from being tried."""
    reader = ValueReader(living.rows)
    for step in order.steps:
        teller.undo_started(step.call)
        try:
            _undo(order.run_id, step, living, reader)
        except BaseException as error:  # noqa: BLE001 -- trusted code may raise anything
            teller.undo_failed(step.call, "undo.raised", f"{type(error).__name__}: {error}")
        else:
            teller.undo_done(step.call)


def _undo(run_id: str, step: UndoStep, living: LivingLayer, reader: ValueReader) -> None:
    function = living.function(step.effect)
    declared = declaration(function)
    if declared is None or declared.compensation is None or declared.compensation.undo is None:
        raise LookupError(f"the layer does not say how {step.effect} is undone")
    given = {name: reader.read(value) for name, value in step.arguments.items()}
    left_out = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in given
    }
    call = Call(
        run_id, step.effect, step.call, idempotency_key(run_id, step.call, undo=True), is_undo=True
    )
    with calling(call):
        declared.compensation.undo(**left_out, **given, **{RESULT: reader.read(step.result)})
