"""Every line of the checker's table holds for every value that was tried; every evaluator agrees with a solver.

This is what the table rests on: nothing else says that a line is right.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import z3  # pyright: ignore[reportMissingTypeStubs]
from cpc_instances import SHORT, given, holds, instances, pools, value, written

from lictor_ir.certificate.cpc.errors import Refused
from lictor_ir.certificate.cpc.functions import evaluated, matches
from lictor_ir.certificate.cpc.rules import TABLE, Line, build, read_line
from lictor_ir.certificate.cpc.terms import MANY, SIGNATURES, Term, Terms
from lictor_ir.certificate.cpc.values import VALUES

LINES = [line for lines in TABLE.values() for line in lines]
TRIES = 4_000
ENOUGH = 100
APPLIES = 15


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_line_holds_for_all_values_that_meet_its_premises(line: Line) -> None:
    terms = Terms()
    met = 0
    for bound in instances(terms, line, Random(line.name), TRIES):
        try:
            premises = [given(terms, pattern, bound) for pattern in line.premises]
            args = [given(terms, pattern, bound) for pattern in line.args]
            conclusion = build(terms, line.conclusion, bound)
        except Refused:
            continue  # such as a negative number of repetitions, which no term has
        assert line(terms, premises, args) is conclusion
        if all(holds(terms, premise) for premise in premises):
            found = holds(terms, conclusion)
            met += found is not None
            assert found is not False, f"{written(conclusion)} is false"
        if met == ENOUGH:
            break
    assert met >= APPLIES or not line.args, f"only {met} instances say anything about the line"


def test_table_has_no_line_twice() -> None:
    assert len(set(map(str, LINES))) == len(LINES)


WRONG = """
str-indexof-find-emp | (= e "") (= (>= (str.len t) n) true) | t e n | (= (str.indexof t e n) n)
str-indexof-contains-pre | (= (str.contains (str.substr t n (str.len t)) s) true) | t u s n |\
 (= (str.indexof (str.++ t u) s n) (str.indexof t s n))
off-by-one | | t:Int s:Int | (= (> t s) (>= t s))
reals-are-no-ints | | t s | (= (> t s) (>= t (+ s 1)))
signs | | t s:Int | (= (mod_total t s) (mod_total t (- s 1)))
empty-list | | x (str.++ xs..) | (= (str.len (str.++ x xs..)) (+ 1 (str.len (str.++ x xs..))))
""".strip().splitlines()
"""Two that solvers print (for a start below 0, and past the end of the first part), and some of our own."""


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text.split()[0])
def test_wrong_line_would_be_found_out(text: str) -> None:
    with pytest.raises(AssertionError, match="is false"):
        test_line_holds_for_all_values_that_meet_its_premises(read_line(text))


# -- evaluators ------------------------------------------------------------------------------------


def ground(terms: Terms, op: str, chance: Random) -> Term:
    """The operator applied to random literals of sorts that it takes."""
    pool = pools(terms)
    takes, _ = SIGNATURES[op]
    if op in MANY:
        takes = takes[:1] * chance.choice((1, 2, 3))
    elif op == "-":
        takes = takes[: chance.choice((1, 2))]
    number, any_sort = (
        chance.choice(("Int", "Real")),
        chance.choice(("Bool", "Int", "String", "Real")),
    )
    sorts = {"N": number, "a": any_sort}
    return terms.app(op, *(chance.choice(pool[sorts.get(each, each)]) for each in takes))


def agrees(claim: str) -> bool:
    """Whether Z3 finds a claim without variables to be true."""
    (formula,) = z3.parse_smt2_string(f"(assert {claim})")
    if z3.is_true(z3.simplify(formula)):
        return True
    solver = z3.Solver()
    solver.add(z3.Not(formula))
    return solver.check() == z3.unsat


@pytest.mark.parametrize("op", VALUES)
def test_value_of_an_operator_is_the_solvers(op: str) -> None:
    chance = Random(op)
    compared = 0
    for _ in range(80):
        terms = Terms()
        term = ground(terms, op, chance)
        try:
            found = evaluated(terms, term)
        except Refused:
            assert term.args[1].value == 0, "only a division by zero has no value"
            continue
        compared += 1
        assert found.sort == term.sort
        assert agrees(f"(= {written(term)} {written(found)})"), written(term)
    assert compared > 30


@pytest.mark.parametrize("text", ["", "a", "abc", "\\u{5c}", "é", "\U0002ffff", '"', "0" * 30])
def test_strings_that_need_escapes_have_the_solvers_length_and_code(text: str) -> None:
    terms = Terms()
    for op in ("str.len", "str.to_code"):
        term = terms.app(op, terms.literal(text))
        assert agrees(f"(= {written(term)} {written(evaluated(terms, term))})"), written(term)


def test_no_value_has_a_division_by_zero() -> None:
    terms = Terms()
    for op, zero in (("div", 0), ("mod", 0), ("/", 0), ("/", Fraction(0))):
        with pytest.raises(Refused, match="by zero"):
            evaluated(terms, terms.app(op, terms.literal(zero), terms.literal(zero)))


def test_division_rounds_as_smt_lib_says() -> None:
    terms = Terms()
    for a in range(-9, 10):
        for b in (*range(-4, 0), *range(1, 5)):
            x, y = terms.literal(a), terms.literal(b)
            quotient = evaluated(terms, terms.app("div", x, y)).value
            rest = evaluated(terms, terms.app("mod", x, y)).value
            assert isinstance(quotient, int)
            assert isinstance(rest, int)
            assert a == b * quotient + rest
            assert 0 <= rest < abs(b)


def test_real_results_keep_their_sort() -> None:
    terms = Terms()
    half = terms.literal(Fraction(1, 2))
    assert evaluated(terms, terms.app("+", half, half)) is terms.literal(Fraction(1))
    assert evaluated(terms, terms.app("to_int", half)) is terms.literal(0)
    assert evaluated(terms, terms.app("to_real", terms.literal(1))) is terms.literal(Fraction(1))


# -- regular expressions ---------------------------------------------------------------------------


def random_regex(terms: Terms, chance: Random, depth: int) -> Term:
    if not depth or chance.random() < 0.2:
        return chance.choice(pools(terms)["RegLan"])
    parts = [random_regex(terms, chance, depth - 1) for _ in range(3)]
    match chance.choice(("re.++", "re.union", "re.*", "re.+", "re.^", "re.loop")):
        case "re.++" | "re.union" as op:
            return terms.app(op, *parts[: chance.choice((1, 2, 3))])
        case "re.^":
            return terms.app("re.^", terms.literal(chance.randrange(3)), parts[0])
        case "re.loop":
            low, high = terms.literal(chance.randrange(3)), terms.literal(chance.randrange(4))
            return terms.app("re.loop", low, high, parts[0])
        case op:
            return terms.app(op, parts[0])


def test_matches_are_the_solvers() -> None:
    chance = Random("regexes")
    for _ in range(250):
        terms = Terms()
        regex = random_regex(terms, chance, 2)
        text = chance.choice(SHORT)
        member = terms.app("str.in_re", terms.literal(text), regex)
        solver = z3.Solver()
        solver.set("timeout", 5_000)
        solver.from_string(f"(assert {written(member)})")
        assert solver.check() == (
            z3.sat if matches(terms, text, value(terms, regex)) else z3.unsat
        ), written(member)
