"""Rules about numbers: polynomials, sums of inequations, bounds of integers, division."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.logic import parts_of
from lictor_ir.certificate.cpc.rules import Rule, rule
from lictor_ir.certificate.cpc.terms import INT, MAX_BITS, REAL, Term, Terms, below, operands

Polynomial = dict[tuple[Term, ...], "int | Fraction"]
"""Products of terms, in a fixed order, with their factors; no factor is zero."""

RULES: Final[dict[str, Rule]] = {}
NUMBERS: Final = (INT, REAL)
_INNER: Final = frozenset({"+", "-", "*", "/", "/_total", "to_real"})
_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


# -- polynomials -----------------------------------------------------------------------------------


def polynomial(terms: Terms, root: Term) -> Polynomial:
    """What a number is as a polynomial over the terms that are no sums or products."""
    known: dict[Term, Polynomial] = {}
    for term in below(root, _INNER):
        parts = [known[arg] for arg in term.args] if term.op in _INNER else []
        known[term] = found = _polynomial(terms, term, parts)
        if any(max(map(int.bit_length, _pair(number))) > MAX_BITS for number in found.values()):
            raise Refused("a number is too large")
    return known[root]


def _polynomial(terms: Terms, term: Term, parts: list[Polynomial]) -> Polynomial:
    if term.literal:
        return {(): _number(term)} if term.value else {}
    match term.op, parts:
        case "to_real", [part]:
            return part
        case "-", [part]:
            return _scaled(part, -1)
        case "-", [left, right]:
            return _added([left, _scaled(right, -1)])
        case "+", _:
            terms.spend(sum(map(len, parts)))
            return _added(parts)
        case "*", [first, *others]:
            for other in others:
                factors = max(map(len, first), default=0) + max(map(len, other), default=0)
                terms.spend(len(first) * len(other) * (1 + factors))
                first = _multiplied(first, other)
            return first
        case (("/" | "/_total"), [part, _]) if _number(term.args[1]):
            return _scaled(part, Fraction(1) / _number(term.args[1]))
        case _:
            return {(term,): 1}


def _number(term: Term) -> int | Fraction:
    """The value of a literal that is a number; of other terms 0."""
    return term.value if isinstance(term.value, int | Fraction) else 0


def _pair(number: int | Fraction) -> tuple[int, int]:
    return number.numerator, number.denominator


def _scaled(part: Polynomial, factor: int | Fraction) -> Polynomial:
    return {product: number * factor for product, number in part.items()}


def _added(parts: list[Polynomial]) -> Polynomial:
    total: Polynomial = {}
    for part in parts:
        for product, number in part.items():
            total[product] = total.get(product, 0) + number
    return {product: number for product, number in total.items() if number}


def _multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    return _added(
        [
            {tuple(sorted((*one, *other), key=id)): first * second}
            for one, first in left.items()
            for other, second in right.items()
        ]
    )


@rule(RULES, "arith_poly_norm", args=1)
def _poly_norm(terms: Terms, equation: Term) -> Term:
    left, right = parts_of("=", equation)
    if left.sort not in NUMBERS:
        raise NotKnown("arith_poly_norm of other than numbers")
    if polynomial(terms, left) != polynomial(terms, right):
        raise Refused("the two sides are different polynomials")
    return equation


@rule(RULES, "arith_poly_norm_rel", premises=1, args=1)
def _poly_norm_rel(terms: Terms, differences: Term, equation: Term) -> Term:
    """Two comparisons are the same if their differences are, up to factors of one sign (for equations, of any)."""
    left, right = parts_of("=", equation)
    if left.op != right.op or left.op not in _MIRRORED or left.args[0].sort not in NUMBERS:
        raise Refused("two comparisons of numbers were expected")
    factors: list[int | Fraction] = []
    for side, product in zip((left, right), parts_of("=", differences), strict=True):
        factor, *others = parts_of("*", product)
        difference = terms.app("-", *side.args)
        if others not in ([difference], [terms.app("to_real", difference)]):
            raise Refused("the premise is not about the differences of the sides")
        factors.append(_number(factor))
    if not factors[0] * factors[1] or (left.op != "=" and factors[0] * factors[1] < 0):
        raise Refused("the factors do not keep the comparison")
    return equation


# -- inequations -----------------------------------------------------------------------------------


@rule(RULES, "arith_sum_ub", premises=None)
def _sum_ub(terms: Terms, bounds: Sequence[Term]) -> Term:
    ops = {each.op for each in bounds}
    if not ops <= {"=", "<", "<="}:
        raise Refused("inequations were expected that bound from above")
    left, right = (terms.app("+", *(each.args[at] for each in bounds)) for at in (0, 1))
    return terms.app("<" if "<" in ops else "<=", left, right)


@rule(RULES, "arith_mult_pos", args=2)
def _mult_pos(terms: Terms, factor: Term, formula: Term) -> Term:
    return _multiplied_by(terms, factor, formula, ">", formula.op)


@rule(RULES, "arith_mult_neg", args=2)
def _mult_neg(terms: Terms, factor: Term, formula: Term) -> Term:
    return _multiplied_by(terms, factor, formula, "<", _MIRRORED.get(formula.op, ""))


def _multiplied_by(terms: Terms, factor: Term, formula: Term, sign: str, op: str) -> Term:
    if formula.op not in _MIRRORED:
        raise Refused("a comparison was expected")
    demanded = terms.app("and", terms.app(sign, factor, terms.zero(factor.sort)), formula)
    left, right = (terms.app("*", factor, side) for side in formula.args)
    return terms.app("=>", demanded, terms.app(op, left, right))


@rule(RULES, "arith_trichotomy", premises=2)
def _trichotomy(terms: Terms, one: Term, other: Term) -> Term:
    """Of less, equal and greater, two don't hold: so the third does."""
    (first, sides), (second, same_sides) = _denied(one), _denied(other)
    left = {"=", "<", ">"} - {first, second}
    if sides != same_sides or len(left) != 1 or sides[0].sort not in NUMBERS:
        raise Refused("two of three ways to compare the same numbers must be denied")
    return terms.app(left.pop(), *sides)


def _denied(formula: Term) -> tuple[str, tuple[Term, ...]]:
    """The comparison that a formula says not to hold."""
    if formula.op in _NEGATED:
        return _NEGATED[formula.op], formula.args
    if formula.op == "not" and formula.args[0].op in _MIRRORED:
        return formula.args[0].op, formula.args[0].args
    raise Refused("a comparison was expected")


@rule(RULES, "int_tight_ub", premises=1)
def _tight_ub(terms: Terms, bound: Term) -> Term:
    number, limit = _integer_against_literal("<", bound)
    return terms.app("<=", number, terms.integer(ceil(limit) - 1))


@rule(RULES, "int_tight_lb", premises=1)
def _tight_lb(terms: Terms, bound: Term) -> Term:
    number, limit = _integer_against_literal(">", bound)
    return terms.app(">=", number, terms.integer(floor(limit) + 1))


def _integer_against_literal(op: str, bound: Term) -> tuple[Term, int | Fraction]:
    number, limit = parts_of(op, bound)
    if number.sort != INT or not limit.literal:
        raise Refused(f"an integer {op} a literal was expected")
    return number, _number(limit)


@rule(RULES, "arith_mult_sign", args=2)
def _mult_sign(terms: Terms, known: Term, product: Term) -> Term:
    """The sign of a product from the signs of what is multiplied."""
    factors = list(operands("*", product))
    positive = True
    for fact in operands("and", known):
        sign = fact.args[0] if fact.op == "not" else fact
        if sign.op not in ("=", "<", ">") or (fact.op == "not") != (sign.op == "="):
            raise Refused("signs of factors were expected")
        factor, zero = sign.args
        power = sum(each is factor for each in factors)
        if zero.value != 0 or not power or (sign.op == "=" and power % 2):
            raise Refused("a sign is not about a factor")
        positive ^= sign.op == "<" and power % 2 == 1
        factors = [each for each in factors if each is not factor]
    if factors:
        raise Refused("the sign of a factor is not known")
    found = terms.app(">" if positive else "<", product, terms.zero(product.sort))
    return terms.app("=>", known, found)


# -- division --------------------------------------------------------------------------------------


@rule(RULES, "arith_reduction", args=1)
def _reduction(terms: Terms, term: Term) -> Term:
    """What division and magnitude mean."""
    app = terms.app
    match term.op, term.args:
        case (("div" | "mod"), (a, b)):
            open_value = app("@int_div_by_zero" if term.op == "div" else "@mod_by_zero", a)
            total = app(f"{term.op}_total", a, b)
            return terms.eq(term, app("ite", terms.eq(b, terms.zero(INT)), open_value, total))
        case "div_total", (a, b):
            quotient = app("@purify", term)
            return app("and", terms.eq(term, quotient), _quotient(terms, a, b, quotient))
        case "mod_total", (a, b):
            quotient = app("@purify", app("div_total", a, b))
            rest = app("-", a, app("*", b, quotient))
            return app("and", terms.eq(term, rest), _quotient(terms, a, b, quotient))
        case "/", (a, b):
            open_value = app("@div_by_zero", a if a.sort == REAL else app("to_real", a))
            total = app("/_total", a, b)
            return terms.eq(term, app("ite", terms.eq(b, terms.zero(b.sort)), open_value, total))
        case "/_total", (a, b):
            quotient = app("@purify", term)
            exact = terms.eq(app("*", b, quotient), a)
            possible = app("=>", terms.no(terms.eq(b, terms.zero(b.sort))), exact)
            return app("and", terms.eq(term, quotient), possible)
        case "abs", (a,):
            return terms.eq(term, app("ite", app("<", a, terms.zero(a.sort)), app("-", a), a))
        case _:
            raise NotKnown(f"arith_reduction of {term.op}")


def _quotient(terms: Terms, a: Term, b: Term, quotient: Term) -> Term:
    app = terms.app
    least = app("<=", app("*", b, quotient), a)

    def most(by: int) -> Term:
        return app("<", a, app("*", b, app("+", quotient, terms.integer(by))))

    if isinstance(b.value, int):
        if not b.value:
            raise Refused("nothing is said of a quotient by zero")
        return app("and", least, most(1 if b.value > 0 else -1))
    zero = terms.zero(INT)
    return app(
        "and",
        app("=>", app(">", b, zero), app("and", least, most(1))),
        app("=>", app("<", b, zero), app("and", least, most(-1))),
    )
