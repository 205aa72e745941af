"""Where values come from, read from the terms that stand for them.

Origin is a property of terms, not of values: an address that happens to equal one in a table was not taken from it. A
term is *from* a column when it is that column of a row that a trusted call returned; where it is one of several
alternatives, in those alternatives that are. A column flows into every term that it stands in, in conditions too:
both readings err on the side that promises less, so contracts may state them but not their negations
(`lictor_ir.validation.document`).

What a trusted call makes of its arguments is that call's own: its result does not carry their origin on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from lictor_ir.document import Schema, Unknown
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Matches,
    Result,
    Term,
    Var,
    and_,
    apply,
    const,
    eq,
    ite,
    postorder,
    rebuild,
    result,
)
from lictor_ir.types import ANY, ListOf, MapOf, OptionalOf, RowOf, SetOf, TupleOf, Type

ORIGIN_OPERATORS: Final = frozenset({"from", "not_from", "same_row"})

MAX_PAIRS: Final = 10_000
"""How many pairs of alternatives `same_row` compares."""

_NOWHERE: Final = const(None)
"""Stands for the row of a value that is no column of a returned row."""


# -- origins as formulas ---------------------------------------------------------------------------


def origin_formula(
    op: str, param: str, args: tuple[Term, ...], unknowns: Sequence[Unknown]
) -> Term:
    """What `from`, `not_from` or `same_row` of these terms comes to: a term without origin operators.

    A declared unknown is no row that a call returned, and every column that it is made of flows into it.
    """
    made = {each.id: each for each in unknowns}
    columns = origin_columns(param)
    if len(columns) != len(args):
        raise TermError(f"{op} names {len(columns)} columns for {len(args)} values")
    match op:
        case "from":
            return and_(
                *(_is_from(arg, *place, made) for arg, place in zip(args, columns, strict=True))
            )
        case "not_from":
            return and_(
                *(_is_free(arg, *place, made) for arg, place in zip(args, columns, strict=True))
            )
        case "same_row":
            return _same_row(
                [_rows(arg, *place, made) for arg, place in zip(args, columns, strict=True)]
            )
        case _:
            raise TermError(f"{op!r} does not speak about origin")


def resolve_origins(term: Term, unknowns: Sequence[Unknown]) -> Term:
    """The term with every origin operator decided; to be called once fields are replaced by what an atom passes."""

    def decided(part: Term) -> Term | None:
        if isinstance(part, App) and part.op in ORIGIN_OPERATORS:
            return origin_formula(part.op, part.param, part.args, unknowns)
        return None

    return rebuild(term, decided)


def origin_columns(param: str) -> tuple[tuple[str, str], ...]:
    """The schema and column of each value, from an origin operator's parameter: `User.email,User.name`."""
    places = [place.rpartition(".") for place in param.split(",")]
    if any(not schema or not column for schema, _, column in places):
        raise TermError(f"{param!r} must name columns as Schema.column")
    return tuple((schema, column) for schema, _, column in places)


def alternatives(term: Term, decide: Callable[[Term], Term]) -> Term:
    """The term with each alternative that it may be (through `ite`) replaced by what `decide` says of it."""
    done: dict[Term, Term] = {}
    stack = [term]
    while stack:
        part = stack[-1]
        if part in done:
            stack.pop()
        elif isinstance(part, App) and part.op == "ite":
            condition, then, otherwise = part.args
            waiting = [branch for branch in (otherwise, then) if branch not in done]
            if waiting:
                stack += waiting
            else:
                done[part] = ite(condition, done[then], done[otherwise])
        else:
            done[part] = decide(part)
    return done[term]


_Made = Mapping[str, Unknown]
"""The unknowns of a document."""


def _rows(term: Term, schema: str, column: str, unknowns: _Made) -> Term:
    """The returned row that the term is that column of, alternative by alternative, or `_NOWHERE`."""

    def of_value(part: Term) -> Term:
        if isinstance(part, App) and part.op == "column":
            (row,) = part.args
            if row.type == RowOf(schema) and part.param.partition(":")[0] == column:
                return alternatives(row, lambda each: _of_row(each, unknowns))
        return _NOWHERE

    return alternatives(term, of_value)


def _of_row(row: Term, unknowns: _Made) -> Term:
    """The row, item of a returned list by item of a returned list, or `_NOWHERE`."""
    if isinstance(row, Result):
        return _NOWHERE if row.call in unknowns else row
    if isinstance(row, App) and row.op == "at":
        items, index = row.args
        return alternatives(items, lambda part: _item_of(part, index, unknowns))
    return _NOWHERE


def _item_of(items: Term, index: Term, unknowns: _Made) -> Term:
    # Lists of lists of … are as deep as their types, which are shallow.
    whole = _of_row(items, unknowns)
    if whole is _NOWHERE:
        return _NOWHERE
    return alternatives(
        whole, lambda part: _NOWHERE if part is _NOWHERE else apply("at", part, index)
    )


def _is_from(term: Term, schema: str, column: str, unknowns: _Made) -> Term:
    rows = _rows(term, schema, column, unknowns)
    return alternatives(rows, lambda row: FALSE if row is _NOWHERE else TRUE)


def _same_row(rows: list[Term]) -> Term:
    first, *others = rows
    left = MAX_PAIRS

    def both(one: Term, other: Term) -> Term:
        nonlocal left
        left -= 1
        if left < 0:
            raise UnsupportedError("same_row has too many alternatives to compare")
        return _one_row(one, other)

    def against(one: Term) -> Term:
        if one is _NOWHERE:
            return FALSE
        return and_(
            *(alternatives(other, lambda row: both(one, row)) for other in others),
        )

    return alternatives(first, against)


def _one_row(one: Term, other: Term) -> Term:
    """Whether two returned rows are one: of the same call, in the same iteration, at the same index."""
    conditions: list[Term] = []
    while isinstance(one, App) and isinstance(other, App):
        conditions.append(eq(one.args[1], other.args[1]))
        one, other = one.args[0], other.args[0]
    if not (isinstance(one, Result) and isinstance(other, Result)) or one.call != other.call:
        return FALSE
    if len(one.indices) != len(other.indices) or one.type != other.type:
        return FALSE
    return and_(*map(eq, one.indices, other.indices), *conditions)


def _is_free(term: Term, schema: str, column: str, unknowns: _Made) -> Term:
    def is_free(part: Term) -> Term:
        return const(not any(_may_be(flow, schema, column, unknowns) for flow in _flows(part)))

    conditions = _conditions(term)
    return and_(*map(is_free, conditions), alternatives(term, is_free))


def _conditions(term: Term) -> tuple[Term, ...]:
    """What the alternatives of a term are chosen by."""
    found: dict[Term, None] = {}
    seen: set[Term] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, App) and part.op == "ite" and part not in seen:
            seen.add(part)
            found[part.args[0]] = None
            stack += part.args[1:]
    return tuple(found)


# -- flows and labels ------------------------------------------------------------------------------

Flow = tuple[Result | Var, str | None]
"""A result or variable that flows into a term: whole, or only this column of its rows."""


_flowing: WeakKeyDictionary[Term, dict[str | None, frozenset[Flow]]] = WeakKeyDictionary()
"""What flows into applications, once it was asked: arguments of later calls are made of those of earlier ones."""


def _flows(term: Term) -> frozenset[Flow]:
    """What flows into the term; a column of a row lets nothing else of that row flow."""
    stack: list[tuple[Term, str | None]] = [(term, None)]
    while stack:
        part, only = stack[-1]
        if _known_flows(part, only) is not None:
            stack.pop()
            continue
        inner = _inner(part, only)
        waiting = [each for each in inner if _known_flows(*each) is None]
        if waiting:
            stack += waiting
            continue
        found = frozenset[Flow]().union(*(_known_flows(*each) or () for each in inner))
        _flowing.setdefault(part, {})[only] = found
        stack.pop()
    return _known_flows(term, None) or frozenset()


def _known_flows(part: Term, only: str | None) -> frozenset[Flow] | None:
    match part:
        case Result() if not part.indices:
            return frozenset({(part, only)})
        case Var():
            return frozenset({(part, only)})
        case Const():
            return frozenset()
        case _:
            return _flowing.get(part, {}).get(only)


def _inner(part: Term, only: str | None) -> list[tuple[Term, str | None]]:
    match part:
        case Result():
            # Without its indices it stands for itself, and is known.
            bare = result(part.call, part.type)
            return [(bare, only), *((index, None) for index in part.indices)]
        case Matches():
            return [(part.text, None)]
        case App():
            return _parts_that_flow(part, only)
        case _:
            return []


def _parts_that_flow(part: App, only: str | None) -> list[tuple[Term, str | None]]:
    match part.op:
        case "column":
            return [(part.args[0], part.param.partition(":")[0])]
        case "row" if only is not None:
            names = part.param.partition(":")[2].split(",")
            return [(arg, None) for at, arg in zip(names, part.args, strict=True) if at == only]
        case "ite":
            return [(part.args[0], None), *((branch, only) for branch in part.args[1:])]
        case "at":
            return [(part.args[0], only), (part.args[1], None)]
        case "list":
            return [(arg, only) for arg in part.args]
        case _:
            return [(arg, None) for arg in part.args]


def hidden_rows(term: Term, schemas: Collection[Schema]) -> str | None:
    """Why `not_from` can't be decided: rows of its schema may stand inside other rows, where nobody follows them."""
    for part in postorder(term):
        if not (isinstance(part, App) and part.op == "not_from"):
            continue
        for asked, _ in origin_columns(part.param):
            for schema in schemas:
                for column in schema.columns:
                    if _holds(column.type, asked):
                        return f"{schema.name}.{column.name} may hold rows of {asked}"
    return None


def _may_be(flow: Flow, schema: str, column: str, unknowns: _Made) -> bool:
    source, only = flow
    if isinstance(source, Result) and source.call in unknowns:
        # Labels name calls, not what they return: a column of that name may be of any schema.
        unknown = unknowns[source.call]
        flowing = (*unknown.labels, *unknown.carried)
        of_calls = [each.partition(".")[2] for each in flowing if not each.startswith("input:")]
        return any(each in ("", column) for each in of_calls)
    return isinstance(source, Result) and only in (None, column) and _holds(source.type, schema)


def holds_rows(type_: Type) -> bool:
    """Whether a value of the type may hold rows."""
    return _holds(type_, None)


def _holds(type_: Type, schema: str | None) -> bool:
    """Whether a value of the type may hold rows of the schema; of any, where none is named."""
    match type_:
        case RowOf(name):
            return schema in (None, name)
        case ListOf(item) | SetOf(item) | OptionalOf(item):
            return _holds(item, schema)
        case TupleOf(items):
            return any(_holds(item, schema) for item in items)
        case MapOf(key, value):
            return _holds(key, schema) or _holds(value, schema)
        case _:
            return type_ == ANY


def labels(term: Term, inputs: Collection[str]) -> tuple[str, ...]:
    """Whence a term comes: `c2.email` for a column, `c2` for a result, `input:x`; sorted."""
    found: set[str] = set()
    for source, only in _flows(term):
        if isinstance(source, Result):
            found.add(source.call if only is None else f"{source.call}.{only}")
        elif source.name in inputs:
            found.add(f"input:{source.name}" if only is None else f"input:{source.name}.{only}")
    return tuple(sorted(found))


def made_of(
    terms: Iterable[Term], inputs: Collection[str], unknowns: Iterable[Unknown]
) -> tuple[str, ...]:
    """What an unknown is made of that is computed from these terms; of other unknowns, what they are made of."""
    known = {each.id: each for each in unknowns}
    found: set[str] = set()
    for term in terms:
        for label in labels(term, inputs):
            unknown = known.get(label.partition(".")[0])
            found.update((label,) if unknown is None else (*unknown.labels, *unknown.carried))
    return tuple(sorted(found))


def argument_labels(
    arguments: Mapping[str, Term], inputs: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """The labels of an atom: of every argument that has some."""
    told = {
        name: labels(term, inputs)
        for name, term in sorted(arguments.items())
        if not isinstance(term, Const)
    }
    return {name: found for name, found in told.items() if found}
