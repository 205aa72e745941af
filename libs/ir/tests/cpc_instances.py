"""Random instances of the checker's rules, and what terms without variables are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product
from random import Random

from lictor_ir.certificate.cpc.errors import Refused
from lictor_ir.certificate.cpc.evaluation import evaluated
from lictor_ir.certificate.cpc.reading import Reader
from lictor_ir.certificate.cpc.rules import Applied, Bound, Line, Pattern, Several, Variable, build
from lictor_ir.certificate.cpc.strings import matches
from lictor_ir.certificate.cpc.terms import REGEX, SIGNATURES, Term, Terms

REGEXES = """
re.none re.allchar re.all (str.to_re "") (str.to_re "a") (str.to_re "ab") (re.* (str.to_re "a"))
(re.* (str.to_re "ab")) (re.union (str.to_re "a") (str.to_re "b")) (re.++ (str.to_re "a") (str.to_re "b"))
(re.range "a" "b") (re.comp (str.to_re "a")) (re.opt (str.to_re "b")) (re.+ re.allchar) (re.* re.allchar)
(re.inter re.allchar (re.comp (str.to_re "b"))) (re.diff re.all (str.to_re "ab")) (re.loop 1 2 (str.to_re "a"))
(re.^ 2 re.allchar) (re.++ (str.to_re "b") re.all)
(re.union (str.to_re "") (str.to_re "ba") re.none) (re.range "ab" "c")
"""
TEXTS = [
    "",
    "",
    "a",
    "a",
    "b",
    "b",
    "ab",
    "ba",
    "aa",
    "aba",
    "abab",
    "0",
    "1",
    "12",
    "-",
    "-1",
    "c",
]
SHORT = ["".join(chars) for size in range(5) for chars in product("ab", repeat=size)] + ["c", "ca"]
NUMBERS = range(-3, 5)


def pools(terms: Terms) -> dict[str, list[Term]]:
    """Literals of each sort, few enough that random ones are often equal, and regular expressions."""
    return {
        "Bool": [terms.true, terms.false],
        "Int": [terms.integer(number) for number in NUMBERS],
        "Real": [terms.real(Fraction(number, 2)) for number in NUMBERS],
        "String": [terms.string(text) for text in TEXTS],
        "RegLan": regexes(terms, REGEXES),
    }


def regexes(terms: Terms, text: str) -> list[Term]:
    reader = Reader(terms, text, proof=True)
    found: list[Term] = []
    while not reader.done:
        found.append(reader.term())
    return found


def variables(pattern: Pattern) -> Iterator[Variable | Several]:
    if isinstance(pattern, Applied):
        for part in pattern.parts:
            yield from variables(part)
    elif not isinstance(pattern, str):
        yield pattern


def instances(terms: Terms, line: Line, chance: Random, count: int) -> Iterator[Bound]:
    """Random values for the variables of a line, of all sorts for which it makes sense."""
    found: dict[str, Variable | Several] = {}
    for pattern in (*line.args, *line.premises, line.conclusion):
        for each in variables(pattern):
            known = found.setdefault(each.name, each)
            if isinstance(each, Variable) and each.sort:
                found[each.name] = each
            assert type(known) is type(each)
    pool = pools(terms)
    choices = [
        [each.sort] if isinstance(each, Variable) and each.sort else list(pool)
        for each in found.values()
    ]
    sensible = [
        sorts
        for sorts in product(*choices)
        if _builds(terms, line, found, dict(zip(found, sorts, strict=True)), pool)
    ]
    assert sensible, f"{line.name} makes sense for no sorts"
    for _ in range(count):
        sorts = dict(zip(found, chance.choice(sensible), strict=True))
        yield {
            name: tuple(chance.choices(pool[sorts[name]], k=chance.choice((0, 0, 1, 1, 2))))
            if isinstance(each, Several)
            else chance.choice(pool[sorts[name]])
            for name, each in found.items()
        }


def _builds(
    terms: Terms,
    line: Line,
    found: dict[str, Variable | Several],
    sorts: dict[str, str],
    pool: dict[str, list[Term]],
) -> bool:
    bound: Bound = {
        name: (pool[sorts[name]][-1],) if isinstance(each, Several) else pool[sorts[name]][-1]
        for name, each in found.items()
    }
    try:
        return all(
            build(terms, pattern, bound).sort == "Bool"
            for pattern in (*line.premises, line.conclusion)
        )
    except Refused:
        return False


def given(terms: Terms, pattern: Pattern, bound: Bound) -> Term:
    """How a proof writes an argument; some operands are a list, even if it is of one or none."""
    if not isinstance(pattern, Several):
        return build(terms, pattern, bound)
    many = bound[pattern.name]
    assert isinstance(many, tuple)
    return terms.app(pattern.op, *many) if many else terms.neutral(pattern.op)


def value(terms: Terms, term: Term) -> Term:
    """The literal that a term without variables is worth; of regular expressions, one over literals."""
    if term.literal:
        return term
    args = [value(terms, arg) for arg in term.args]
    if term.op in ("ite", "@purify"):
        return args[0] if term.op == "@purify" else args[1 if args[0].value else 2]
    if term.sort == REGEX:
        return terms.app(term.op, *args)
    if term.op == "distinct":
        return terms.boolean(
            not any(holds(terms, terms.eq(*pair)) for pair in combinations(args, 2))
        )
    if term.op == "str.in_re":
        return terms.boolean(matches(terms, str(args[0].value), args[1]))
    if term.op == "=" and args[0].sort == REGEX:
        same = all(matches(terms, text, args[0]) == matches(terms, text, args[1]) for text in SHORT)
        return terms.boolean(same)
    return evaluated(terms, terms.app(term.op, *args))


def holds(terms: Terms, formula: Term) -> bool | None:
    """Whether a formula without variables is true; None when that is left open."""
    try:
        found = value(terms, formula).value
    except Refused as why:
        if "by zero" in str(why):
            return None
        raise
    assert isinstance(found, bool)
    return found


# -- SMT-LIB, for a solver to agree ------------------------------------------------------------------

_MEANT = {
    "@purify": "{0}",
    "/_total": "(ite (= {1} 0.0) 0.0 (/ {0} {1}))",
    "div_total": "(ite (= {1} 0) 0 (div {0} {1}))",
    "mod_total": "(ite (= {1} 0) {0} (mod {0} {1}))",
    "@int_div_by_zero": "(div {0} 0)",
    "@mod_by_zero": "(mod {0} 0)",
}


def written(term: Term, names: Mapping[Term, str] | None = None) -> str:
    """SMT-LIB of a term; operators that only proofs have are spelled out, and what has a name is named."""
    if names and term in names:
        return names[term]
    match term.value:
        case bool():
            return str(term.value).lower()
        case int():
            return str(term.value) if term.value >= 0 else f"(- {-term.value})"
        case Fraction():
            whole = f"(/ {abs(term.value.numerator)}.0 {term.value.denominator}.0)"
            return whole if term.value >= 0 else f"(- {whole})"
        case str():
            return '"' + "".join(f"\\u{{{ord(char):x}}}" for char in term.value) + '"'
        case _:
            pass
    args = [written(arg, names) for arg in term.args]
    if term.op in _MEANT:
        return _MEANT[term.op].format(*args)
    if term.op in ("re.loop", "re.^"):
        return f"((_ {term.op} {' '.join(args[:-1])}) {args[-1]})"
    if (
        term.op in ("and", "or", "+", "*", "str.++", "re.++", "re.union", "re.inter")
        and len(args) == 1
    ):
        return args[0]
    op = term.op if term.op in SIGNATURES or term.op == "-" else f"|{term.op}|"
    return f"({op} {' '.join(args)})" if args else op
