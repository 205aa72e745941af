"""Runs a program in commands: the trusted calls that its document says, with the arguments that it says, in its order.

Pure but for `call`, which is the trusted boundary and is given by the caller. Terms are evaluated by `lictor_ir`, the
meaning that proofs are held against, and what the document obliges is tested before it matters: a program that was not
proved stops where it would go wrong. Whether a program may run at all is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from lictor_ir.document import Span
from lictor_ir.errors import IrError, UnspecifiedError
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.terms import Term
from lictor_layer import Row
from lictor_prove.commands.layer_values import BoundaryError, given, taken
from lictor_prove.commands.program import (
    Assert,
    Block,
    CallCommand,
    Command,
    Commands,
    ForCount,
    ForEach,
    Let,
    Stop,
    When,
    WrittenTerm,
    result_type,
)
from lictor_prove.errors import ProveError

MAX_STEPS: Final = 1_000_000
"""Commands and rounds of one run."""

TrustedCall = Callable[[str, Mapping[str, Any]], Any]
"""Calls a trusted function by its name in the layer, with arguments by name, in the order of its parameters. Arguments
and results are the layer's own values: rows are instances of its row classes. Arguments are copies."""


class ExecutionError(ProveError):
    """The run can't go on; no trusted call was made at that command."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message if span is None else f"line {span.line}: {message}")
        self.message = message
        self.span = span


@dataclass(frozen=True, slots=True)
class Executed:
    """A run that came to its end."""

    calls: int
    steps: int
    stopped: Span | None
    """The `stop` that ended it; None when it ended with the last command."""


def execute(
    commands: Commands,
    inputs: Mapping[str, Any],
    call: TrustedCall,
    *,
    rows: Mapping[str, type[Row]] | None = None,
    max_steps: int = MAX_STEPS,
) -> Executed:
    """Run the program with these inputs. What `call` raises ends the run and is raised as it is.

    `rows` are the row classes of the layer by the names that documents give them. ExecutionError when an input or a
    result is not of its type, an operation has no value, an assertion fails, or there are too many steps.
    """
    declared = {each.name: each.type for each in commands.inputs}
    if set(inputs) != set(declared):
        asked = ", ".join(f"{name}: {type_}" for name, type_ in declared.items()) or "none"
        raise ExecutionError(f"the program takes the inputs {asked}; it is given {sorted(inputs)}")
    run = _Run(call, dict(rows or {}), max_steps)
    names: dict[str, Any] = {}
    for name, type_ in declared.items():
        try:
            names[name] = taken(inputs[name], type_, run.rows, f"the input {name}")
        except BoundaryError as error:
            raise ExecutionError(str(error)) from None
    try:
        run.block(commands.body, names)
    except _Stopped as stopped:
        return Executed(run.calls, run.steps, stopped.span)
    return Executed(run.calls, run.steps, None)


class _Stopped(Exception):
    """The program said `stop`."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        self.span = span


class _Run:
    def __init__(self, call: TrustedCall, rows: Mapping[str, type[Row]], max_steps: int) -> None:
        self._call = call
        self._most = max_steps
        self.rows = rows
        self.calls = 0
        self.steps = 0

    def block(self, block: Block, names: Mapping[str, Any]) -> None:
        """Run commands in order; blocks are not deep, so this may recurse."""
        inside = dict(names)
        for command in block:
            self._step(command.span)
            self._command(command, inside)

    def _command(self, command: Command, names: dict[str, Any]) -> None:
        match command:
            case Let():
                names[command.name] = self._value(command.value, names, command.span)
            case CallCommand():
                self._trusted(command, names)
            case When():
                holds = self._value(command.condition, names, command.span)
                self.block(command.then if holds else command.otherwise, names)
            case ForEach():
                items = self._value(command.over, names, command.span)
                self._rounds(items, command.name, command.body, names, command.span)
            case ForCount():
                count = self._value(command.count, names, command.span)
                self._rounds(range(count), command.name, command.body, names, command.span)
            case Assert():
                if not self._value(command.condition, names, command.span):
                    _fail("the assertion does not hold", command.span)
            case Stop():
                raise _Stopped(command.span)

    def _rounds(
        self, items: Sequence[Any], name: str, body: Block, names: Mapping[str, Any], span: Span
    ) -> None:
        for item in items:
            self._step(span)
            self.block(body, {**names, name: item})

    def _trusted(self, command: CallCommand, names: dict[str, Any]) -> None:
        function, span = command.function, command.span
        values = {
            name: self._value(written, names, span) for name, written in command.arguments.items()
        }
        try:
            arguments = {
                parameter.name: given(values[parameter.name], self.rows)
                for parameter in function.parameters
                if parameter.name in values
            }
        except BoundaryError as error:
            _fail(str(error), span)
        self.calls += 1
        returned = self._call(function.name, arguments)
        try:
            what = f"what {function.name} returned"
            result = taken(returned, result_type(function), self.rows, what)
        except BoundaryError as error:
            _fail(str(error), span)
        if command.name is not None:
            names[command.name] = result

    def _value(self, written: WrittenTerm, names: Mapping[str, Any], span: Span) -> Any:
        evaluation = Evaluation(Environment(names))

        def value(term: Term) -> Any:
            try:
                return evaluation.value(term)
            except UnspecifiedError as error:
                _fail(f"a term has no value: {error}", span)
            except IrError as error:
                _fail(str(error), span)

        for demand in written.demands:
            if value(demand.when) and not value(demand.holds):
                _fail(f"it does not hold that {demand.text}", span)
        return value(written.term)

    def _step(self, span: Span) -> None:
        self.steps += 1
        if self.steps > self._most:
            _fail(f"the run takes more than {self._most} steps", span)


def _fail(message: str, span: Span) -> NoReturn:
    raise ExecutionError(message, span) from None
