"""Lambdas of the layer as terms: the same expressions as in programs, over the parameters of a lambda.

Names in a lambda mean what they mean in the layer: captured values are constants, plain helper functions are executed
in place, row columns speak about origin. There is no program here, so nothing of one can change what a predicate says.
"""

from __future__ import annotations

import ast
import builtins as python
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import decode_source
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, cast
from weakref import WeakSet

from lictor_ir.document import Schema, Span
from lictor_ir.errors import IrError
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_columns
from lictor_ir.terms import App, Term, and_, apply, ite, not_, or_, postorder, variables
from lictor_ir.types import RowOf
from lictor_prove.errors import ProveError
from lictor_prove.layer_model import Predicate, TrustedFunction
from lictor_prove.layer_names import FunctionNames
from lictor_prove.python import attributes
from lictor_prove.python.interpreter import calls
from lictor_prove.python.interpreter.every_item import Clause, EveryItem
from lictor_prove.python.interpreter.hooks import InterpreterHooks
from lictor_prove.python.interpreter.name_lookup import row_column
from lictor_prove.python.machine.control_paths import Frame
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    UNBOUND,
    BuiltinV,
    ColumnV,
    ForeignV,
    FunctionV,
    PatternV,
    RecordV,
    Sym,
    SymbolicValue,
    TupleV,
    alternatives,
    described,
)
from lictor_prove.python.operations.builtin_functions import BUILTINS
from lictor_prove.python.operations.comparisons import truth
from lictor_prove.python.operations.container_contents import lift, term_of
from lictor_prove.python.operations.whole_floats import check_rounding
from lictor_prove.python.refusals import Raises, SubsetRefusal, refuse
from lictor_prove.python.syntax.scopes import local_names, parameters
from lictor_prove.python.syntax.subset import check_subset

ORIGIN_ATTRIBUTE: Final = "__lictor_origin__"
_OURS: Final = ("lictor_layer.", "lictor_prove.compat.")
"""Modules whose functions predicates may call, though no layer holds them: they change with the engine."""
_STANDARD: Final[dict[int, str]] = {
    id(function): f"{module.__name__}.{function.__name__}"
    for module, functions in (
        (re, (re.match, re.fullmatch, re.search)),
        (math, (math.isnan, math.isinf, math.isfinite, math.fabs, math.floor, math.ceil)),
    )
    for function in functions
}


_ORIGIN_IN_CONDITION: Final = "a pre- or postcondition can't speak about origin"


@dataclass(frozen=True, slots=True)
class Fields:
    """The effect that a contract's lambda speaks about: its fields."""

    fields: Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Promised:
    """What can be relied on of a postcondition."""

    clauses: tuple[Clause, ...]
    unused: str
    """What of it can't be relied on, for people; empty when all of it can."""


def predicate_term(predicate: Predicate, bind: Mapping[str, Term | Fields]) -> Term:
    """What the lambda says, as a term; ProveError when it is outside the language, or may raise."""
    values: dict[str, SymbolicValue] = {
        name: RecordV(given.fields) if isinstance(given, Fields) else Sym(given)
        for name, given in bind.items()
    }

    def read(machine: Machine) -> Term:
        value = machine.evaluate(predicate.node.body)
        term = term_of(machine, value)
        check_rounding(term)
        if machine.obligations:
            raise ProveError(
                f"{predicate.place}: this predicate may raise ({machine.obligations[0].text}); "
                "test for it in the predicate"
            )
        return positive(predicate, term)

    return _read(predicate, values, read)


def condition(predicate: Predicate, given: Mapping[str, SymbolicValue]) -> Term:
    """What a precondition demands: that it does not raise, and gives something true."""
    return _read(
        predicate,
        given,
        lambda machine: _condition(machine, predicate),
        schemas=predicate.schemas,
    )


def promised(predicate: Predicate, given: Mapping[str, SymbolicValue]) -> Promised:
    """What a postcondition promises: the same, and of every item of a list what `all(… for …)` says."""
    every = EveryItem()
    formula = _read(
        predicate,
        given,
        lambda machine: _condition(machine, predicate),
        every,
        predicate.schemas,
    )
    if any(map(_speaks_of_origin, every.terms())):
        raise ProveError(f"{predicate.place}: {_ORIGIN_IN_CONDITION}")
    return Promised(tuple(every.clauses(formula)), "; ".join(dict.fromkeys(every.unused)))


def _condition(machine: Machine, predicate: Predicate) -> Term:
    holds = truth(machine, machine.evaluate(predicate.node.body))
    looped = [each for each in machine.obligations if each.binders]
    if looped:
        # It would have to hold of every item, and a condition has no words for that.
        raise ProveError(
            f"{predicate.place}: this predicate may raise for an item of a list ({looped[0].text})"
        )
    safe = [or_(not_(each.guard), each.formula) for each in machine.obligations]
    formula = and_(*safe, holds)
    if _speaks_of_origin(formula):
        raise ProveError(f"{predicate.place}: {_ORIGIN_IN_CONDITION}")
    return formula


def _read(
    predicate: Predicate,
    given: Mapping[str, SymbolicValue],
    read: Callable[[Machine], Term],
    every: EveryItem | None = None,
    schemas: Mapping[str, Schema] | None = None,
) -> Term:
    hooks = _LayerHooks(predicate, every, schemas or {})
    machine = Machine(hooks)
    # What is given may stand in loops of a program: their indices must not be taken for those made here.
    terms = [
        term
        for value in given.values()
        for guard, one in alternatives(value)
        for term in (guard, *([one.term] if isinstance(one, Sym) else ()))
    ]
    machine.taken = {each.name for each in variables(*terms)}
    try:
        _check_once(predicate.node)
        # Names that the lambda binds by `:=` are its own, as its parameters are: no global of that name is meant.
        machine.frame = Frame(0, None, frozenset(given) | local_names(predicate.node))
        machine.frames[0] = machine.frame
        for name, value in given.items():
            machine.store.written[(0, name)] = value
        hooks.missing.update(
            each.arg for each in parameters(predicate.node) if each.arg not in given
        )
        return read(machine)
    except SubsetRefusal as refusal:
        raise ProveError(f"{predicate.place}: {refusal.message}. {refusal.remedy}") from None
    except Raises as problem:
        raise ProveError(f"{predicate.place}: {problem.error}: {problem.message}") from None
    except IrError as error:
        raise ProveError(f"{predicate.place}: {error}") from None
    except RecursionError:
        raise ProveError(f"{predicate.place}: the predicate is nested too deeply") from None


# -- origin ----------------------------------------------------------------------------------------


def _speaks_of_origin(term: Term) -> bool:
    return any(isinstance(part, App) and part.op in ORIGIN_OPERATORS for part in postorder(term))


def positive(predicate: Predicate, term: Term, *, negated: bool = False) -> Term:
    """The term with negations of origin said as what they mean: not from a column is that nothing of it flows in."""
    if not _speaks_of_origin(term):
        return not_(term) if negated else term
    assert isinstance(term, App)

    def inner(part: Term) -> Term:
        return positive(predicate, part, negated=negated)

    match term.op:
        case "not":
            return positive(predicate, term.args[0], negated=not negated)
        case "and" | "or":
            parts = [inner(part) for part in term.args]
            return or_(*parts) if (term.op == "and") == negated else and_(*parts)
        case "ite" if not _speaks_of_origin(term.args[0]):
            return ite(term.args[0], inner(term.args[1]), inner(term.args[2]))
        case "from" if negated:
            ((schema, name),) = origin_columns(term.param)
            # A row of a class below is one of the class, too: its column is the same column.
            schemas = (schema, *predicate.kin.get((schema, name), ()))
            free = [apply("not_from", *term.args, param=f"{each}.{name}") for each in schemas]
            return and_(*free)
        case "from":
            return term
        case "same_row" if not negated:
            return term
        case _:
            raise ProveError(
                f"{predicate.place}: origin (`==` with a column) may be combined with and, or and not, "
                "and not computed with"
            )


# -- names of the layer ----------------------------------------------------------------------------


class _LayerHooks(InterpreterHooks):
    """What names, attributes and calls mean in a lambda of the layer."""

    def __init__(
        self, predicate: Predicate, every: EveryItem | None, schemas: Mapping[str, Schema]
    ) -> None:
        self._every = every
        self._schemas = schemas
        self._texts = predicate.texts
        self._spaces: dict[int, Mapping[str, object]] = {0: predicate.names}
        """What free names mean, by the outermost frame: a function keeps its names wherever it is passed."""
        self._names = predicate.names if isinstance(predicate.names, FunctionNames) else None
        self.missing: set[str] = set()

    def call_trusted(
        self,
        machine: Machine,
        function: TrustedFunction,
        args: Sequence[SymbolicValue],
        keywords: Mapping[str, SymbolicValue],
    ) -> SymbolicValue:
        del machine, args, keywords
        refuse("predicate.effect", f"{function.name} has effects", "Predicates only read.")

    def span(self, node: ast.AST) -> Span | None:
        del node
        return None

    def of_every_item(
        self, machine: Machine, node: ast.GeneratorExp, first: SymbolicValue, *, stop: bool
    ) -> Term | None:
        return None if self._every is None else self._every.read(machine, node, first, stop=stop)

    def lookup(self, machine: Machine, name: str) -> SymbolicValue:
        frame = machine.frame
        while name not in frame.names and frame.above is not None:
            frame = frame.above
        if name in frame.names:
            held = machine.held(frame.id, name)
            if held is UNBOUND and frame.id == 0 and name in self.missing:
                refuse(
                    "predicate.omitted",
                    f"the predicate reads {name}, which the call leaves to its default",
                    f"Pass {name}",
                )
            return held
        space = self._spaces[frame.id]
        if name in space:
            if isinstance(space, FunctionNames):
                _check_constant(name, space.why_changing(name))
            return self._meaning(machine, space[name])
        if name in BUILTINS and not isinstance(space, FunctionNames):
            return BuiltinV(name)
        refuse("predicate.name", f"the predicate reads {name}, which is not known", "Define it")

    def _meaning(self, machine: Machine, held: object) -> SymbolicValue:
        if getattr(held, "__lictor_column__", False) is True and not isinstance(held, type):
            return column_of(held)
        # A function that was put among the builtins is what its text says.
        name = None if isinstance(held, FunctionType) else getattr(held, "__name__", None)
        if isinstance(name, str) and name in BUILTINS and getattr(python, name, None) is held:
            return BuiltinV(name)
        if id(held) in _STANDARD:
            return BuiltinV(_STANDARD[id(held)])
        if isinstance(held, re.Pattern):
            pattern = cast(re.Pattern[Any], held)
            if pattern.flags == re.UNICODE.value and type(pattern.pattern) is str:
                return PatternV(pattern.pattern)
        if held is None or isinstance(
            held, bool | int | float | str | list | tuple | set | frozenset | dict
        ):
            # They outlive the call that the predicate speaks of: one that changed them would say something else of the
            # next call.
            before = machine.fresh_id()
            value = lift(machine, cast(Any, held))
            machine.frozen.update(range(before, machine.fresh_id()))
            return value
        return ForeignV(held)

    def attribute(self, machine: Machine, owner: SymbolicValue, name: str) -> SymbolicValue:
        match owner:
            case RecordV(fields):
                if name in fields:
                    return Sym(fields[name])
                refuse(
                    "predicate.field",
                    f"there is no field {name!r} that every effect of the relation has; "
                    f"there are {', '.join(fields) or 'none'}",
                    "Read one of these",
                )
            case ForeignV(held) if isinstance(held, ModuleType) or hasattr(
                held, "__lictor_columns__"
            ):
                # What a module's own `__getattr__` gives may be another thing each time.
                if not (
                    name in vars(held) if isinstance(held, ModuleType) else hasattr(held, name)
                ):
                    refuse("predicate.name", f"{name} is not there", "Define it")
                found = getattr(held, name)
                if not isinstance(held, ModuleType):
                    if getattr(found, "__lictor_column__", False) is not True:
                        # Whoever has the class can assign it.
                        refuse("predicate.name", f"{name} is no column", "Read columns alone")
                elif self._names is not None:
                    _check_constant(name, self._names.why_member_changing(held, name))
                return self._meaning(machine, found)
            case ForeignV() | ColumnV():
                refuse(
                    "predicate.attribute",
                    f"the attribute {name!r} of {described(owner)} is outside the language",
                    "Use fields, string methods and operators",
                )
            case Sym(term) if isinstance(owner.type, RowOf) and owner.type.schema in self._schemas:
                return row_column(term, self._schemas[owner.type.schema], name)
            case _:
                return attributes.attribute(machine, owner, name)

    def call_foreign(
        self,
        machine: Machine,
        function: ForeignV,
        args: Sequence[SymbolicValue],
        keywords: Sequence[tuple[str, SymbolicValue]],
    ) -> SymbolicValue:
        held = function.object
        origin = getattr(held, ORIGIN_ATTRIBUTE, None)
        if isinstance(origin, str):
            return Sym(_origin(machine, origin, args))
        if not isinstance(held, FunctionType):
            refuse(
                "predicate.call",
                f"{getattr(held, '__name__', type(held).__name__)} can't be called in a predicate",
                "Call plain functions of the layer, or builtins",
            )
        node = _definition(held, self._texts)
        names = (
            FunctionNames(held, None, lasts=True) if self._names is None else self._names.of(held)
        )
        defaults: dict[str, SymbolicValue] = {}
        for name, value in _defaults(held, node).items():
            _check_constant(name, names.why_default_changing(name, value))
            defaults[name] = self._meaning(machine, value)
        around = Frame(machine.fresh_id(), None, frozenset())
        machine.frames[around.id] = around
        self._spaces[around.id] = names
        return calls.inline(machine, FunctionV(node, around.id, defaults), args, keywords)


def _check_constant(name: str, why: str | None) -> None:
    if why is not None:
        refuse("predicate.changing", f"{name} is no constant: {why}", "Read what never changes")


def _defaults(function: FunctionType, node: ast.FunctionDef) -> Mapping[str, object]:
    """What a call uses; a signature shows those of the function that this one says to wrap."""
    positional = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    held = function.__defaults__ or ()
    found: dict[str, object] = dict(
        zip(positional[len(positional) - len(held) :], held, strict=True)
    )
    return {**found, **(function.__kwdefaults__ or {})}


def _definition(function: FunctionType, texts: Mapping[str, str]) -> ast.FunctionDef:
    """The source of a plain function: of the layer, from the text that was hashed, or of Lictor itself."""
    code = function.__code__
    text = texts.get(code.co_filename)
    if text is None and str(function.__globals__.get("__name__")).startswith(_OURS):
        text = _text_of_ours(code.co_filename)
    if text is None:
        refuse(
            "predicate.source",
            f"{code.co_name} is defined outside the layer, in what its hash does not cover",
            "Define it in the layer",
        )
    nodes = _definitions(text).get((code.co_name, code.co_firstlineno), ())
    if len(nodes) != 1 or nodes[0].decorator_list:
        refuse("predicate.source", f"{code.co_name} is no plain function", "Use a plain `def`")
    _check_once(nodes[0])
    return nodes[0]


_CHECKED: Final[WeakSet[ast.AST]] = WeakSet()
"""Syntax of layers that is in the subset: the same lambdas and helpers are read for every program."""


def _check_once(node: ast.AST) -> None:
    if node not in _CHECKED:
        check_subset(node)
        _CHECKED.add(node)


@lru_cache(maxsize=64)
def _text_of_ours(path: str) -> str:
    return decode_source(Path(path).read_bytes())


@lru_cache(maxsize=256)
def _definitions(text: str) -> Mapping[tuple[str, int], Sequence[ast.FunctionDef]]:
    """The functions of a module, by name and line."""
    found: dict[tuple[str, int], list[ast.FunctionDef]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            found.setdefault((node.name, node.lineno), []).append(node)
    return found


def column_of(held: object) -> ColumnV:
    """A column of a row class; two classes may share a name, so the layer says what the schema is called."""
    row = getattr(held, "row", None)
    schema = getattr(row, "__lictor_schema__", None) or getattr(held, "schema", "")
    return ColumnV(str(schema), str(getattr(held, "column", "")))


def _origin(machine: Machine, op: str, args: Sequence[SymbolicValue]) -> Term:
    pairs: list[tuple[SymbolicValue, SymbolicValue]] = []
    if op == "from" and len(args) == 2:
        pairs.append((args[0], args[1]))
    elif op == "same_row":
        for arg in args:
            if isinstance(arg, TupleV) and len(arg.items) == 2:
                pairs.append((arg.items[0], arg.items[1]))
    columns = [column for _, column in pairs if isinstance(column, ColumnV)]
    if not pairs or len(columns) != len(pairs) or (op == "same_row" and len(pairs) != len(args)):
        refuse(
            "predicate.origin",
            "comes_from takes a field and a column; same_row takes pairs of them",
            "Write comes_from(e.addr, UserRow.email)",
        )
    terms = [term_of(machine, value) for value, _ in pairs]
    return apply(op, *terms, param=",".join(f"{c.schema}.{c.column}" for c in columns))
