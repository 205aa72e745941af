"""Rules that no line of the table states: clauses, equations, polynomials, values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil, floor
from typing import Any, Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.rules import RULES, rule
from lictor_ir.certificate.cpc.terms import (
    INT,
    MANY,
    MAX_SIZE,
    REAL,
    Term,
    Terms,
    below,
    operands,
    size,
)
from lictor_ir.certificate.cpc.values import VALUES

__all__ = ["RULES"]

Polynomial = dict[tuple[Term, ...], int | Fraction]
"""Products of terms, in a fixed order, with their factors; no factor is zero."""
MAX_DEPTH: Final = 100
"""Of a regular expression that is evaluated."""
_INNER: Final = frozenset({"+", "-", "*", "/", "to_real"})
_JOINING: Final = MANY - {"+", "*"}
_COMPARISONS: Final = frozenset({"=", "<", "<=", ">", ">="})


# -- formulas and equations ------------------------------------------------------------------------


def parts_of(op: str, term: Term) -> tuple[Term, ...]:
    """The operands of an application that must be of this operator."""
    if term.op != op:
        raise Refused(f"an application of {op} was expected")
    return term.args


def _clause(formula: Term, unit: Term | None = None) -> Sequence[Term]:
    """The literals of a clause; what is the literal that is asked for is a clause of it alone."""
    if formula.value is False:
        return ()
    return (formula,) if formula is unit else operands("or", formula)


def _resolved(
    terms: Terms, clauses: Sequence[Term], polarities: Sequence[Term], pivots: Sequence[Term]
) -> Sequence[Term]:
    """What is left of the clauses, joined from left to right, without the pivots that cancel out."""
    if not len(clauses) - 1 == len(pivots) == len(polarities) > 0:
        raise Refused("there must be a pivot between any two clauses")
    left: Sequence[Term] | None = None
    for clause, pivot, polarity in zip(clauses[1:], pivots, polarities, strict=True):
        if not isinstance(polarity.value, bool):
            raise Refused("true or false was expected")
        here, there = (pivot, terms.no(pivot)) if polarity.value else (terms.no(pivot), pivot)
        left = _clause(clauses[0], here) if left is None else left
        terms.spend(len(left) + len(clause.args))
        left = [each for each in left if each is not here]
        left += [each for each in _clause(clause, there) if each is not there]
    return left or ()


@rule("resolution", premises=None, args=2)
def _resolution(terms: Terms, clauses: Sequence[Term], polarity: Term, pivot: Term) -> Term:
    return terms.listed("or", _resolved(terms, clauses, [polarity], [pivot]))


@rule("chain_resolution", premises=None, args=2)
def _chain(terms: Terms, clauses: Sequence[Term], polarities: Term, pivots: Term) -> Term:
    lists = parts_of("@list", polarities), parts_of("@list", pivots)
    return terms.listed("or", _resolved(terms, clauses, *lists))


@rule("chain_m_resolution", premises=None, args=3)
def _chain_to(
    terms: Terms, clauses: Sequence[Term], wanted: Term, polarities: Term, pivots: Term
) -> Term:
    return _reordering(terms, _chain(terms, clauses, polarities, pivots), wanted)


@rule("reordering", premises=1, args=1)
def _reordering(terms: Terms, clause: Term, wanted: Term) -> Term:
    """A clause that has all literals of the other."""
    terms.spend(len(clause.args) + len(wanted.args))
    if not {wanted, *_clause(wanted)}.issuperset(_clause(clause, wanted)):
        raise Refused("the clause lacks a literal that is left")
    return wanted


@rule("and_intro", premises=None)
def _and_intro(terms: Terms, formulas: Sequence[Term]) -> Term:
    return terms.app("and", *formulas)


@rule("process_scope", premises=1, args=1)
def _process_scope(terms: Terms, formula: Term, wanted: Term) -> Term:
    """From `(=> F (=> G C))` that F and G together imply C."""
    assumed: list[Term] = []
    while formula is not wanted:
        first, formula = parts_of("=>", formula)
        assumed.append(first)
    together = terms.listed("and", assumed)
    return terms.no(together) if wanted is terms.false else terms.app("=>", together, wanted)


@rule("trans", premises=None)
def _trans(terms: Terms, equations: Sequence[Term]) -> Term:
    first, last = parts_of("=", equations[0])
    for equation in equations[1:]:
        left, right = parts_of("=", equation)
        if left is not last:
            raise Refused("an equation does not begin where the one before it ends")
        last = right
    return terms.eq(first, last)


@rule("cong", "nary_cong", premises=None, args=1)
def _cong(terms: Terms, equations: Sequence[Term], term: Term) -> Term:
    """Equations for the last operands; those before stay."""
    kept = len(term.args) - len(equations)
    if kept < 0 or (kept and term.op in MANY):
        raise Refused("the premises are not about the operands")
    sides = [parts_of("=", equation) for equation in equations]
    if term.args[kept:] != tuple(left for left, _ in sides):
        raise Refused("a premise is not about the operand in its place")
    return terms.eq(term, terms.app(term.op, *term.args[:kept], *(right for _, right in sides)))


def flattened(terms: Terms, op: str, term: Term) -> list[Term]:
    """The operands of an operator, also of those in its operands, without neutral ones."""
    flat: list[Term] = []
    todo = [term]
    while todo:
        each = todo.pop()
        terms.spend(1)
        if each.op == op:
            todo.extend(reversed(each.args))
        elif each is not terms.neutral(op):
            flat.append(each)
    return flat


@rule("aci_norm", args=1)
def _aci_norm(terms: Terms, equation: Term) -> Term:
    """Only brackets differ; for the operators where they mean nothing, also order and repetition."""
    left, right = parts_of("=", equation)
    op = left.op if left.op in _JOINING else right.op
    if op not in _JOINING:
        raise Refused("an operator that joins its operands was expected")
    one, other = (flattened(terms, op, side) for side in (left, right))
    if one != other and (op not in ("and", "or", "re.union") or set(one) != set(other)):
        raise Refused("the two sides join different operands")
    return equation


@rule("absorb", args=1)
def _absorb(terms: Terms, equation: Term) -> Term:
    left, zero = parts_of("=", equation)
    zeros = {"or": terms.true, "and": terms.false, "re.++": terms.app("re.none")}
    if zero is not zeros.get(left.op) or zero not in flattened(terms, left.op, left):
        raise Refused("nothing absorbs the rest")
    return equation


# -- numbers ---------------------------------------------------------------------------------------


def polynomial(terms: Terms, root: Term) -> Polynomial:
    """What a number is as a polynomial over the terms that are no sums or products."""
    known: dict[Term, Polynomial] = {}
    for term in below(root, _INNER):
        terms.spend(1)
        parts = [known[arg] for arg in term.args] if term.op in _INNER else []
        known[term] = _polynomial(terms, term, parts)
    return known[root]


def _polynomial(terms: Terms, term: Term, parts: list[Polynomial]) -> Polynomial:
    match term.op, parts:
        case "#", _:
            return _sum(terms, [((), _number(term))])
        case "to_real", [part]:
            return part
        case "-", [part]:
            return _product(terms, part, {(): -1})
        case "-", [left, right]:
            return _sum(terms, [*left.items(), *_product(terms, right, {(): -1}).items()])
        case "+", _:
            return _sum(terms, (pair for part in parts for pair in part.items()))
        case "*", _:
            return reduce(lambda left, right: _product(terms, left, right), parts)
        case "/", [part, _] if _number(term.args[1]):
            return _product(terms, part, {(): Fraction(1) / _number(term.args[1])})
        case _:
            return {(term,): 1}


def _number(term: Term) -> int | Fraction:
    """The value of a literal that is a number; of other terms 0."""
    return term.value if isinstance(term.value, int | Fraction) else 0


def _sum(terms: Terms, pairs: Iterable[tuple[tuple[Term, ...], int | Fraction]]) -> Polynomial:
    total: Polynomial = {}
    for product, number in pairs:
        terms.spend(1 + len(product))
        total[product] = found = total.get(product, 0) + number
        # Here, because fractions and factors can outgrow any bound within one sum or product.
        if size(found) > MAX_SIZE:
            raise Refused("a number is too large")
    return {product: number for product, number in total.items() if number}


def _product(terms: Terms, left: Polynomial, right: Polynomial) -> Polynomial:
    pairs = ((one, other) for one in left for other in right)
    return _sum(terms, ((tuple(sorted(a + b, key=id)), left[a] * right[b]) for a, b in pairs))


@rule("arith_poly_norm", args=1)
def _poly_norm(terms: Terms, equation: Term) -> Term:
    left, right = parts_of("=", equation)
    if left.sort not in (INT, REAL) or polynomial(terms, left) != polynomial(terms, right):
        raise Refused("the two sides are not the same polynomial")
    return equation


@rule("arith_poly_norm_rel", premises=1, args=1)
def _poly_norm_rel(terms: Terms, differences: Term, equation: Term) -> Term:
    """Two comparisons are the same if their differences are, up to factors of one sign (for equations, of any)."""
    left, right = parts_of("=", equation)
    if left.op != right.op or left.op not in _COMPARISONS:
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


@rule("arith_sum_ub", premises=None)
def _sum_ub(terms: Terms, bounds: Sequence[Term]) -> Term:
    ops = {each.op for each in bounds}
    if not ops <= {"=", "<", "<="}:
        raise Refused("inequations were expected that bound from above")
    left, right = (terms.app("+", *(each.args[at] for each in bounds)) for at in (0, 1))
    return terms.app("<" if "<" in ops else "<=", left, right)


@rule("int_tight_ub", "int_tight_lb", premises=1)
def _tightened(terms: Terms, bound: Term) -> Term:
    """An integer below (above) a number is at most (at least) the next integer."""
    if bound.op not in ("<", ">") or bound.args[0].sort != INT or bound.args[1].value is None:
        raise Refused("an integer below or above a literal was expected")
    number, limit = bound.args[0], _number(bound.args[1])
    if bound.op == "<":
        return terms.app("<=", number, terms.literal(ceil(limit) - 1))
    return terms.app(">=", number, terms.literal(floor(limit) + 1))


# -- values ----------------------------------------------------------------------------------------


def evaluated(terms: Terms, root: Term) -> Term:
    """The literal that a term without variables is equal to."""
    values: dict[Term, Any] = {}
    for term in below(root):
        args = [values[arg] for arg in term.args]
        sizes = sum(map(size, args))
        terms.spend(1 + sizes)
        if term.op in ("/", "div", "mod") and not args[1]:
            raise Refused("division by zero has no value that all agree on")
        # The denominators of addends multiply, as factors do.
        lengths = {"*": map(size, args), "+": (each.denominator.bit_length() - 1 for each in args)}
        if sum(lengths.get(term.op, ())) > 2 * MAX_SIZE:
            raise Refused("a number is too large")
        if term.value is None and term.op not in VALUES:
            raise NotKnown(f"the value of {term.op}")
        values[term] = term.value if term.value is not None else VALUES[term.op](args)
        if size(values[term]) > MAX_SIZE:
            raise Refused("a value is too large")
    return terms.literal(values[root])


@rule("evaluate", args=1)
def _evaluate(terms: Terms, term: Term) -> Term:
    return terms.eq(term, evaluated(terms, term))


def matches(terms: Terms, text: str, regex: Term) -> bool:
    """Whether a regular expression over literals matches a text."""
    return len(text) in _ends(terms, text, regex, {0}, MAX_DEPTH)


def _ends(terms: Terms, text: str, regex: Term, starts: set[int], depth: int) -> set[int]:
    """Where matches end that begin at one of the starts."""
    terms.spend(1 + len(starts))
    if not depth:
        raise Refused("a regular expression is nested too deeply")
    match regex.op, [part.value for part in regex.args]:
        case "str.to_re", [str(part)]:
            return {at + len(part) for at in starts if text.startswith(part, at)}
        case "re.range", [str(low), str(high)]:
            single = len(low) == len(high) == 1
            return {at + 1 for at in starts if single and low <= text[at : at + 1] <= high}
        case "re.allchar", []:
            return {at + 1 for at in starts if at < len(text)}
        case "re.none", []:
            return set()
        case "re.++", _:
            for part in regex.args:
                starts = _ends(terms, text, part, starts, depth - 1)
            return starts
        case "re.union", _:
            return {
                end for part in regex.args for end in _ends(terms, text, part, starts, depth - 1)
            }
        case "re.*", _:
            found, fresh = starts, starts
            while fresh:
                fresh = _ends(terms, text, regex.args[0], fresh, depth - 1) - found
                found = found | fresh
            return found
        case _:
            raise NotKnown(f"the value of {regex.op}")


@rule("str-in-re-eval", args=1)
def _in_re_eval(terms: Terms, equation: Term) -> Term:
    member, value = parts_of("=", equation)
    text, regex = parts_of("str.in_re", member)
    if not isinstance(text.value, str) or value.value is not matches(terms, text.value, regex):
        raise Refused("the match has another value, or none")
    return equation


@rule("re-loop-elim", args=1)
def _loop_elim(terms: Terms, equation: Term) -> Term:
    """A loop is the union of as many repetitions as it allows."""
    loop, unrolled = parts_of("=", equation)
    least, most, body = parts_of("re.loop", loop)
    allowed = range(int(_number(least)), int(_number(most)) + 1)
    piece = flattened(terms, "re.++", body)
    terms.spend(sum(allowed) * len(piece))
    choices = operands("re.union", unrolled) if len(allowed) > 1 else (unrolled,)
    found = [flattened(terms, "re.++", each) for each in choices]
    if not allowed or found != [piece * times for times in allowed]:
        raise Refused("the loop is not spelled out")
    return equation
