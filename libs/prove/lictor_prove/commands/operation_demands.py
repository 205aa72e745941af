"""What the operations of a term demand, and what no term of a program may hold.

The operators of the Effect IR have a value for everything but an index outside a list. To divide by zero is a mistake
all the same, so commands demand what Python would: the same demand is an obligation in the document, and is tested when
the program runs. Operands are needed from left to right: `and`, `or` and `if` need the next one only where the ones
before leave it open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lictor_ir.document import Schema
from lictor_ir.errors import TermError
from lictor_ir.spelling.literals import is_text
from lictor_ir.terms import App, Const, Matches, Term, and_, apply, const, eq, not_, postorder
from lictor_ir.types import (
    ANY,
    FLOAT,
    REAL,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    Scalar,
    SetOf,
    TupleOf,
    Type,
    accepts,
)
from lictor_prove.commands.program import TermPrecondition, WrittenTerm

_DIVISIONS = {"floordiv": 0, "mod": 0, "fdiv": 0.0}
Tables = Mapping[str, Schema]


def written(term: Term, tables: Tables) -> WrittenTerm:
    """The term with its demands; TermError for one that no program may hold."""
    for part in postorder(term):
        _check(part, tables)
    return WrittenTerm(term, tuple(dict.fromkeys(_demands(term, ()))))


# -- what is demanded ------------------------------------------------------------------------------


def _demands(term: Term, path: tuple[Term, ...]) -> Iterator[TermPrecondition]:
    """Terms are as deep as somebody wrote them, and that is bounded, so this may recurse."""
    match term:
        case App(op="ite"):
            condition, then, otherwise = term.args
            yield from _demands(condition, path)
            yield from _demands(then, (*path, condition))
            yield from _demands(otherwise, (*path, not_(condition)))
        case App(op="and" | "or"):
            for arg in term.args:
                yield from _demands(arg, path)
                path = (*path, arg if term.op == "and" else not_(arg))
        case App():
            for arg in term.args:
                yield from _demands(arg, path)
            yield from _of_operation(term, path)
        case Matches():
            yield from _demands(term.text, path)
        case _:
            pass


def _of_operation(term: App, path: tuple[Term, ...]) -> Iterator[TermPrecondition]:
    if term.op in _DIVISIONS:
        zero = const(_DIVISIONS[term.op])
        text = "the divisor is not zero (ZeroDivisionError)"
        yield TermPrecondition(and_(*path), not_(eq(term.args[1], zero)), text)
    elif term.op == "at":
        items, index = term.args
        within = and_(apply("le", const(0), index), apply("lt", index, apply("len", items)))
        yield TermPrecondition(and_(*path), within, "the index is within the list (IndexError)")
    elif term.op == "float_of_int":
        text = "the int is not too large for a float (OverflowError)"
        yield TermPrecondition(and_(*path), not_(apply("is_inf", term)), text)


# -- what can't be there ---------------------------------------------------------------------------


def _check(part: Term, tables: Tables) -> None:
    if part.type == REAL:
        raise TermError("real numbers stand in contracts alone; use int, or float: 0.75")
    match part:
        case Const(value=str() as text) if not is_text(text):
            raise TermError("half of a surrogate pair is no character")
        case App(op="eq", args=(one, other)):
            scalars = isinstance(one.type, Scalar) and isinstance(other.type, Scalar)
            plain = scalars and ANY not in (one.type, other.type)
            if not plain and _may_be_nan(one.type, tables) and _may_be_nan(other.type, tables):
                raise TermError(f"== of {one.type} and {other.type} depends on identity: {_NAN}")
        case App(op="in", args=(item, container)):
            if _may_be_nan(item.type, tables) and _may_be_nan(container.type, tables):
                raise TermError(
                    f"whether {item.type} is in {container.type} depends on identity: {_NAN}"
                )
        case App(op="set" | "dict"):
            for key in part.args if part.op == "set" else part.args[::2]:
                if not _is_key(key.type):
                    raise TermError(
                        f"{key.type} can't be in a set or a key; use bools, ints or strings"
                    )
        case App(op="row"):
            _check_row(part, tables)
        case _:
            pass


def _check_row(made: App, tables: Tables) -> None:
    schema, _, names = made.param.partition(":")
    if schema not in tables:
        raise TermError(
            f"the layer has no row class {schema}; there are: {', '.join(sorted(tables)) or 'none'}"
        )
    columns = {column.name: column.type for column in tables[schema].columns}
    given = names.split(",") if names else []
    if sorted(given) != sorted(columns):
        raise TermError(f"a row of {schema} is given its columns, once each: {', '.join(columns)}")
    for name, value in zip(given, made.args, strict=True):
        if not accepts(columns[name], value.type):
            raise TermError(f"{schema}.{name} is {columns[name]}, not {value.type}")


_NAN = "both may hold NaN; compare floats one by one"


def _may_be_nan(type_: Type, tables: Tables) -> bool:
    match type_:
        case ListOf(item) | SetOf(item) | OptionalOf(item):
            return _may_be_nan(item, tables)
        case TupleOf(items):
            return any(_may_be_nan(item, tables) for item in items)
        case MapOf(key, value):
            return _may_be_nan(key, tables) or _may_be_nan(value, tables)
        case RowOf(schema):
            return schema not in tables or any(
                column.type == FLOAT for column in tables[schema].columns
            )
        case _:
            return type_ in (FLOAT, ANY)


def _is_key(type_: Type) -> bool:
    if isinstance(type_, TupleOf):
        return all(map(_is_key, type_.items))
    return isinstance(type_, Scalar) and type_ not in (FLOAT, ANY)
