"""Rules of propositional logic and of equality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lictor_ir.certificate.cpc.errors import Refused
from lictor_ir.certificate.cpc.rules import Rule, rule
from lictor_ir.certificate.cpc.terms import MANY, OPAQUE, Term, Terms, operands

RULES: Final[dict[str, Rule]] = {}


# -- clauses ---------------------------------------------------------------------------------------


def _clause(formula: Term, unit: Term | None = None) -> Sequence[Term]:
    """The literals of a clause; what is the literal that is asked for is a clause of it alone."""
    if formula.value is False:
        return ()
    return (formula,) if formula is unit else operands("or", formula)


def _resolved(
    terms: Terms, clauses: Sequence[Term], polarities: Sequence[Term], pivots: Sequence[Term]
) -> list[Term]:
    """What is left of the clauses, joined from left to right, without the pivots that cancel out."""
    if not len(clauses) - 1 == len(pivots) == len(polarities) > 0:
        raise Refused("there must be a pivot between any two clauses")
    left: Sequence[Term] | None = None
    for clause, pivot, polarity in zip(clauses[1:], pivots, polarities, strict=True):
        here, there = pivot, terms.no(pivot)
        if not flag(polarity):
            here, there = there, here
        left = _clause(clauses[0], here) if left is None else left
        terms.spend(len(left) + len(clause.args))
        left = [each for each in left if each is not here]
        left += [each for each in _clause(clause, there) if each is not there]
    return list(left or ())


def _weaker(terms: Terms, literals: Sequence[Term], wanted: Term) -> Term:
    """A clause that has all of these literals."""
    terms.spend(len(literals) + len(wanted.args))
    if not {wanted, *_clause(wanted)}.issuperset(literals):
        raise Refused("the clause lacks a literal that is left")
    return wanted


@rule(RULES, "resolution", premises=None, args=2)
def _resolution(terms: Terms, clauses: Sequence[Term], polarity: Term, pivot: Term) -> Term:
    return terms.listed("or", _resolved(terms, clauses, [polarity], [pivot]))


@rule(RULES, "chain_resolution", premises=None, args=2)
def _chain(terms: Terms, clauses: Sequence[Term], polarities: Term, pivots: Term) -> Term:
    return terms.listed("or", _resolved(terms, clauses, _list(polarities), _list(pivots)))


@rule(RULES, "chain_m_resolution", premises=None, args=3)
def _chain_to(
    terms: Terms, clauses: Sequence[Term], wanted: Term, polarities: Term, pivots: Term
) -> Term:
    return _weaker(terms, _resolved(terms, clauses, _list(polarities), _list(pivots)), wanted)


@rule(RULES, "reordering", premises=1, args=1)
def _reordering(terms: Terms, clause: Term, wanted: Term) -> Term:
    return _weaker(terms, _clause(clause), wanted)


@rule(RULES, "factoring", premises=1)
def _factoring(terms: Terms, clause: Term) -> Term:
    return terms.listed("or", dict.fromkeys(_clause(clause)))


# -- conjunctions and disjunctions -----------------------------------------------------------------


@rule(RULES, "and_intro", premises=None)
def _and_intro(terms: Terms, formulas: Sequence[Term]) -> Term:
    return terms.app("and", *formulas)


@rule(RULES, "and_elim", premises=1, args=1)
def _and_elim(_: Terms, formula: Term, index: Term) -> Term:
    return _nth("and", formula, index)


@rule(RULES, "not_or_elim", premises=1, args=1)
def _not_or_elim(terms: Terms, formula: Term, index: Term) -> Term:
    (inner,) = parts_of("not", formula)
    return terms.no(_nth("or", inner, index))


@rule(RULES, "not_and", premises=1)
def _not_and(terms: Terms, formula: Term) -> Term:
    (inner,) = parts_of("not", formula)
    return terms.app("or", *map(terms.no, parts_of("and", inner)))


@rule(RULES, "cnf_and_pos", args=2)
def _cnf_and_pos(terms: Terms, formula: Term, index: Term) -> Term:
    return terms.app("or", terms.no(formula), _nth("and", formula, index))


@rule(RULES, "cnf_and_neg", args=1)
def _cnf_and_neg(terms: Terms, formula: Term) -> Term:
    return terms.app("or", formula, *map(terms.no, parts_of("and", formula)))


@rule(RULES, "cnf_or_pos", args=1)
def _cnf_or_pos(terms: Terms, formula: Term) -> Term:
    return terms.app("or", terms.no(formula), *parts_of("or", formula))


@rule(RULES, "cnf_or_neg", args=2)
def _cnf_or_neg(terms: Terms, formula: Term, index: Term) -> Term:
    return terms.app("or", formula, terms.no(_nth("or", formula, index)))


@rule(RULES, "process_scope", premises=1, args=1)
def _process_scope(terms: Terms, formula: Term, wanted: Term) -> Term:
    """From `(=> F (=> G C))` that F and G together imply C."""
    assumed: list[Term] = []
    while formula is not wanted:
        first, formula = parts_of("=>", formula)
        assumed.append(first)
    together = terms.listed("and", assumed)
    return terms.no(together) if wanted is terms.false else terms.app("=>", together, wanted)


# -- equality --------------------------------------------------------------------------------------


@rule(RULES, "symm", premises=1)
def _symm(terms: Terms, formula: Term) -> Term:
    if formula.op == "not":
        return terms.no(terms.eq(*reversed(parts_of("=", formula.args[0]))))
    return terms.eq(*reversed(parts_of("=", formula)))


@rule(RULES, "trans", premises=None)
def _trans(terms: Terms, equations: Sequence[Term]) -> Term:
    first, last = parts_of("=", equations[0])
    for equation in equations[1:]:
        left, right = parts_of("=", equation)
        if left is not last:
            raise Refused("an equation does not begin where the one before it ends")
        last = right
    return terms.eq(first, last)


@rule(RULES, "cong", "nary_cong", premises=None, args=1)
def _cong(terms: Terms, equations: Sequence[Term], term: Term) -> Term:
    """Equations for the last operands; those before stay."""
    kept = len(term.args) - len(equations)
    if kept < 0 or (kept and term.op in MANY) or term.op in OPAQUE:
        raise Refused("the premises are not about the operands")
    after = list(term.args[:kept])
    for operand, equation in zip(term.args[kept:], equations, strict=True):
        left, right = parts_of("=", equation)
        if left is not operand:
            raise Refused("a premise is not about the operand in its place")
        after.append(right)
    return terms.eq(term, terms.app(term.op, *after))


def flattened(terms: Terms, op: str, term: Term) -> list[Term]:
    """The operands of an operator, also of those in its operands, without neutral ones."""
    neutral = terms.neutral(op)
    flat: list[Term] = []
    todo = [term]
    while todo:
        each = todo.pop()
        terms.spend(1)
        if each.op == op:
            todo.extend(reversed(each.args))
        elif each is not neutral:
            flat.append(each)
    return flat


@rule(RULES, "aci_norm", args=1)
def _aci_norm(terms: Terms, equation: Term) -> Term:
    """Only brackets differ; for the operators where they mean nothing, also order and repetition."""
    ops = [side.op for side in parts_of("=", equation) if side.op in MANY - {"+", "*", "distinct"}]
    if not ops:
        raise Refused("an operator that joins its operands was expected")
    left, right = (flattened(terms, ops[0], side) for side in equation.args)
    if left != right and (ops[0] in ("str.++", "re.++") or set(left) != set(right)):
        raise Refused("the two sides join different operands")
    return equation


@rule(RULES, "absorb", args=1)
def _absorb(terms: Terms, equation: Term) -> Term:
    left, zero = parts_of("=", equation)
    right_zero = {
        "or": terms.true,
        "and": terms.false,
        "re.inter": terms.app("re.none"),
        "re.++": terms.app("re.none"),
        "re.union": terms.app("re.all"),
    }.get(left.op)
    if zero is not right_zero or zero not in flattened(terms, left.op, left):
        raise Refused("nothing absorbs the rest")
    return equation


@rule(RULES, "distinct_values", args=2)
def _distinct_values(terms: Terms, left: Term, right: Term) -> Term:
    if not (left.literal and right.literal) or left is right:
        raise Refused("two different literals were expected")
    return terms.no(terms.eq(left, right))


# -- forms -----------------------------------------------------------------------------------------


def parts_of(op: str, term: Term) -> tuple[Term, ...]:
    """The operands of an application that must be of this operator."""
    if term.op != op:
        raise Refused(f"an application of {op} was expected")
    return term.args


def flag(term: Term) -> bool:
    """The value of `true` or `false`."""
    if not isinstance(term.value, bool):
        raise Refused("true or false was expected")
    return term.value


def _nth(op: str, formula: Term, index: Term) -> Term:
    parts = parts_of(op, formula)
    if type(index.value) is not int or not 0 <= index.value < len(parts):
        raise Refused(f"an index of {op} was expected")
    return parts[index.value]


def _list(term: Term) -> tuple[Term, ...]:
    return parts_of("@list", term)
