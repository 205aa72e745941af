"""Reads Z3's models as values of places."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from lictor_ir.places import LENGTH, Place
from lictor_ir.solver.answers import SolverModel, model_of
from lictor_ir.terms import Term
from lictor_ir.types import BOOL, FLOAT, INT, REAL, EnumOf, Type
from lictor_ir.values import EnumValue

_CHUNK: Final = 4_000
SHORT_LIST: Final = 3
SHORT_TEXT: Final = 24
SHORTER_MS: Final = 500

Lowered = Mapping[Term, tuple[Place, Any, tuple[Any, ...]]]
"""Each place with Z3's term for it and for its indices."""


def small_model(z3: Any, solver: Any, places: Lowered, texts: Sequence[Any], memory_mb: int) -> Any:
    """The solver's model, or one with short lists and strings if there is one; `texts` are the strings' lengths."""
    model = solver.model()
    lengths = [own for found, own, _ in places.values() if found.steps[-1:] == (LENGTH,)]
    if lengths or texts:
        # Another solver: `push` makes this one work on its strings at once, and no time limit holds for that.
        shorter = z3.Solver(ctx=solver.ctx)
        shorter.set("timeout", SHORTER_MS)
        shorter.set("max_memory", max(16, memory_mb))
        shorter.set("random_seed", 0)
        shorter.add(solver.assertions())
        for each in lengths:
            shorter.add(each <= SHORT_LIST)
        for each in texts:
            shorter.add(each <= SHORT_TEXT)
        if shorter.check() == z3.sat:
            model = shorter.model()
    return model


class Reading:
    """Reads one model; `text` reads the strings in it."""

    def __init__(
        self,
        z3: Any,
        model: Any,
        members: Mapping[EnumValue, int],
        text: Callable[[Any], str | None],
    ) -> None:
        self._z3 = z3
        self._model = model
        self._members = {number: member for member, number in members.items()}
        self._text = text

    def model(self, places: Lowered) -> SolverModel:
        """Every place whose value and indices Z3 tells."""
        return model_of(
            (found, self._value(own, term.type), [self._value(index, INT) for index in indices])
            for term, (found, own, indices) in places.items()
        )

    def _value(self, lowered: Any, type_: Type) -> Any:
        z3 = self._z3
        found = self._model.eval(lowered, model_completion=True)
        if type_ == BOOL:
            return z3.is_true(found)
        if type_ == INT:
            return _int(found.as_string()) if z3.is_int_value(found) else None
        if isinstance(type_, EnumOf):
            return self._members.get(found.as_long()) if z3.is_int_value(found) else None
        if type_ == REAL:
            if not z3.is_rational_value(found):
                return None
            numerator, _, denominator = found.as_string().partition("/")
            return Fraction(_int(numerator), _int(denominator or "1"))
        return self._float(found) if type_ == FLOAT else self._text(found)

    def _float(self, found: Any) -> float | None:
        if not self._z3.is_fp_value(found):
            return None
        if found.isNaN():
            return math.nan
        if found.isInf():
            return -math.inf if found.isNegative() else math.inf
        if found.isZero():
            return -0.0 if found.isNegative() else 0.0
        exact = self._z3.simplify(self._z3.fpToReal(found, ctx=found.ctx))
        return exact.numerator_as_long() / exact.denominator_as_long()


def text_of(z3: Any, found: Any) -> str | None:
    """The string that Z3 says; None when it does not say which."""
    core, context = z3.z3core, found.ctx.ref()
    if not z3.is_string_value(found):
        return None
    length = core.Z3_get_string_length(context, found.as_ast())
    codes = (ctypes.c_uint * max(1, length))()
    core.Z3_get_string_contents(context, found.as_ast(), length, codes)
    return "".join(map(chr, codes[:length]))


def _int(spelled: str) -> int:
    """The number; `int` refuses more than 4 300 digits."""
    digits = spelled.removeprefix("-")
    number = 0
    for at in range(0, len(digits), _CHUNK):
        part = digits[at : at + _CHUNK]
        number = number * 10 ** len(part) + int(part)
    return -number if spelled.startswith("-") else number
