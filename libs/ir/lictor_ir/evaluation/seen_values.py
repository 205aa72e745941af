"""Whether a value equals one that was seen before, without comparing it with each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any, cast

from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation.term_values import IDENTITY_OF_NAN, has_nan
from lictor_ir.values import RowValue


class SeenValues:
    """Values, found by what `term_values.same` says: equal as Python's `==`, open where that looks at identity."""

    def __init__(self) -> None:
        self._keys: set[Hashable] = set()
        self._nan = False
        self._nan_inside = False

    def copy(self) -> SeenValues:
        """The same values, to be added to separately."""
        made = SeenValues()
        made._keys = set(self._keys)
        made._nan, made._nan_inside = self._nan, self._nan_inside
        return made

    def add(self, value: Any) -> None:
        """One more."""
        if not has_nan(value):
            self._keys.add(key_of(value))
        elif isinstance(value, float):
            self._nan = True
        else:
            self._nan_inside = True

    def have(self, value: Any) -> bool:
        """Whether one of them equals the value; UnspecifiedError where that is left open."""
        if not has_nan(value):
            return key_of(value) in self._keys
        # What holds NaN equals nothing that does not, and a plain NaN no other.
        if self._nan_inside or (self._nan and not isinstance(value, float)):
            raise UnspecifiedError(IDENTITY_OF_NAN)
        return False


def key_of(value: Any) -> Hashable:
    """Equal for values that Python takes for equal, and for no others. Values are shallow, so this may recurse."""
    match value:
        case RowValue(schema, columns):
            return "row", schema, _pairs(columns)
        case list():
            return "list", tuple(map(key_of, cast(Sequence[Any], value)))
        case tuple():
            return "tuple", tuple(map(key_of, cast(Sequence[Any], value)))
        case Set():
            return "set", frozenset(map(key_of, cast(Set[Any], value)))
        case Mapping():
            return "map", _pairs(cast(Mapping[Any, Any], value))
        case _:
            return cast(Hashable, value)


def _pairs(members: Mapping[Any, Any]) -> frozenset[Hashable]:
    return frozenset((key_of(key), key_of(value)) for key, value in members.items())
