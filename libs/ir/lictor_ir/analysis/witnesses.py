"""A model of a symbolic trace as a concrete one, held against the evaluator: only what it confirms is a witness.

Origins are made true by programs that read rows: where the model says that an argument comes from a column, the trace
begins with a call that returns such a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from lictor_ir.analysis.signature import Signature
from lictor_ir.analysis.trace_variables import (
    Origins,
    SignatureScope,
    SymbolicTrace,
    argument_name,
    call_name,
    event_field_name,
    event_name,
    update_name,
    update_parts,
)
from lictor_ir.contracts import Contract, field
from lictor_ir.document import Atom, Effect, Parameter, Performed, Update
from lictor_ir.errors import IrError, UnsupportedError
from lictor_ir.evaluation import Environment, Step, Trace, holds, run
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.provenance import argument_labels
from lictor_ir.records import record
from lictor_ir.solver.answers import Filled, Read, SolverModel
from lictor_ir.spelling.readable_values import value_text
from lictor_ir.terms import Const, Term, Var, apply, column, const, eq, ite, result, substitute, var
from lictor_ir.types import ANY, INT, STR, ListOf, RowOf, Type
from lictor_ir.validation.document import assume_valid
from lictor_ir.values import RowValue, Value

MAX_VALUE: Final = 60
"""Characters of a value that are told."""


def told(trace: Trace) -> tuple[str, ...]:
    """A trace for people, a line for each call."""
    return tuple(_told(step) for step in trace.steps)


def _short(value: Value) -> str:
    return value_text(value, MAX_VALUE)


def _told(step: Step) -> str:
    given = ", ".join(f"{name}={_short(each)}" for name, each in step.arguments.items())
    line = f"{step.effect}({given})"
    for name, fields in step.events:
        inside = ", ".join(f"{key}={_short(each)}" for key, each in fields.items())
        line += f" performs {name}({inside})"
    for fluent, key, value in step.updates:
        line += f" sets {fluent}[{_short(key)}] = {_short(value)}"
    for name, labels in step.atom.labels.items():
        columns = [label for label in labels if not label.startswith("input:")]
        if columns:
            line += f", {name} from {', '.join(columns)}"
    return line


def keeps(contracts: Sequence[Contract], trace: Trace) -> bool:
    """Whether all of them plainly hold of the trace."""
    try:
        return all(holds(contract, trace) for contract in contracts)
    except (IrError, ArithmeticError, TypeError):
        return False


def breaks(contract: Contract, trace: Trace) -> bool:
    """Whether it plainly does not hold of the trace."""
    try:
        return not holds(contract, trace)
    except (IrError, ArithmeticError, TypeError):
        return False


def empty_trace(signature: Signature) -> Trace:
    """The trace in which nothing happens."""
    return Trace(signature.document(), {}, (), {})


def shortened(trace: Trace, is_witness: Callable[[Trace], bool]) -> Trace:
    """The trace without calls that it does not need; one in which nothing happens is asked for before."""
    for atom in reversed(trace.document.atoms):
        if len(trace.document.atoms) == 1:
            break
        # Each try runs the whole trace anew; it has a few steps only.
        shorter = _without(trace, atom)
        if shorter is not None and is_witness(shorter):
            trace = shorter
    return trace


def repeated(trace: Trace, times: int, *, varied: bool) -> Trace | None:
    """The trace with its last call made so often; varied, each with texts and ints of its own."""
    *before, last = trace.document.atoms
    inputs = list(trace.document.inputs)
    values = dict(trace.inputs)
    atoms = list(before)
    effect = next(each for each in trace.document.effects if each.name == last.effect)
    for number in range(times):
        given: dict[Term, Term] = {}
        for each in trace.document.inputs if varied else ():
            if each.type in (INT, STR):
                name = f"{each.name}_again{number}"
                inputs.append(Parameter(name, each.type))
                values[name] = number if each.type == INT else str(number)
                given[var(each.name, each.type)] = var(name, each.type)
        call = _with(_Call(effect, last.arguments, last.events, last.updates), given)
        atoms.append(_atom(f"again{number}", call, [each.name for each in inputs]))
    plain = trace.returned[last.id, ()]

    def returned(
        call: str, at: tuple[int, ...], _effect: str, _arguments: Mapping[str, Value]
    ) -> Value:
        return trace.returned.get((call, at), plain)

    document = replace(trace.document, inputs=tuple(inputs), atoms=tuple(atoms))
    try:
        return run(document, values, returned)
    except (IrError, ArithmeticError, TypeError):
        return None


def _without(trace: Trace, atom: Atom) -> Trace | None:
    def returned(
        call: str, at: tuple[int, ...], _effect: str, _arguments: Mapping[str, Value]
    ) -> Value:
        return trace.returned[call, at]

    atoms = tuple(each for each in trace.document.atoms if each is not atom)
    try:
        return run(replace(trace.document, atoms=atoms), trace.inputs, returned)
    except (IrError, KeyError):
        return None  # others read its result


def trace_of(
    trace: SymbolicTrace,
    slots: int,
    settings: int,
    model: SolverModel,
    reading: Mapping[Type, Const] | None = None,
) -> Trace | None:
    """The trace that a model speaks of; None when no call sequence over the signature is like it.

    `reading`: what calls that return rows are given, by type.
    """
    try:
        making = _Making(trace.scope, trace.origins, model, reading or {})
        return making.trace(trace.steps, slots, settings)
    except (IrError, ArithmeticError, TypeError):
        return None


def plain_trace(
    scope: SignatureScope, effect: Effect, steps: int, values: Mapping[Type, Value]
) -> Trace | None:
    """The trace in which one call is made so often, with these values by type; None when there is none."""
    given = {each.name: values[each.type] for each in effect.parameters if each.type in values}
    reads = [
        Read(name, False, (), (), value)
        for step in range(steps)
        for name, value in (
            (call_name(step, 0), True),
            *((argument_name(step, 0, each), value) for each, value in given.items()),
        )
    ]
    alone = replace(scope, effects=(effect,), has_other=True)
    try:
        making = _Making(alone, Origins({}, {}), SolverModel(tuple(reads)), {})
        return making.trace(steps, 0, 0)
    except (IrError, ArithmeticError, TypeError):
        return None


@record()
class _Call:
    effect: Effect
    arguments: Mapping[str, Term]
    events: tuple[Performed, ...] = ()
    updates: tuple[Update, ...] = ()


def _atom(name: str, call: _Call, inputs: Sequence[str]) -> Atom:
    return Atom(
        name,
        call.effect.name,
        call.arguments,
        events=call.events,
        updates=call.updates,
        labels=argument_labels(call.arguments, inputs),
    )


def _with(call: _Call, given: Mapping[Term, Term]) -> _Call:
    """The call with variables replaced, in all that it does."""
    return _Call(
        call.effect,
        {name: substitute(term, given) for name, term in call.arguments.items()},
        tuple(
            Performed(each.event, {name: substitute(t, given) for name, t in each.fields.items()})
            for each in call.events
        ),
        tuple(
            Update(each.fluent, substitute(each.key, given), substitute(each.value, given))
            for each in call.updates
        ),
    )


class _Making:
    def __init__(
        self,
        scope: SignatureScope,
        origins: Origins,
        model: SolverModel,
        reading: Mapping[Type, Const],
    ) -> None:
        self._scope = scope
        self._signature = scope.signature
        self._origins = origins
        self._model = model
        self._reading = reading
        self._values = model.variables()
        self._inputs: dict[str, Parameter] = {}
        self._same: dict[str, str] = {}
        """Inputs that have the value of another."""
        self._readers: list[tuple[_Call, str, dict[str, str]]] = []
        """Calls that return a row, with its schema, and the input whose value each column has."""

    def trace(self, steps: int, slots: int, settings: int) -> Trace | None:
        calls = [
            call for step in range(steps) if (call := self._call(step, slots, settings)) is not None
        ]
        calls = self._with_origins(calls)
        inputs = list(self._inputs.values())
        atoms = [
            _atom(f"c{at + 1}", call, list(self._inputs))
            for at, call in enumerate([*(reader for reader, _, _ in self._readers), *calls])
        ]
        document = self._signature.document(inputs, atoms)
        if not self._readers:
            # Each call passes inputs of its own, of the types that it declares. Nor is a trace that breaks a rule
            # dangerous here: a witness only ever shows that nothing is implied.
            assume_valid(document)
        filled = Filled(document, self._model)
        for name, other in self._same.items():
            filled.inputs[name] = filled.inputs[other]
        rows = {f"c{at + 1}": self._row(at, filled.inputs) for at in range(len(self._readers))}

        def returned(
            call: str, at: tuple[int, ...], effect: str, arguments: Mapping[str, Value]
        ) -> Value:
            return rows[call] if call in rows else filled.result(call, at, effect, arguments)

        trace = run(document, filled.inputs, returned)
        return trace if self._meets_demands(trace) else None

    def _input(self, name: str, type_: Parameter) -> Var:
        self._inputs[name] = Parameter(name, type_.type)
        return var(name, type_.type)

    # -- calls -----------------------------------------------------------------------------------

    def _call(self, step: int, slots: int, settings: int) -> _Call | None:
        chosen: Effect | None = None
        number = -1
        for at, effect in enumerate(self._scope.effects):
            if self._values.get(call_name(step, at)) is True:
                chosen, number = effect, at
        if chosen is None:
            if self._values.get(call_name(step, None)) is not True:
                return None
            known = {effect.name for effect in self._scope.effects}
            chosen = next(each for each in self._signature.effects if each.name not in known)
            number = len(self._scope.effects)
        arguments: dict[str, Term] = {
            each.name: self._input(argument_name(step, number, each.name), each)
            for each in chosen.parameters
        }
        if self._signature.is_free:
            return _Call(
                chosen,
                arguments,
                tuple(self._performed(step, slots)),
                tuple(self._set(step, settings)),
            )
        return self._known(chosen, arguments)

    def _known(self, effect: Effect, arguments: Mapping[str, Term]) -> _Call:
        given: dict[Term, Term] = {
            field(each.name, each.type): arguments[each.name] for each in effect.parameters
        }
        does = self._signature.behaviour(effect.name)
        done = _with(_Call(effect, {}, does.events, does.updates), given)
        return _Call(effect, arguments, done.events, done.updates)

    def _performed(self, step: int, slots: int) -> Iterator[Performed]:
        for slot in range(slots):
            for at, event in enumerate(self._scope.events):
                if self._values.get(event_name(step, slot, at)) is True:
                    yield Performed(
                        event.name,
                        {
                            each.name: self._input(
                                event_field_name(step, slot, at, each.name), each
                            )
                            for each in event.fields
                        },
                    )

    def _set(self, step: int, settings: int) -> Iterator[Update]:
        for at, fluent in enumerate(self._scope.fluents):
            for slot in range(settings):
                if self._values.get(update_name(step, slot, at)) is True:
                    key, value = update_parts(step, slot, at)
                    yield Update(
                        fluent.name,
                        self._input(key, Parameter(key, fluent.key)),
                        self._input(value, Parameter(value, fluent.value)),
                    )

    def _meets_demands(self, trace: Trace) -> bool:
        for step in trace.steps:
            given = {f"e.{name}": each for name, each in step.arguments.items()}
            evaluation = Evaluation(Environment(given))
            demands = self._signature.behaviour(step.effect).demands
            if not all(evaluation.holds(demand) for demand in demands):
                return False
        return True

    # -- origins ---------------------------------------------------------------------------------

    def _with_origins(self, calls: Sequence[_Call]) -> list[_Call]:
        """The calls with arguments that come from where the model says."""
        passed: dict[Term, Term] = {}
        for arg, schema, name in self._flowing():
            if not isinstance(arg, Var) or arg.name not in self._inputs:
                continue
            reader = self._reader(schema, arg, name)
            term = column(self._read_row(reader, schema), name, arg.type)
            origin = ("from", arg, f"{schema}.{name}")
            if self._is(origin) or (origin not in self._origins.single and arg not in passed):
                passed[arg] = term
            else:
                # It flows into the value without being it: a condition reads it.
                same = self._input(f"{arg.name}_same{len(passed)}", Parameter("", arg.type))
                self._same[same.name] = arg.name
                passed[arg] = ite(eq(term, arg), passed.get(arg, arg), same)
        return [_with(call, passed) for call in calls]

    def _flowing(self) -> Iterator[tuple[Term, str, str]]:
        for (op, arg, spelled), variable in self._origins.single.items():
            truth = self._values.get(variable.name)
            if (op == "from" and truth is True) or (op == "not_from" and truth is False):
                schema, _, name = spelled.rpartition(".")
                opposite = ("from", arg, spelled)
                if op == "from" or not self._is(opposite):
                    yield arg, schema, name

    def _is(self, origin: tuple[str, Term, str]) -> bool:
        variable = self._origins.single.get(origin)
        return variable is not None and self._values.get(variable.name) is True

    def _reader(self, schema: str, arg: Var, name: str) -> int:
        """The call whose row the argument is read of: one that it shares with another argument, or a new one."""
        for number, (_, known, columns) in enumerate(self._readers):
            if known == schema and self._shares_row(arg, columns):
                columns.setdefault(name, arg.name)
                return number
        row, listed = RowOf(schema), ListOf(RowOf(schema))
        readable = (row, listed, ANY, ListOf(ANY))
        effect = next((each for each in self._signature.effects if each.result in readable), None)
        if effect is None:
            raise UnsupportedError(f"no call returns rows of {schema}")
        number = len(self._readers)
        arguments: dict[str, Term] = {
            each.name: self._reading[each.type]
            if each.type in self._reading
            else self._input(f"reader{number}_{each.name}", each)
            for each in effect.parameters
        }
        self._input(f"row{number}", Parameter("", row))
        self._readers.append((self._known(effect, arguments), schema, {name: arg.name}))
        return number

    def _shares_row(self, arg: Var, columns: Mapping[str, str]) -> bool:
        names = set(columns.values())
        return any(
            self._values.get(variable.name) is True
            for (one, other, _), variable in self._origins.pairs.items()
            if isinstance(one, Var)
            and isinstance(other, Var)
            and ((one is arg and other.name in names) or (other is arg and one.name in names))
        )

    def _read_row(self, reader: int, schema: str) -> Term:
        call = f"c{reader + 1}"
        declared = self._readers[reader][0].effect.result
        row, listed = RowOf(schema), ListOf(RowOf(schema))
        if declared in (row, ANY):
            return result(call, row)
        return apply("at", result(call, listed), const(0))

    def _row(self, reader: int, inputs: Mapping[str, Value]) -> Value:
        call, schema, columns = self._readers[reader]
        plain = inputs[f"row{reader}"]
        assert isinstance(plain, RowValue)
        values = {**plain.columns, **{name: inputs[given] for name, given in columns.items()}}
        row = RowValue(schema, values)
        return row if call.effect.result in (RowOf(schema), ANY) else [row]
