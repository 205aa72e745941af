"""What the literals of `one_of` in an approval policy stand for; pure.

Strict YAML reads `1.5` and `9007199254740993` as texts: it has no fractions, and no numbers that some reader of JSON
would round. As with a contract's arguments, what such a text means is told by the type of what it is held against.
"""

import re
from collections.abc import Iterable
from typing import Final

from lictor_schema.core.base_model import Scalar
from lictor_schema.proofs.inputs import PlainValue

_FRACTION: Final = re.compile(r"-?[0-9]{1,300}\.[0-9]{1,300}")
_LARGE: Final = re.compile(r"-?[1-9][0-9]{15,2500}")
_TYPES: Final[tuple[type[PlainValue], ...]] = (bool, int, float, str)


def is_named(value: PlainValue, named: Iterable[Scalar]) -> bool | None:
    """Whether it is one of those named; None where one of them might stand for it, and none surely does."""
    found = [_is_same(value, _read_as(type(value), each)) for each in named]
    return True if True in found else None if None in found else False


def has_one_type(named: Iterable[Scalar]) -> bool:
    """Whether some type of value has room for all that are named; else none of its values is known to be another."""
    literals = tuple(named)
    return any(all(_read_as(kind, each) is not None for each in literals) for kind in _TYPES)


def _read_as(kind: type[PlainValue], named: Scalar) -> PlainValue | None:
    """The value of a type that a literal stands for; None when it stands for none."""
    if type(named) is kind:
        return named
    if isinstance(named, str):
        if kind is float and _spells_float(named):
            return float(named)
        if kind is int and _LARGE.fullmatch(named):
            return int(named)
    return None


def _spells_float(text: str) -> bool:
    if _FRACTION.fullmatch(text):
        return True
    try:
        return repr(float(text)) == text
    except ValueError:
        return False


def _is_same(value: PlainValue, named: PlainValue | None) -> bool | None:
    if named is None:
        return None
    if isinstance(value, float) and repr(value) != repr(named):
        # 0.0 and -0.0 are equal, and not the same: nobody knows which of both was meant.
        return None if value == named else False
    # Any NaN is the same as any other, whatever `==` says.
    return isinstance(value, float) or value == named
