"""Rules about strings that are functions: what they accept holds for all small values of the unknown strings."""

from __future__ import annotations

from itertools import product
from random import Random

from cpc_instances import SHORT, holds, pools

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.certificate.cpc.terms import INT, STRING, Term, Terms

VALUES = ["", "a", "b", "ab", "ba", "aab"]
UNKNOWN = ("s", "t")


def opened() -> Terms:
    terms = Terms()
    terms.declared.update(dict.fromkeys(UNKNOWN, ((), STRING)))
    terms.declared["i"] = ((), INT)
    return terms


def text(terms: Terms, chance: Random, depth: int = 2) -> Term:
    """A random string term over two unknown strings and an unknown number."""
    match chance.randrange(7) if depth else chance.randrange(3):
        case 0 | 1:
            return terms.app(chance.choice(UNKNOWN))
        case 2:
            return terms.string(chance.choice(VALUES))
        case 3:
            number = terms.app("i")
            return terms.app("str.substr", text(terms, chance, depth - 1), number, terms.integer(2))
        case 4:
            return terms.app("str.replace", *(text(terms, chance, depth - 1) for _ in range(3)))
        case _:
            return terms.app("str.++", *(text(terms, chance, depth - 1) for _ in range(2)))


def put(terms: Terms, term: Term, values: dict[str, Term]) -> Term:
    """The term with values for what is unknown."""
    if term.op in values:
        return values[term.op]
    return (
        term
        if term.literal
        else terms.app(term.op, *(put(terms, arg, values) for arg in term.args))
    )


def always(terms: Terms, formulas: list[Term]) -> bool:
    """Whether the last formula holds for all small values for which the others do."""
    numbers = [terms.integer(number) for number in (-1, 0, 1)]
    for first, second, number in product(VALUES, VALUES, numbers):
        values = {"s": terms.string(first), "t": terms.string(second), "i": number}
        *given, shown = (holds(terms, put(terms, each, values)) for each in formulas)
        if all(given) and shown is False:
            return False
    return True


def accepted(terms: Terms, rule: str, premises: list[Term], args: list[Term]) -> Term | None:
    try:
        return RULES[rule](terms, premises, args)
    except (Refused, NotKnown):
        return None


def test_what_is_not_contained_is_not() -> None:
    chance, found = Random("contains"), 0
    while found < 25:
        terms = opened()
        whole, part = text(terms, chance), text(terms, chance)
        claim = terms.eq(terms.app("str.contains", whole, part), terms.false)
        if accepted(terms, "str-ctn-multiset-subset", [], [claim]) is not None:
            found += 1
            assert always(terms, [claim])


def test_equal_strings_go_on_equally() -> None:
    chance = Random("concat_eq")
    for _ in range(60):
        terms = opened()
        equation = terms.eq(text(terms, chance), text(terms, chance))
        shown = accepted(terms, "concat_eq", [equation], [terms.boolean(chance.random() < 0.5)])
        assert shown is not None
        assert always(terms, [equation, shown])


def test_parts_of_equal_length_are_equal() -> None:
    chance = Random("concat_unify")
    for _ in range(40):
        terms = opened()
        first, second = text(terms, chance, 1), text(terms, chance, 1)
        backwards = chance.random() < 0.5
        sides = [[first, text(terms, chance, 0)], [second, text(terms, chance, 0)]]
        equation = terms.eq(
            *(terms.app("str.++", *(side[::-1] if backwards else side)) for side in sides)
        )
        lengths = terms.eq(terms.app("str.len", first), terms.app("str.len", second))
        shown = accepted(terms, "concat_unify", [equation, lengths], [terms.boolean(backwards)])
        assert shown is not None
        assert always(terms, [equation, lengths, shown])


def test_all_matches_have_the_length_that_is_said() -> None:
    chance, found = Random("lengths"), 0
    while found < 40:
        terms = opened()
        pool = pools(terms)["RegLan"]
        op = chance.choice(("re.++", "re.union", "re.inter"))
        regex = terms.app(op, *chance.choices(pool, k=2))
        member = terms.app("str.in_re", terms.app("s"), regex)
        shown = accepted(terms, "string_eager_reduction", [], [member])
        if shown is not None:
            found += 1
            for value in SHORT:
                assert holds(terms, put(terms, shown, {"s": terms.string(value)}))


def test_stars_of_characters_split_into_parts() -> None:
    chance, found = Random("stars"), 0
    while found < 25:
        terms = opened()
        star = terms.app("re.*", chance.choice(pools(terms)["RegLan"]))
        whole = terms.app("str.++", text(terms, chance, 0), text(terms, chance, 0))
        parts = [terms.app("str.in_re", part, star) for part in whole.args]
        claim = terms.eq(terms.app("str.in_re", whole, star), terms.app("and", *parts))
        if accepted(terms, "str-in-re-concat-star-char", [], [claim]) is not None:
            found += 1
            assert always(terms, [claim])
