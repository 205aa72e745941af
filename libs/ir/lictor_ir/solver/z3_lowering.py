"""Lowers goals to Z3 and asks it.

Places are uninterpreted functions of their indices, ints are unbounded, floats are binary64, strings are Unicode. What
Z3 has no exact function for (`count`, `replace`, the float nearest to an int) is an uninterpreted function of which
only true things are said: sound for proofs, and a model is then a candidate.

Z3 is imported when it is first needed: most goals fold away before.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import Any, Final

from lictor_ir.errors import UnsupportedError
from lictor_ir.goals.goal import Goal
from lictor_ir.operators import decimal
from lictor_ir.places import Place, parts, place, solver_order
from lictor_ir.scalars.rewriting import EXACT_INTS
from lictor_ir.solver.answers import HOLDS, Answer, Conclusion, SolverModel, undecided
from lictor_ir.solver.z3_models import Reading, small_model, text_of
from lictor_ir.solver.z3_regexes import regex_for_z3
from lictor_ir.terms import FALSE, App, Const, Matches, Term
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, EnumOf, Type
from lictor_ir.values import EnumValue

NAME: Final = "z3"


def decide(
    goal: Goal, timeout_ms: int, memory_mb: int, lowered: Callable[[], Lowering] | None = None
) -> Answer:
    """Whether the goal holds: its formula has no model. Z3 may take longer: `lictor_ir.solver.z3_process` kills it."""
    if goal.refute is FALSE:
        return HOLDS
    z3 = _z3()
    try:
        lowering = (lowered or Lowering)()
        solver = lowering.solver(goal, timeout_ms, memory_mb)
        outcome = solver.check()
        if outcome == z3.unsat:
            return Answer(Conclusion.HOLDS, how=NAME)
        if outcome == z3.unknown:
            return undecided(_reason(solver.reason_unknown(), timeout_ms), NAME)
        model = lowering.model(solver, memory_mb)
        return Answer(Conclusion.FAILS, model, how=NAME, candidate=lowering.approximate)
    except z3.Z3Exception as error:
        return undecided(f"Z3 gave up: {error}", NAME)
    except UnsupportedError as error:
        return undecided(str(error), NAME)


def _reason(told: str, timeout_ms: int) -> str:
    if told in ("timeout", "canceled"):
        return f"Z3 did not decide it within {timeout_ms} ms"
    return f"Z3 does not know: {told}"


def _ratio(value: Fraction) -> str:
    return f"{decimal(value.numerator)}/{decimal(value.denominator)}"


def _z3() -> Any:
    """Z3's module, whose types are not declared; importing it takes a while."""
    return import_module("z3")


class Lowering:
    """The terms of one goal in one Z3 context."""

    def __init__(self) -> None:
        z3 = _z3()
        self._z3: Any = z3
        self._context: Any = z3.Context()
        self._done: dict[Term, Any] = {}
        self._functions: dict[tuple[str, str, int], Any] = {}
        self._places: dict[Term, Place] = {}
        self._axioms: list[Any] = []
        self._float: Any = z3.FPSort(11, 53, self._context)
        self._round: Any = z3.RNE(self._context)
        self.members: dict[EnumValue, int] = {}
        self.approximate = False
        """Whether a function stands in that may do more than its operator."""

    def solver(self, goal: Goal, timeout_ms: int, memory_mb: int) -> Any:
        """A solver that was told the goal."""
        solver = self._z3.Solver(ctx=self._context)
        solver.set("timeout", max(1, timeout_ms))
        solver.set("max_memory", max(16, memory_mb))
        solver.set("random_seed", 0)
        formulas = [self.lower(term) for term in (*goal.given, goal.refute)]
        self.complete()
        for formula in (*self._axioms, *formulas):
            solver.add(formula)
        return solver

    def complete(self) -> None:
        """Say what can only be said when all terms are known; nothing here."""

    def model(self, solver: Any, memory_mb: int) -> SolverModel:
        """What the solver, which found a model, says of each place."""
        places = {
            term: (found, self._done[term], tuple(self._done[index] for index in found.indices))
            for term, found in self._places.items()
        }
        texts = [self.length(own) for term, (_, own, _) in places.items() if term.type == STR]
        model = small_model(self._z3, solver, places, texts, memory_mb)
        return Reading(self._z3, model, self.members, self.spelling(model)).model(places)

    def spelling(self, model: Any) -> Callable[[Any], str | None]:
        """How the model's strings are read."""
        del model
        return partial(text_of, self._z3)

    def lower(self, root: Term) -> Any:
        """The term for Z3; a walk without recursion, because terms may be deep."""
        for term in solver_order(root):
            if term not in self._done:
                self._done[term] = self._lowered(term)
        return self._done[root]

    # -- leaves ----------------------------------------------------------------------------------

    def _lowered(self, term: Term) -> Any:
        if isinstance(term, Const):
            return self._constant(term)
        found = place(term)
        if found is not None:
            self._places[term] = found
            return self._function(found.name, term.type, len(found.indices))(
                *(self._done[index] for index in found.indices)
            )
        below = [self._done[part] for part in parts(term)]
        if isinstance(term, Matches):
            return self._matched(term, below[0])
        assert isinstance(term, App)
        return self._application(term, below)

    def _sort(self, type_: Type) -> Any:
        if type_ == BOOL:
            return self._z3.BoolSort(self._context)
        if type_ == INT or isinstance(type_, EnumOf):
            return self._z3.IntSort(self._context)
        if type_ == REAL:
            return self._z3.RealSort(self._context)
        if type_ == FLOAT:
            return self._float
        if type_ == STR:
            return self._z3.StringSort(self._context)
        raise UnsupportedError(f"a value of type {type_} has no sort in a solver")

    def _function(self, name: str, type_: Type, arity: int) -> Callable[..., Any]:
        key = (name, str(type_), arity)
        if key not in self._functions:
            spelled = f"{name}:{type_}"
            if arity == 0:
                self._functions[key] = self._z3.Const(spelled, self._sort(type_))
            else:
                ints = [self._z3.IntSort(self._context)] * arity
                self._functions[key] = self._z3.Function(spelled, *ints, self._sort(type_))
        made = self._functions[key]
        return made if arity else lambda: made

    def _constant(self, term: Const) -> Any:
        z3, context = self._z3, self._context
        match term.value:
            case bool():
                return z3.BoolVal(term.value, context)
            case int():
                return z3.IntVal(decimal(term.value), context)
            case Fraction():
                return z3.RealVal(_ratio(term.value), context)
            case float():
                return self._float_value(term.value)
            case str():
                return self.text(term.value)
            case EnumValue():
                return z3.IntVal(self.members.setdefault(term.value, len(self.members)), context)
            case None:
                raise UnsupportedError("None is no scalar of a solver")

    def _float_value(self, value: float) -> Any:
        z3 = self._z3
        if math.isnan(value):
            return z3.fpNaN(self._float)
        if math.isinf(value):
            return z3.fpInfinity(self._float, value < 0)
        if value == 0:
            return z3.fpZero(self._float, math.copysign(1.0, value) < 0)
        mantissa, exponent = math.frexp(value)
        return z3.simplify(
            self._fp(
                "fpToFP",
                self._round,
                z3.RealVal(_ratio(Fraction(mantissa) * Fraction(2) ** exponent), self._context),
                self._float,
            )
        )

    def text(self, value: str) -> Any:
        """A string constant, code point by code point: nothing in it is read as an escape."""
        z3 = self._z3
        codes = (ctypes.c_uint * max(1, len(value)))(*map(ord, value))
        made = z3.z3core.Z3_mk_u32string(self._context.ref(), len(value), codes)
        return z3.SeqRef(made, self._context)

    # -- applications ----------------------------------------------------------------------------

    def _application(self, term: App, below: list[Any]) -> Any:
        types = tuple(arg.type for arg in term.args)
        match term.op:
            case "not":
                return self._z3.Not(below[0])
            case "and":
                return self._z3.And(*below) if len(below) > 1 else below[0]
            case "or":
                return self._z3.Or(*below) if len(below) > 1 else below[0]
            case "ite":
                return self._z3.If(*below)
            case "eq":
                return self._equal(types, below)
            case "lt" | "le":
                return self._ordered(term.op, types, below)
            case op if op in _NUMBERS:
                return self._number(op, types, below)
            case op if op in _TEXTS:
                return self._text(term, below)
            case op:
                raise UnsupportedError(f"{op} has no meaning in a solver here")

    def _equal(self, types: Sequence[Type], below: list[Any]) -> Any:
        left, right = below
        if types[0] == types[1]:
            return self._fp("fpEQ", left, right) if types[0] == FLOAT else left == right
        if FLOAT in types:
            at = types.index(FLOAT)
            number, other = below[at], below[1 - at]
            if types[1 - at] in (INT, REAL):
                return self._z3.And(
                    self._finite(number), self._real(number) == self._as_real(other)
                )
        if set(types) == {INT, REAL}:
            return self._as_real(left) == self._as_real(right)
        raise UnsupportedError(f"{types[0]} and {types[1]} are compared")

    def _ordered(self, op: str, types: Sequence[Type], below: list[Any]) -> Any:
        z3 = self._z3
        left, right = below
        strict = op == "lt"
        if types == (FLOAT, FLOAT):
            return self._fp("fpLT", left, right) if strict else self._fp("fpLEQ", left, right)
        if types == (STR, STR):
            return self._before(left, right) if strict else self._z3.Not(self._before(right, left))
        if FLOAT not in types:
            if types[0] != types[1]:
                left, right = self._as_real(left), self._as_real(right)
            return left < right if strict else left <= right
        at = types.index(FLOAT)
        number = below[at]
        endless = z3.And(
            self._fp("fpIsInf", number),
            self._fp("fpIsPositive", number) if at else self._fp("fpIsNegative", number),
        )
        ours = self._real(left) if at == 0 else self._as_real(left)
        theirs = self._real(right) if at == 1 else self._as_real(right)
        finite = z3.And(self._finite(number), ours < theirs if strict else ours <= theirs)
        return z3.Or(endless, finite)

    def _fp(self, function: str, *args: Any) -> Any:
        """A float function of Z3 in this context: left alone, they take the one that all share, and crash."""
        return getattr(self._z3, function)(*args, ctx=self._context)

    def _finite(self, number: Any) -> Any:
        z3 = self._z3
        return z3.Not(z3.Or(self._fp("fpIsNaN", number), self._fp("fpIsInf", number)))

    def _real(self, number: Any) -> Any:
        return self._fp("fpToReal", number)

    def _as_real(self, number: Any) -> Any:
        return self._z3.ToReal(number) if self._z3.is_int(number) else number

    def _number(self, op: str, types: Sequence[Type], below: list[Any]) -> Any:
        z3 = self._z3
        if types[0] == FLOAT:
            return self._float_operation(op, below)
        zero = z3.IntVal(0, self._context)
        match op:
            case "add":
                return z3.Sum(*below) if len(below) > 1 else below[0]
            case "sub":
                return below[0] - below[1]
            case "mul":
                product = below[0]
                for part in below[1:]:
                    product = product * part
                return product
            case "neg":
                return -below[0]
            case "abs":
                return z3.If(below[0] >= 0, below[0], -below[0])
            case "floordiv":
                # Z3 divides so that the remainder is not negative: the floor for a positive divisor.
                a, b = below
                return z3.If(b == 0, zero, z3.If(b > 0, a / b, (-a) / (-b)))
            case "mod":
                a, b = below
                return z3.If(b == 0, a, z3.If(b > 0, a % b, -((-a) % (-b))))
            case "rdiv":
                a, b = below
                return z3.If(b == 0, z3.RealVal(0, self._context), a / b)
            case "int_of_bool":
                return z3.If(below[0], z3.IntVal(1, self._context), zero)
            case "real_of_int":
                return z3.ToReal(below[0])
            case "float_of_int":
                return self._float_of_int(below[0])
            case _:
                raise UnsupportedError(f"{op} of {types[0]}")

    def _float_operation(self, op: str, below: list[Any]) -> Any:
        match op:
            case "add" | "mul":
                combine = "fpAdd" if op == "add" else "fpMul"
                total = below[0]
                for part in below[1:]:
                    total = self._fp(combine, self._round, total, part)
                return total
            case "sub":
                return self._fp("fpSub", self._round, *below)
            case "fdiv":
                return self._fp("fpDiv", self._round, *below)
            case "neg":
                return self._fp("fpNeg", below[0])
            case "abs":
                return self._fp("fpAbs", below[0])
            case "is_nan":
                return self._fp("fpIsNaN", below[0])
            case "is_inf":
                return self._fp("fpIsInf", below[0])
            case _:
                raise UnsupportedError(f"{op} of float")

    def _float_of_int(self, number: Any) -> Any:
        """The nearest float: exact where every int is a float, else only its sign and that it is a number."""
        self.approximate = True
        z3 = self._z3
        nearest = z3.Function("float_of_int", z3.IntSort(self._context), self._float)(number)
        small = z3.And(number >= -EXACT_INTS, number <= EXACT_INTS)
        self._axioms += [
            z3.Not(self._fp("fpIsNaN", nearest)),
            z3.Implies(
                small, z3.And(self._finite(nearest), self._real(nearest) == z3.ToReal(number))
            ),
            z3.Implies(
                number > EXACT_INTS,
                self._fp("fpGEQ", nearest, self._float_value(float(EXACT_INTS))),
            ),
            z3.Implies(
                number < -EXACT_INTS,
                self._fp("fpLEQ", nearest, self._float_value(float(-EXACT_INTS))),
            ),
            z3.Implies(number == 0, self._fp("fpIsPositive", nearest)),
        ]
        return nearest

    # -- strings ---------------------------------------------------------------------------------

    def length(self, text: Any) -> Any:
        """The length of a string."""
        return self._z3.Length(text)

    def contains(self, text: Any, part: Any) -> Any:
        """Whether a string holds another."""
        return self._z3.Contains(text, part)

    def _before(self, left: Any, right: Any) -> Any:
        return left < right

    def _matched(self, term: Matches, text: Any) -> Any:
        return self._z3.InRe(text, regex_for_z3(term.regex, self._z3, self.text))

    def _text(self, term: App, below: list[Any]) -> Any:
        z3 = self._z3
        match term.op:
            case "concat":
                return z3.Concat(*below) if len(below) > 1 else below[0]
            case "len":
                return self.length(below[0])
            case "contains":
                return self.contains(below[0], below[1])
            case "startswith":
                return z3.PrefixOf(below[1], below[0])
            case "endswith":
                return z3.SuffixOf(below[1], below[0])
            case "substring":
                return z3.SubString(*below)
            case "find":
                return z3.IndexOf(*below)
            case "str_of_int":
                number = below[0]
                return z3.If(
                    number < 0,
                    z3.Concat(self.text("-"), z3.IntToStr(-number)),
                    z3.IntToStr(number),
                )
            case "count":
                return self._count(*below)
            case _:
                return self._replaced(*below)

    def _count(self, text: Any, part: Any) -> Any:
        self.approximate = True
        z3 = self._z3
        string = self._sort(STR)
        count = z3.Function("count", string, string, z3.IntSort(self._context))(text, part)
        empty = part == self.text("")
        self._axioms += [
            count >= 0,
            z3.Implies(empty, count == self.length(text) + 1),
            z3.Implies(z3.Not(empty), (count == 0) == z3.Not(self.contains(text, part))),
            z3.Implies(z3.Not(empty), count <= self.length(text)),
        ]
        return count

    def _replaced(self, text: Any, old: Any, new: Any) -> Any:
        self.approximate = True
        z3 = self._z3
        string = self._sort(STR)
        made = z3.Function("replace", string, string, string, string)(text, old, new)
        empty = old == self.text("")
        self._axioms += [
            z3.Implies(z3.Or(empty, z3.Not(self.contains(text, old))), made == text),
            z3.Implies(z3.And(text == old, z3.Not(empty)), made == new),
            z3.Implies(
                self.length(old) == self.length(new), self.length(made) == self.length(text)
            ),
            z3.Implies(
                z3.And(self.length(old) == 1, z3.Not(self.contains(new, old))),
                z3.Not(self.contains(made, old)),
            ),
        ]
        return made


_NUMBERS: Final = frozenset(
    {
        "add",
        "sub",
        "mul",
        "neg",
        "abs",
        "floordiv",
        "mod",
        "fdiv",
        "rdiv",
        "is_nan",
        "is_inf",
        "int_of_bool",
        "float_of_int",
        "real_of_int",
    }
)
_TEXTS: Final = frozenset(
    {
        "concat",
        "len",
        "contains",
        "startswith",
        "endswith",
        "substring",
        "find",
        "replace",
        "count",
        "str_of_int",
    }
)
