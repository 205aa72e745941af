"""Calls of trusted functions: each becomes an atom, with what it demands and what it promises."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Effect,
    ObligationKind,
    Parameter,
    Performed,
    Schema,
    Update,
)
from lictor_ir.provenance import argument_labels, holds_rows
from lictor_ir.terms import TRUE, Const, Term, Var, and_, const, not_, or_, result, substitute
from lictor_ir.types import ANY, BOOL, FLOAT, INT, NONE, ListOf, RowOf, Type, accepts
from lictor_prove.errors import ProveError
from lictor_prove.layer_model import LayerParameter, Predicate, TrustedFunction
from lictor_prove.python.interpreter.every_item import Clause
from lictor_prove.python.interpreter.returned_values import returned
from lictor_prove.python.machine.control_paths import RaisedError
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.program_shape import UnreadPromise
from lictor_prove.python.machine.raised_errors import catcher, raise_error, spans_of
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    Opaque,
    SchemaV,
    Sym,
    SymbolicValue,
    UnionV,
    described,
    is_none,
)
from lictor_prove.python.machine.unknown_values import unknown
from lictor_prove.python.operations.container_contents import term_of
from lictor_prove.python.operations.whole_floats import SMALL
from lictor_prove.python.refusals import MAX_ATOMS, Raises, refuse

ROW_VARIABLE = "*"
"""How layers write the rows whose class an argument gives."""

Condition = Callable[[Predicate, Mapping[str, SymbolicValue]], Term]


class PromiseReading(Protocol):
    """What can be relied on of a postcondition, and what can't."""

    @property
    def clauses(self) -> Sequence[Clause]: ...
    @property
    def unused(self) -> str: ...


Promise = Callable[[Predicate, Mapping[str, SymbolicValue]], PromiseReading]


class TrustedCalls:
    """Makes atoms out of calls."""

    def __init__(self, condition: Condition, promised: Promise, inputs: Sequence[str]) -> None:
        self._condition = condition
        self._promised = promised
        self._inputs = frozenset(inputs)
        self.used: dict[str, TrustedFunction] = {}
        self.schemas: dict[str, Schema] = {}
        self.unread: list[UnreadPromise] = []

    def call(
        self,
        machine: Machine,
        function: TrustedFunction,
        args: Sequence[SymbolicValue],
        keywords: Mapping[str, SymbolicValue],
    ) -> SymbolicValue:
        """One call: an atom, its obligations and assumptions; its value is the result."""
        bound = _bound(function, args, keywords)
        schemas = {
            p.name: _schema(function, p, bound[p.name])
            for p in function.parameters
            if p.is_schema and p.name in bound
        }
        declared = {p.name: p for p in function.parameters if not p.is_schema}
        terms = {
            name: _argument(machine, function, declared[name], value)
            for name, value in bound.items()
            if name in declared
        }
        type_ = _result_type(function, schemas)
        if type_ is None:
            # Nothing is known of such a result, not even that ignoring it is what the layer meant.
            refuse(
                "call.result",
                f"what {function.name} returns has no model: its annotation is missing or unknown",
                "Annotate it in the layer: -> None, a scalar, or a list, set or dict of scalars or rows.",
            )
        if machine.dead:
            return _value(None, type_, function)
        if len(machine.atoms) >= MAX_ATOMS:
            refuse(
                "limits.atoms",
                f"the program makes more than {MAX_ATOMS} trusted calls",
                "Unroll fewer iterations, or loop over a list that a trusted call returns.",
            )
        self.used[function.name] = function
        self.schemas.update((schema.name, schema) for schema in schemas.values())
        # Python passes an int where the atom has the float that equals it; the runner passes the float.
        declared_as: dict[str, SymbolicValue] = {
            name: value if isinstance(value, SchemaV) else Sym(terms[name])
            for name, value in bound.items()
        }
        whole = {
            name: _passed_ints(machine, declared[name], bound[name])
            for name in terms
            if declared[name].type == FLOAT
        }
        passed = {name: value for name, value in whole.items() if value is not None}
        readings = [declared_as] if not passed else [{**declared_as, **passed}, declared_as]
        if catcher(machine, None) is not None:
            self._may_fail(machine, function, terms, readings)
        call = self._made(machine, function, terms, readings)
        value = _value((call, machine), type_, function)
        self._promise(machine, function, call, [{**given, "result": value} for given in readings])
        return value

    def _may_fail(
        self,
        machine: Machine,
        function: TrustedFunction,
        terms: Mapping[str, Term],
        readings: Sequence[Mapping[str, SymbolicValue]],
    ) -> None:
        """The same call where it fails, and the program handles that; from then on, where it does not."""
        why = f"whether {function.name} fails"
        fails = unknown(machine, BOOL, why, terms.values()).term
        outer = machine.guard
        machine.guard = and_(outer, fails)
        call = self._made(machine, function, terms, readings, fails=True)
        machine.guard = outer
        raise_error(machine, RaisedError(None, (), (call,), spans_of(machine)), fails)

    def _made(
        self,
        machine: Machine,
        function: TrustedFunction,
        terms: Mapping[str, Term],
        readings: Sequence[Mapping[str, SymbolicValue]],
        *,
        fails: bool = False,
    ) -> str:
        call = f"c{len(machine.atoms) + 1}"
        for given in readings:
            self._demand(machine, function, call, given)
        machine.atoms.append(
            Atom(
                call,
                function.name,
                terms,
                machine.guard,
                machine.binders,
                performed(function, terms),
                updated(function, terms),
                argument_labels(terms, self._inputs),
                machine.hooks.span(machine.at) if machine.at is not None else None,
                fails,
            )
        )
        machine.via_of[call] = machine.via
        if function.result is not None and holds_rows(function.result):
            machine.returned_rows[call] = None
        return call

    def _demand(
        self,
        machine: Machine,
        function: TrustedFunction,
        call: str,
        given: Mapping[str, SymbolicValue],
    ) -> None:
        pending: list[tuple[Term, str]] = []
        for predicate in function.requires:
            try:
                formula = self._condition(predicate, _with_defaults(predicate, given))
            except ProveError as error:
                refuse(
                    "precondition.unreadable",
                    f"what {function.name} demands can't be decided for this call: {error}",
                    "Pass every argument that its precondition reads.",
                )
            pending.append((formula, predicate.text))
        for formula, text in pending:
            machine.require(formula, f"{function.name}: {text}", ObligationKind.PRECONDITION, call)

    def _promise(
        self,
        machine: Machine,
        function: TrustedFunction,
        call: str,
        readings: Sequence[Mapping[str, SymbolicValue]],
    ) -> None:
        """What is promised however the arguments are passed."""
        value = readings[0]["result"]
        if isinstance(value, Opaque) or is_none(value):
            return
        for predicate in function.ensures:
            if not isinstance(value, Sym):
                why = "promises about optional results, tuples, dicts and sets are not relied on"
                self._unread(machine, function, call, predicate, why)
                continue
            names = parameter_names(predicate)
            taken = [
                {names[0]: given["result"]} if len(names) == 1 else given for given in readings
            ]
            try:
                found = [
                    self._promised(predicate, _with_defaults(predicate, given)) for given in taken
                ]
                clauses = however_read([each.clauses for each in found])
                why = next((each.unused for each in found if each.unused), "")
            except ProveError as error:
                clauses, why = (), str(error)
            if why:
                # A promise that can't be read is one that nobody relies on; nor does a counterexample keep it.
                self._unread(machine, function, call, predicate, why)
            machine.assumptions += assumed(
                call,
                clauses,
                machine.guard,
                machine.binders,
                predicate.text,
                fresh=machine.fresh_index,
            )

    def _unread(
        self, machine: Machine, function: TrustedFunction, call: str, predicate: Predicate, why: str
    ) -> None:
        span = machine.hooks.span(machine.at) if machine.at is not None else None
        at = (None, None) if span is None else (span.line, span.column)
        self.unread.append(UnreadPromise(call, function.name, predicate.text, why, *at))


def however_read(readings: Sequence[Sequence[Clause]]) -> Sequence[Clause]:
    """The clauses that hold whichever reading is meant; ProveError when readings differ in more than formulas."""
    first = readings[0]
    if any([each.binders for each in one] != [each.binders for each in first] for one in readings):
        raise ProveError("it says other things of a float than of the int that equals it")
    return [
        Clause(same[0].binders, or_(*(each.formula for each in same)))
        for same in zip(*readings, strict=True)
    ]


def assumed(
    call: str,
    clauses: Sequence[Clause],
    guard: Term,
    binders: tuple[Binder, ...],
    text: str,
    *,
    fresh: Callable[[], Var],
) -> Iterator[Assumption]:
    """What a call promises, as a document says it; `fresh` gives indices that nothing else in it has."""
    for clause in clauses:
        if clause.formula is TRUE:
            continue
        names: dict[Term, Term] = {}
        inner: list[Binder] = []
        for each in clause.binders:
            index = fresh()
            inner.append(Binder(index, substitute(each.over, names)))
            names[each.index] = index
        formula = substitute(clause.formula, names)
        yield Assumption(call, formula, guard, (*binders, *inner), text)


def parameter_names(predicate: Predicate) -> list[str]:
    """What a condition is given; one name alone is the result."""
    taken = predicate.node.args
    return [argument.arg for argument in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]


def _with_defaults(
    predicate: Predicate, given: Mapping[str, SymbolicValue]
) -> Mapping[str, SymbolicValue]:
    """What a predicate is given; its own literal defaults stand for arguments that the call leaves out."""
    from lictor_prove.python.machine.symbolic_values import known

    arguments = predicate.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(
            positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True
        ),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    told = dict(given)
    for argument, default in pairs:
        if argument.arg in told or not isinstance(default, ast.Constant):
            continue
        if default.value is None or isinstance(default.value, bool | int | float | str):
            told[argument.arg] = known(default.value)
    return told


# -- arguments -------------------------------------------------------------------------------------


def _bound(
    function: TrustedFunction, args: Sequence[SymbolicValue], keywords: Mapping[str, SymbolicValue]
) -> dict[str, SymbolicValue]:
    positional = [p for p in function.parameters if not p.keyword_only]
    if len(args) > len(positional):
        raise Raises(
            "TypeError",
            f"{function.name} takes {len(positional)} positional arguments, not {len(args)}",
        )
    bound: dict[str, SymbolicValue] = {
        p.name: value for p, value in zip(positional, args, strict=False)
    }
    known = {p.name: p for p in function.parameters}
    for name, value in keywords.items():
        if name not in known or known[name].positional_only:
            raise Raises("TypeError", f"{function.name} has no parameter {name!r} to pass by name")
        if name in bound:
            raise Raises("TypeError", f"{function.name} is given {name!r} twice")
        bound[name] = value
    missing = [p.name for p in function.parameters if p.name not in bound and not p.has_default]
    if missing:
        raise Raises("TypeError", f"{function.name} is not given {', '.join(missing)}")
    return {p.name: bound[p.name] for p in function.parameters if p.name in bound}


def _schema(function: TrustedFunction, parameter: LayerParameter, value: SymbolicValue) -> Schema:
    if isinstance(value, SchemaV):
        return value.schema
    refuse(
        "argument.schema",
        f"{parameter.name} of {function.name} takes a row class, not {described(value)}",
        "Pass the class itself: UserRow.",
    )


def _argument(
    machine: Machine, function: TrustedFunction, parameter: LayerParameter, value: SymbolicValue
) -> Term:
    """The argument as a term of the declared type; contracts rest on it."""
    fitting: list[tuple[Term, Term]] = []
    wrong: list[Term] = []
    seen: Type | None = None
    cases = machine.cases(value)
    for guard, one in cases:
        term = _fitted(term_of(machine, one), parameter.type)
        if term is None:
            seen = term_of(machine, one).type
            wrong.append(guard)
        else:
            fitting.append((guard, term))
    if not fitting:
        hint = " Write float(x), or 5.0." if (parameter.type, seen) == (FLOAT, INT) else ""
        refuse(
            "argument.type",
            f"{parameter.name} of {function.name} is declared {parameter.type}, and is given {seen}",
            f"Pass a value of that type.{hint}",
        )
    if wrong:
        machine.require(
            not_(or_(*wrong)),
            f"{parameter.name} of {function.name} is given a value of type {parameter.type}",
        )
    if len(fitting) == 1 or not isinstance(value, UnionV):
        return fitting[0][1]
    from lictor_prove.python.operations.container_contents import chosen

    return chosen(fitting)


def _passed_ints(
    machine: Machine, parameter: LayerParameter, value: SymbolicValue
) -> SymbolicValue | None:
    """What Python passes, where an int stands for the float that equals it; None where there is no such int."""
    options = [
        (guard, one)
        for guard, one in machine.cases(value)
        if isinstance(one, Sym) and _fitted(one.term, parameter.type) is not None
    ]
    if all(one.type != INT for _, one in options):
        return None
    return options[0][1] if len(options) == 1 else UnionV(tuple(options))


def _fitted(term: Term, declared: Type) -> Term | None:
    if accepts(declared, term.type):
        return term
    if declared == FLOAT and isinstance(term, Const) and term.type == INT:
        held = term.value
        if isinstance(held, int) and abs(held) <= SMALL:
            return const(float(held))
    return None


def _result_type(function: TrustedFunction, schemas: Mapping[str, Schema]) -> Type | None:
    if function.result is None:
        return None
    given = schemas.get(function.result_of_schema or "")

    def told(type_: Type) -> Type | None:
        match type_:
            case ListOf(item):
                inner = told(item)
                return None if inner is None else ListOf(inner)
            case RowOf() if function.result_of_schema is not None:
                return RowOf(given.name) if given is not None else None
            case RowOf(schema) if schema == ROW_VARIABLE:
                return None
            case _:
                return type_

    return told(function.result)


def declared_result(type_: Type | None) -> Type:
    """The result of a function in the document's declarations; what an argument decides is `any`."""
    match type_:
        case None:
            return ANY
        case ListOf(item):
            return ListOf(declared_result(item))
        case RowOf(schema) if schema == ROW_VARIABLE:
            return ANY
        case _:
            return type_


def declared_effect(function: TrustedFunction) -> Effect:
    """A trusted function as a document declares it."""
    return Effect(
        function.name,
        tuple(Parameter(p.name, p.type) for p in function.parameters if not p.is_schema),
        declared_result(function.result),
        function.markers,
        function.module,
    )


def _value(
    made: tuple[str, Machine] | None, type_: Type | None, function: TrustedFunction
) -> SymbolicValue:
    if type_ == NONE:
        return NONE_VALUE
    if type_ is None or made is None:
        return Opaque(f"the result of {function.name}")
    call, machine = made
    return returned(machine, result(call, type_, [binder.index for binder in machine.binders]))


# -- events and fluents ----------------------------------------------------------------------------


def performed(function: TrustedFunction, terms: Mapping[str, Term]) -> tuple[Performed, ...]:
    """The events that a call with these arguments performs."""
    return tuple(
        Performed(
            use.event,
            {field: _passed(function, name, terms) for field, name in use.fields.items()},
        )
        for use in function.events
    )


def updated(function: TrustedFunction, terms: Mapping[str, Term]) -> tuple[Update, ...]:
    """What a call with these arguments sets."""

    def told(value: str | bool | int, *, is_parameter: bool) -> Term:
        return _passed(function, str(value), terms) if is_parameter else const(value)

    return tuple(
        Update(
            use.fluent,
            told(use.key, is_parameter=use.key_is_parameter),
            told(use.value, is_parameter=use.value_is_parameter),
        )
        for use in function.updates
    )


def _passed(function: TrustedFunction, name: str, terms: Mapping[str, Term]) -> Term:
    if name not in terms:
        refuse(
            "argument.omitted",
            f"what {function.name} does depends on {name}, which this call leaves out",
            f"Pass {name}.",
        )
    return terms[name]
