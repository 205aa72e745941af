"""The rules for terms: what they may name where they stand, and that they are typed as the document declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate

from lictor_ir import operators
from lictor_ir.document import Binder, Document, Unknown, shared_loops
from lictor_ir.errors import DocumentError, IrError
from lictor_ir.json.regexes import check_size
from lictor_ir.json.strict_reading import Path, spelled
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_columns
from lictor_ir.records import record
from lictor_ir.terms import App, Const, Matches, Result, Term, Var, children, postorder, results
from lictor_ir.types import ANY, INT, ListOf, RowOf, Type, accepts
from lictor_ir.values import EnumValue


def refuse(path: Path, message: str) -> DocumentError:
    """The error that a rule is broken there."""
    return DocumentError(f"{spelled(path)}: {message}")


@record()
class TermScope:
    """What a term of the program may read: inputs, these loops' indices, and calls before this position."""

    binders: tuple[Binder, ...]
    position: float
    unknowns: float = math.inf
    """How many of the document's unknowns it may read."""
    counts_rounds: bool = False
    """Whether it says how often a loop runs: what happens in its rounds may decide that."""


class TermRules:
    """Checks terms of one document; what was found right is not looked at again."""

    def __init__(self, document: Document) -> None:
        self._inputs = {parameter.name: parameter.type for parameter in document.inputs}
        self._atoms = {atom.id: (at, atom) for at, atom in enumerate(document.atoms)}
        self._unknowns = {each.id: (at, each) for at, each in enumerate(document.unknowns)}
        self._computed = list(accumulate(map(self._made, document.unknowns), max))
        """Before which position each unknown can't be read: they stand in the order in which they are computed."""
        self._results = {effect.name: effect.result for effect in document.effects}
        self._columns = {
            schema.name: {column.name: column.type for column in schema.columns}
            for schema in document.schemas
        }
        self._members = {enum.name: frozenset(enum.members) for enum in document.enums}
        self._read_as: dict[str, Type] = {}
        self._well_made: set[Term] = set()
        self._in_scope: dict[tuple[tuple[Var, ...], float, bool], dict[Term, float]] = {}

    def _made(self, unknown: Unknown) -> int:
        calls = [label.partition(".")[0] for label in unknown.labels]
        calls += [each.call for each in results(*(each.over for each in unknown.binders))]
        return max((self._atoms[call][0] + 1 for call in calls if call in self._atoms), default=0)

    def check(self, term: Term, path: Path, scope: TermScope) -> None:
        """Raise unless the term is well made and reads only what is in scope."""
        self._check_made(term, path)
        # What is right at one position is right at every later one, in the same loops.
        place = (
            tuple(binder.index for binder in scope.binders),
            scope.unknowns,
            scope.counts_rounds,
        )
        right = self._in_scope.setdefault(place, {})
        seen: dict[Term, float] = {}
        stack = [term]
        while stack:
            part = stack.pop()
            if part in seen or (part in right and right[part] <= scope.position):
                continue
            seen[part] = scope.position
            match part:
                case Var():
                    self._check_variable(part, path, scope)
                case Result():
                    self._check_result(part, path, scope)
                case App() if part.op in ORIGIN_OPERATORS:
                    raise refuse(path, f"{part.op} may stand only in a guarantee")
                case _:
                    pass
            stack.extend(children(part))
        right |= seen

    def check_closed(
        self, term: Term, path: Path, fields: Mapping[str, Type] | None = None
    ) -> None:
        """Raise unless the term is well made and reads nothing but these fields."""
        self._check_made(term, path)
        known = fields or {}
        for part in postorder(term):
            match part:
                case Var() if part.name not in known:
                    told = ", ".join(known) or "nothing"
                    raise refuse(path, f"reads {part.name}; it may read {told}")
                case Var() if part.type != known[part.name]:
                    raise refuse(
                        path, f"reads {part.name} as {part.type}; it is {known[part.name]}"
                    )
                case Result():
                    raise refuse(path, f"reads the result of {part.call}: it must not")
                case _:
                    pass

    # -- what a term reads ---------------------------------------------------------------------

    def _check_variable(self, term: Var, path: Path, scope: TermScope) -> None:
        if any(binder.index is term for binder in scope.binders):
            return
        declared = self._inputs.get(term.name)
        if declared is None:
            raise refuse(path, f"reads {term.name}, which is no input and no index of a loop here")
        if declared != term.type:
            raise refuse(path, f"reads {term.name} as {term.type}; it is {declared}")

    def _check_result(self, term: Result, path: Path, scope: TermScope) -> None:
        if term.call in self._unknowns:
            at, unknown = self._unknowns[term.call]
            if at >= scope.unknowns:
                raise refuse(path, f"reads {term.call}, which is declared later")
            if self._computed[at] > scope.position:
                raise refuse(path, f"reads {term.call} before what it is made of happened")
            self._check_carried(unknown, path, scope)
            self._check_indices(term, unknown.binders, path, scope)
            if term.type != unknown.type:
                raise refuse(path, f"reads {term.call} as {term.type}; it is {unknown.type}")
            return
        if term.call not in self._atoms:
            raise refuse(path, f"reads the result of {term.call}, which is no atom and no unknown")
        position, atom = self._atoms[term.call]
        if position >= scope.position:
            raise refuse(path, f"reads the result of {term.call} before that call happened")
        if atom.fails:
            raise refuse(path, f"reads the result of {term.call}, which fails")
        self._check_indices(term, atom.binders, path, scope)
        self._check_result_type(term, self._results.get(atom.effect), path)

    def _check_carried(self, unknown: Unknown, path: Path, scope: TermScope) -> None:
        """What earlier iterations left is there inside of their loop; behind it, when all of it has happened."""
        for label in () if scope.counts_rounds else unknown.carried:
            position, atom = self._atoms.get(label.partition(".")[0], (math.inf, None))
            shared = 0 if atom is None else shared_loops(unknown.binders, atom.binders)
            if position >= scope.position and shared_loops(unknown.binders, scope.binders) < max(
                shared, 1
            ):
                raise refuse(path, f"reads {unknown.id} before what it is made of happened")

    def _check_indices(
        self, term: Result, binders: tuple[Binder, ...], path: Path, scope: TermScope
    ) -> None:
        if len(term.indices) != len(binders):
            raise refuse(
                path,
                f"reads the result of {term.call} with {len(term.indices)} indices; "
                f"it stands in {len(binders)} loops",
            )
        for mine, other, index in zip(scope.binders, binders, term.indices, strict=False):
            if mine.index is not other.index:
                break
            # In another iteration of a loop that still runs, the call may not have happened yet.
            if index is not mine.index:
                raise refuse(
                    path,
                    f"reads the result of {term.call} of another iteration of {mine.index.name}",
                )

    def _check_result_type(self, term: Result, declared: Type | None, path: Path) -> None:
        if declared is None or not _is_instance(declared, term.type):
            raise refuse(path, f"reads the result of {term.call} as {term.type}; it is {declared}")
        if self._read_as.setdefault(term.call, term.type) != term.type:
            raise refuse(path, f"reads the result of {term.call} as two different types")
        if isinstance(row := _item(term.type), RowOf) and row.schema not in self._columns:
            raise refuse(path, f"reads rows of {row.schema}, which is not declared")

    # -- how a term is made --------------------------------------------------------------------

    def _check_made(self, term: Term, path: Path) -> None:
        seen: set[Term] = set()
        stack = [term]
        while stack:
            part = stack.pop()
            if part in seen or part in self._well_made:
                continue
            seen.add(part)
            stack.extend(children(part))
            try:
                self._check_part(part, path)
            except DocumentError:
                raise
            except IrError as error:
                raise refuse(path, str(error)) from None
        self._well_made |= seen

    def _check_part(self, part: Term, path: Path) -> None:
        match part:
            case Const(value=EnumValue(enum, member)):
                if member not in self._members.get(enum, ()):
                    raise refuse(path, f"{enum} has no member {member}")
            case Result():
                if any(index.type != INT for index in part.indices):
                    raise refuse(path, f"the indices of {part.call} must be ints")
            case Matches():
                check_size(part.regex)
            case App():
                types = tuple(arg.type for arg in part.args)
                if operators.result_type(part.op, types, part.param) != part.type:
                    raise refuse(path, f"an application of {part.op} has not the type it gives")
                self._check_named_parts(part, path)
            case _:
                pass

    def _check_named_parts(self, part: App, path: Path) -> None:
        match part.op:
            case "column":
                row = part.args[0].type
                name = part.param.partition(":")[0]
                schema = row.schema if isinstance(row, RowOf) else ""
                declared = self._columns.get(schema, {}).get(name)
                if declared is None or part.param != f"{name}:{declared}":
                    raise refuse(path, f"{schema} has no column {part.param}")
            case "row":
                schema, _, spelled_names = part.param.partition(":")
                names = spelled_names.split(",")
                columns = self._columns.get(schema, {})
                if sorted(names) != sorted(columns):
                    raise refuse(path, f"a row of {schema} must be given its columns, once each")
                for name, arg in zip(names, part.args, strict=True):
                    if not accepts(columns[name], arg.type):
                        raise refuse(
                            path, f"{schema}.{name} must be {columns[name]}, not {arg.type}"
                        )
            case op if op in ORIGIN_OPERATORS:
                for schema, column in origin_columns(part.param):
                    if column not in self._columns.get(schema, {}):
                        raise refuse(path, f"{schema}.{column} is not declared")
            case _:
                pass


def _is_instance(declared: Type, read: Type) -> bool:
    """Whether a result declared so may be read so: `any` stands for a row of a class that the call was given."""
    match declared, read:
        case ListOf(one), ListOf(other):
            return _is_instance(one, other)
        case _:
            return declared == read or (declared == ANY and isinstance(read, RowOf))


def _item(type_: Type) -> Type:
    while isinstance(type_, ListOf):
        type_ = type_.item
    return type_
