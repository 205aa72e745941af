"""Random instances of the checker's rules, and what terms without variables are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from random import Random

from lictor_ir.certificate.cpc.errors import Refused
from lictor_ir.certificate.cpc.functions import evaluated, matches
from lictor_ir.certificate.cpc.parser import Reader, Spelled, spelled
from lictor_ir.certificate.cpc.rules import Bound, Line, build, constant
from lictor_ir.certificate.cpc.terms import MANY, REGEX, SIGNATURES, Term, Terms

REGEXES = """
re.none re.allchar (str.to_re "") (str.to_re "a") (str.to_re "ab") (re.* (str.to_re "a"))
(re.* (str.to_re "ab")) (re.union (str.to_re "a") (str.to_re "b")) (re.++ (str.to_re "a") (str.to_re "b"))
(re.range "a" "b") (re.+ re.allchar) (re.* re.allchar) (re.loop 1 2 (str.to_re "a"))
(re.^ 2 re.allchar) (re.++ (str.to_re "b") (re.* re.allchar))
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
        "Int": [terms.literal(number) for number in NUMBERS],
        "Positive": [terms.literal(number) for number in (1, 2, 3, 7)],
        "Real": [terms.literal(Fraction(number, 2)) for number in NUMBERS],
        "String": [terms.literal(text) for text in TEXTS],
        "RegLan": regexes(terms, REGEXES),
    }


def regexes(terms: Terms, text: str) -> list[Term]:
    return [Reader(terms).term(each) for each in spelled(text)]


def variables(pattern: Spelled) -> Iterator[tuple[str, str]]:
    """The names in a pattern, with the sorts that are said."""
    if isinstance(pattern, list):
        for part in pattern[1:]:
            yield from variables(part)
    elif constant(pattern) is None and pattern not in SIGNATURES:
        name, _, sort = pattern.partition(":")
        yield name, sort


def instances(terms: Terms, line: Line, chance: Random, count: int) -> Iterator[Bound]:
    """Random values for the variables of a line, of all sorts for which it makes sense."""
    said: dict[str, str] = {}
    for pattern in (*line.args, *line.premises, line.conclusion):
        for name, sort in variables(pattern):
            said[name] = said.get(name) or sort
    demanded = {name for pattern in line.premises for name, _ in variables(pattern)}
    pool = pools(terms)
    sorts = [sort for sort in pool if sort != "Positive"]
    sensible = [
        chosen
        for chosen in product(*([sort] if sort else sorts for sort in said.values()))
        if _builds(terms, line, dict(zip(said, chosen, strict=True)), pool)
    ]
    assert sensible, f"{line.name} makes sense for no sorts"
    for _ in range(count):
        bound: Bound = {}
        for name, sort in zip(said, chance.choice(sensible), strict=True):
            many = chance.choice((2, 3) if name in demanded else (0, 0, 1, 1, 2))
            bound[name] = tuple(chance.choices(pool[sort], k=many if name.endswith("..") else 1))
        yield bound


def _builds(terms: Terms, line: Line, sorts: dict[str, str], pool: dict[str, list[Term]]) -> bool:
    bound: Bound = {name: (pool[sort][-1],) for name, sort in sorts.items()}
    bound |= {name: (pool["Int"][3],) for name, sort in sorts.items() if sort == "Int"}
    assert pool["Int"][3].value == 0, "an index that every list has"
    try:
        return all(
            build(terms, pattern, bound).sort == "Bool"
            for pattern in (*line.premises, line.conclusion)
        )
    except Refused:
        return False


def given(terms: Terms, pattern: Spelled, bound: Bound) -> Term:
    """How a proof writes an argument; some operands are a list, even if it is of one or none."""
    match pattern:
        case [str(op), str(name)] if name.endswith(".."):
            return terms.app(op, *bound[name]) if bound[name] else terms.neutral(op)
        case _:
            return build(terms, pattern, bound)


def value(terms: Terms, term: Term) -> Term:
    """The literal that a term without variables is worth; of regular expressions, one over literals."""
    if term.value is not None:
        return term
    if term.op == "ite":
        return value(terms, term.args[1 if holds(terms, term.args[0]) else 2])
    args = [value(terms, arg) for arg in term.args]
    if term.op == "@purify":
        return args[0]
    if term.op in ("re.loop", "re.^"):
        least, most = args[0].value, args[-2].value
        assert isinstance(least, int)
        assert isinstance(most, int)
        times = [terms.listed("re.++", [args[-1]] * count) for count in range(least, most + 1)]
        return terms.listed("re.union", times)
    if term.op == "re.+":
        return terms.app("re.++", args[0], terms.app("re.*", args[0]))
    if term.sort == REGEX:
        return terms.app(term.op, *args)
    if term.op == "str.in_re":
        return terms.literal(matches(terms, str(args[0].value), args[1]))
    if term.op == "=" and args[0].sort == REGEX:
        same = all(matches(terms, text, args[0]) == matches(terms, text, args[1]) for text in SHORT)
        return terms.literal(same)
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
    "div_total": "(ite (= {1} 0) 0 (div {0} {1}))",
    "mod_total": "(ite (= {1} 0) {0} (mod {0} {1}))",
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
    if term.op in MANY and len(args) == 1:
        return args[0]
    op = term.op if term.op in SIGNATURES else f"|{term.op}|"
    return f"({op} {' '.join(args)})" if args else op
