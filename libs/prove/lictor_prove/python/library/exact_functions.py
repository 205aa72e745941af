"""The few functions of `math` and `re` that are exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from lictor_ir.terms import apply, matches, not_, or_
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.kinds import undefined
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import merge
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    MatchV,
    PatternV,
    Sym,
    SymbolicValue,
    boolean,
)
from lictor_prove.python.operations import container_contents, regex_languages
from lictor_prove.python.operations.arithmetic import known_int, to_float
from lictor_prove.python.operations.comparisons import NUMBERS, whole
from lictor_prove.python.operations.conversions import (
    NO_KEYWORDS,
    Args,
    Function,
    Table,
    computed,
    each,
)
from lictor_prove.python.refusals import refuse, unmodelled

# -- math ------------------------------------------------------------------------------------------


def _float_test(op: str) -> Function:
    def of(machine: Machine, value: SymbolicValue) -> SymbolicValue:
        if not isinstance(value, Sym) or value.type not in NUMBERS:
            undefined(machine, "a test of a float", value)
        number = to_float(machine, value.term)
        if op == "is_finite":
            return boolean(not_(or_(apply("is_nan", number), apply("is_inf", number))))
        return boolean(apply(op, number))

    return each(of)


def _known_math(function: Callable[[Any], Any], *, ints: bool) -> Function:
    def of(machine: Machine, value: SymbolicValue) -> SymbolicValue:
        if ints and isinstance(value, Sym) and value.type in (INT, BOOL):
            return Sym(whole(value.term))
        held = container_contents.known_value(machine, value)
        if isinstance(held, int | float):
            return computed(machine, lambda: function(held), 0)
        unmodelled(
            "math.known",
            "this function is supported for known numbers",
            "Work with ints: // and %.",
        )

    return each(of)


def _fabs(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    if not isinstance(value, Sym) or value.type not in NUMBERS:
        undefined(machine, "math.fabs()", value)
    return Sym(apply("abs", to_float(machine, value.term)))


# -- re --------------------------------------------------------------------------------------------


def _matched(how: str) -> Function:
    def of(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
        pattern = args[0]
        if isinstance(pattern, PatternV):
            return _match(machine, how, pattern.pattern, args[1])
        return _match(machine, how, _known_pattern(machine, pattern), args[1])

    return of


def matched(how: str) -> Callable[[Machine, SymbolicValue, Args], SymbolicValue]:
    """The method of a compiled pattern."""

    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        assert isinstance(owner, PatternV)
        return _match(machine, how, owner.pattern, args[0])

    return of


def group(_: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """The whole of what a match found, where that is known."""
    assert isinstance(owner, MatchV)
    if owner.whole is None or (args and known_int(args[0]) != 0):
        refuse(
            "regex.group",
            "group() is supported of a fullmatch, without an argument",
            "Use re.fullmatch, or slices.",
        )
    return owner.whole


def _match(machine: Machine, how: str, pattern: str, value: SymbolicValue) -> SymbolicValue:
    regex = regex_languages.language(pattern, how)

    def of(text: SymbolicValue) -> SymbolicValue:
        if not isinstance(text, Sym) or text.type != STR:
            undefined(machine, f"re.{how}()", text)
        found = matches(text.term, regex)
        return merge(found, MatchV(text if how == "fullmatch" else None), NONE_VALUE)

    return machine.each(value, of)


def _known_pattern(machine: Machine, value: SymbolicValue) -> str:
    pattern = container_contents.known_value(machine, value)
    if not isinstance(pattern, str):
        refuse("regex.constant", "the pattern must be known", "Write the pattern out.")
    return pattern


def _compile(machine: Machine, args: Args, _: Mapping[str, SymbolicValue]) -> SymbolicValue:
    pattern = _known_pattern(machine, args[0])
    regex_languages.language(pattern, "match")
    return PatternV(pattern)


FUNCTIONS: Final[Table] = {
    "math.isnan": (1, 1, NO_KEYWORDS, _float_test("is_nan")),
    "math.isinf": (1, 1, NO_KEYWORDS, _float_test("is_inf")),
    "math.isfinite": (1, 1, NO_KEYWORDS, _float_test("is_finite")),
    "math.fabs": (1, 1, NO_KEYWORDS, each(_fabs)),
    "math.floor": (1, 1, NO_KEYWORDS, _known_math(math.floor, ints=True)),
    "math.ceil": (1, 1, NO_KEYWORDS, _known_math(math.ceil, ints=True)),
    "math.trunc": (1, 1, NO_KEYWORDS, _known_math(math.trunc, ints=True)),
    "math.sqrt": (1, 1, NO_KEYWORDS, _known_math(math.sqrt, ints=False)),
    "re.match": (2, 2, NO_KEYWORDS, _matched("match")),
    "re.fullmatch": (2, 2, NO_KEYWORDS, _matched("fullmatch")),
    "re.search": (2, 2, NO_KEYWORDS, _matched("search")),
    "re.compile": (1, 1, NO_KEYWORDS, _compile),
}
