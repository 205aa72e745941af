"""What each operator takes, gives and means: the one table that terms, evaluation, forms and lowering follow.

`result(types, param)` is the type of an application, or a TermError. `meaning(*values)` is its value over concrete
values, with `param` before them where it reads that; it may raise UnspecifiedError where the format leaves the value
open. Every operator is total unless its line says otherwise. Python's semantics hold throughout: division rounds down,
a modulus has the divisor's sign, and comparing an int with a float compares the numbers exactly.
"""

# What each lambda of the table takes is said beside it, by the function that types the result.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add, contains, eq, le, lt, neg, not_, sub
from typing import Any, Final, cast

from lictor_ir.errors import TermError, UnspecifiedError
from lictor_ir.types import (
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NUMBERS,
    REAL,
    STR,
    ListOf,
    MapOf,
    RowOf,
    SetOf,
    TupleOf,
    Type,
    join,
)
from lictor_ir.values import RowValue

Types = tuple[Type, ...]

_CHUNK_DIGITS: Final = 4_000
_CHUNK: Final = 10**_CHUNK_DIGITS


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the format."""

    name: str
    says: str
    """What it means, for the reference in docs/effect-ir.md."""
    result: Callable[[Types, str], Type]
    meaning: Callable[..., Any]
    reads_param: bool = False


def _fixed(*wanted: Type, gives: Type) -> Callable[[Types, str], Type]:
    def result(types: Types, _param: str) -> Type:
        if types != wanted:
            raise TermError(f"takes ({_told(wanted)}), not ({_told(types)})")
        return gives

    return result


def _each(wanted: Type, gives: Type) -> Callable[[Types, str], Type]:
    def result(types: Types, _param: str) -> Type:
        if not types or types != (wanted,) * len(types):
            raise TermError(f"takes one or more {wanted}, not ({_told(types)})")
        return gives

    return result


def _alike(*kinds: Type, least: int, most: int | None) -> Callable[[Types, str], Type]:
    """Operands of one type, which is also the result's."""

    def result(types: Types, _param: str) -> Type:
        enough = len(types) >= least and (most is None or len(types) <= most)
        if not enough or types[0] not in kinds or types != types[:1] * len(types):
            raise TermError(f"takes operands of one type of {_told(kinds)}, not ({_told(types)})")
        return types[0]

    return result


def _compared(types: Types, _param: str) -> Type:
    exact = (INT, FLOAT), (FLOAT, INT), (INT, REAL), (REAL, INT)
    if len(types) != 2 or not (
        (types[0] == types[1] and types[0] in (*NUMBERS, STR)) or types in exact
    ):
        raise TermError(f"compares two numbers or two strings, not ({_told(types)})")
    return BOOL


def _equal(types: Types, _param: str) -> Type:
    if len(types) != 2:
        raise TermError(f"compares two values, not {len(types)}")
    return BOOL


def _chosen(types: Types, _param: str) -> Type:
    if len(types) != 3 or types[0] != BOOL:
        raise TermError(f"takes a bool and two values, not ({_told(types)})")
    return join(types[1], types[2])


def _joined(types: Types) -> Type:
    whole: Type = NEVER
    for given in types:
        whole = join(whole, given)
    return whole


def _dict(types: Types, _param: str) -> Type:
    if len(types) % 2:
        raise TermError("takes keys and values in turn; the last key has no value")
    return MapOf(_joined(types[::2]), _joined(types[1::2]))


def _held(types: Types, _param: str) -> Type:
    if len(types) != 2 or not isinstance(types[1], ListOf | SetOf | TupleOf | MapOf):
        raise TermError(f"takes a value and a container, not ({_told(types)})")
    return BOOL


def _counted(types: Types, _param: str) -> Type:
    if len(types) != 1 or not (
        types[0] == STR or isinstance(types[0], ListOf | SetOf | TupleOf | MapOf)
    ):
        raise TermError(f"takes a string or a container, not ({_told(types)})")
    return INT


def _item(types: Types, _param: str) -> Type:
    if len(types) != 2 or not isinstance(types[0], ListOf) or types[1] != INT:
        raise TermError(f"takes a list and an index, not ({_told(types)})")
    return types[0].item


def _column(types: Types, param: str) -> Type:
    # The type of the column stands in the document; the term carries it as `name:type` (see terms.column).
    if len(types) != 1 or not isinstance(types[0], RowOf) or ":" not in param:
        raise TermError(f"takes a row and names a column with its type, not ({_told(types)})")
    from lictor_ir.spelling.type_names import parse_type

    return parse_type(param.partition(":")[2])


def _row(types: Types, param: str) -> Type:
    schema, _, names = param.partition(":")
    if not schema or len(names.split(",")) != len(types):
        raise TermError("takes a value for each column that it names")
    return RowOf(schema)


def _traced(types: Types, param: str) -> Type:
    if not types or len(param.split(",")) != len(types) or "." not in param:
        raise TermError("takes values and, for each, a column spelled Schema.column")
    return BOOL


def _told(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


def _floor_div(a: int, b: int) -> int:
    return a // b if b else 0


def _mod(a: int, b: int) -> int:
    return a % b if b else a


def _float_div(a: float, b: float) -> float:
    if b:
        return a / b
    if a != a or b != b or a == 0:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _float_of_int(a: int) -> float:
    try:
        return float(a)
    except OverflowError:
        return math.inf if a > 0 else -math.inf


def _real_div(a: Fraction, b: Fraction) -> Fraction:
    return a / b if b else Fraction(0)


def _sub_string(text: str, start: int, length: int) -> str:
    return text[start : start + length] if 0 <= start < len(text) and length > 0 else ""


def _find(text: str, part: str, start: int) -> int:
    return text.find(part, start) if 0 <= start <= len(text) else -1


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _count(text: str, part: str) -> int:
    return text.count(part)


def _digits(number: int) -> str:
    """All of them: `str` refuses numbers of more than 4 300 digits."""
    rest, parts = abs(number), list[str]()
    while rest >= _CHUNK:
        rest, low = divmod(rest, _CHUNK)
        parts.append(str(low).rjust(_CHUNK_DIGITS, "0"))
    return ("-" if number < 0 else "") + str(rest) + "".join(reversed(parts))


def bits(value: object) -> int:
    """How long a number is, with both parts of a fraction; 0 for what does not grow."""
    if isinstance(value, Fraction):
        return value.numerator.bit_length() + value.denominator.bit_length()
    return value.bit_length() if isinstance(value, int) else 0


def decimal(number: int) -> str:
    """The digits of a number of any size, as solvers read them."""
    return _digits(number)


def _contains(item: Any, container: Any) -> bool:
    if isinstance(container, Mapping | Set | Sequence):
        return any(item == other for other in cast(Sequence[Any], container))
    raise UnspecifiedError("`in` reads a container that is not known")


def _at(items: Sequence[Any], index: int) -> Any:
    if not 0 <= index < len(items):
        raise UnspecifiedError(
            f"index {_digits(index)[:20]} of a list of {len(items)} is left open"
        )
    return items[index]


def _made_dict(*parts: Any) -> Any:
    """A dict as a list of pairs would lose equality; keys that can't be hashed are not Python dict keys either."""
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _made_row(param: str, *values: Any) -> RowValue:
    schema, _, names = param.partition(":")
    return RowValue(schema, dict(zip(names.split(","), values, strict=True)))


def _no_value(*_: Any) -> Any:
    raise UnspecifiedError("the origin of a value is read from terms, not from values")


_TABLE: tuple[Operator, ...] = (
    # bool
    Operator("not", "negation", _fixed(BOOL, gives=BOOL), not_),
    Operator("and", "all hold", _each(BOOL, BOOL), lambda *all_: all(all_)),
    Operator("or", "one holds", _each(BOOL, BOOL), lambda *all_: any(all_)),
    Operator(
        "ite",
        "the second if the first holds, else the third",
        _chosen,
        lambda c, a, b: a if c else b,
    ),
    # comparison
    Operator("eq", "Python's ==, for values of any type", _equal, eq),
    Operator("lt", "less; strings by code points", _compared, lt),
    Operator("le", "less or equal", _compared, le),
    # numbers
    Operator(
        "add",
        "sum, from left to right",
        _alike(*NUMBERS, least=1, most=None),
        lambda *n: reduce(add, n),  # not sum(), which rounds floats its own way
    ),
    Operator("sub", "difference", _alike(*NUMBERS, least=2, most=2), sub),
    Operator(
        "mul",
        "product, from left to right",
        _alike(*NUMBERS, least=1, most=None),
        lambda *n: math.prod(n[1:], start=n[0]),
    ),
    Operator("neg", "negative", _alike(*NUMBERS, least=1, most=1), neg),
    Operator("abs", "magnitude", _alike(*NUMBERS, least=1, most=1), abs),
    Operator(
        "floordiv",
        "quotient rounded down; 0 for a divisor of 0",
        _fixed(INT, INT, gives=INT),
        _floor_div,
    ),
    Operator(
        "mod",
        "what floordiv leaves, with the divisor's sign; the dividend for a divisor of 0",
        _fixed(INT, INT, gives=INT),
        _mod,
    ),
    Operator("fdiv", "IEEE division", _fixed(FLOAT, FLOAT, gives=FLOAT), _float_div),
    Operator(
        "rdiv",
        "exact division; 0 for a divisor of 0",
        _fixed(REAL, REAL, gives=REAL),
        _real_div,
    ),
    Operator("is_nan", "whether it is NaN", _fixed(FLOAT, gives=BOOL), lambda a: a != a),
    Operator("is_inf", "whether it is infinite", _fixed(FLOAT, gives=BOOL), math.isinf),
    Operator("int_of_bool", "1 or 0", _fixed(BOOL, gives=INT), int),
    Operator(
        "float_of_int",
        "the nearest float, ties to even; infinite past the largest",
        _fixed(INT, gives=FLOAT),
        _float_of_int,
    ),
    Operator("real_of_int", "the same number", _fixed(INT, gives=REAL), Fraction),
    # strings
    Operator("concat", "one after the other", _each(STR, STR), lambda *parts: "".join(parts)),
    Operator(
        "contains",
        "whether the first holds the second",
        _fixed(STR, STR, gives=BOOL),
        contains,
    ),
    Operator(
        "startswith",
        "whether the first begins with the second",
        _fixed(STR, STR, gives=BOOL),
        lambda a, b: a.startswith(b),
    ),
    Operator(
        "endswith",
        "whether the first ends with the second",
        _fixed(STR, STR, gives=BOOL),
        lambda a, b: a.endswith(b),
    ),
    Operator(
        "substring",
        "from an index, so many characters; empty outside",
        _fixed(STR, INT, INT, gives=STR),
        _sub_string,
    ),
    Operator(
        "find",
        "first index of the second in the first from the third on, or -1",
        _fixed(STR, STR, INT, gives=INT),
        _find,
    ),
    Operator(
        "replace",
        "every occurrence of the second by the third; unchanged for an empty second",
        _fixed(STR, STR, STR, gives=STR),
        _replace,
    ),
    Operator(
        "count",
        "how often the second stands in the first without overlap",
        _fixed(STR, STR, gives=INT),
        _count,
    ),
    Operator("str_of_int", "decimal digits, with a minus sign", _fixed(INT, gives=STR), _digits),
    # containers
    Operator(
        "list",
        "a list of these items",
        lambda types, _: ListOf(_joined(types)),
        lambda *items: list(items),
    ),
    Operator(
        "tuple",
        "a tuple of these items",
        lambda types, _: TupleOf(types),
        lambda *items: items,
    ),
    Operator(
        "set",
        "a set of these items",
        lambda types, _: SetOf(_joined(types)),
        lambda *items: frozenset(items),
    ),
    Operator(
        "dict",
        "keys and values in turn; a later key replaces an equal one",
        _dict,
        _made_dict,
    ),
    Operator("row", "a row that the program made", _row, _made_row, reads_param=True),
    Operator(
        "in",
        "whether the container holds a value equal to the first; a dict holds its keys",
        _held,
        _contains,
    ),
    Operator("len", "how many characters, different items or keys", _counted, len),
    Operator("at", "the item at an index; left open outside", _item, _at),
    Operator(
        "column",
        "a column of a row",
        _column,
        lambda param, row: row.columns[param.partition(":")[0]],
        reads_param=True,
    ),
    # origin: about the terms that stand there, decided by lictor_ir.provenance
    Operator(
        "from",
        "each value is the named column of a row that a trusted call returned",
        _traced,
        _no_value,
    ),
    Operator(
        "not_from", "the named column of no returned row flows into the value", _traced, _no_value
    ),
    Operator(
        "same_row", "the values are columns of one and the same returned row", _traced, _no_value
    ),
)

OPERATORS: Final[dict[str, Operator]] = {operator.name: operator for operator in _TABLE}


def result_type(op: str, types: Types, param: str) -> Type:
    """The type of an application, or a TermError that says what does not fit."""
    operator = OPERATORS.get(op)
    if operator is None:
        raise TermError(f"{op!r} is no operator of the format")
    try:
        return operator.result(types, param)
    except TermError as error:
        raise TermError(f"{op} {error}") from None


def apply(op: str, param: str, values: Sequence[Any]) -> Any:
    """The value of an application over concrete values."""
    operator = OPERATORS[op]
    return operator.meaning(param, *values) if operator.reads_param else operator.meaning(*values)
