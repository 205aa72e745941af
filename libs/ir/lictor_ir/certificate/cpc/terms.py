"""Terms of the checker: sorted, shared, and built nowhere else.

Equal terms are the same object, so rules compare with `is`. Operators with any number of operands keep them flat, as
they are written: `(or a b c)` has three; one operand alone means the operand itself. Ints may stand where numbers are
added or compared with reals, and nowhere else: an equation has two sides of one sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused

Value = bool | int | Fraction | str
BOOL, INT, REAL, STRING, REGEX, OTHER = "Bool", "Int", "Real", "String", "RegLan", "@Other"
SORTS: Final = {bool: BOOL, int: INT, Fraction: REAL, str: STRING}
"""What may be declared, by the type of its values: regular expressions are written out."""
MAX_SIZE: Final = 13_000
"""Characters of a string, bits of a number: about 3 900 digits."""
MAX_REPEAT: Final = 10_000
WORK, WORK_A_CHARACTER = 1_000_000, 10
"""What checking may cost, in about microseconds."""

_LETTERS: Final = {"B": BOOL, "I": INT, "R": REAL, "S": STRING, "L": REGEX, "O": OTHER}
# What an operator takes and gives: N a number, + any number of the last, a any sort but the same everywhere, n Real if
# an operand is, else Int.
_SIGNATURES: Final = """
not B B; and B+ B; or B+ B; => BB B; = aa B; ite Baa a; @purify a a; Bool  O; Int  O; Real  O; String  O
+ N+ n; * N+ n; - NN n; < NN B; <= NN B; > NN B; >= NN B; / NN R
div II I; mod II I; div_total II I; mod_total II I; to_real N R; to_int N I
str.++ S+ S; str.len S I; str.substr SII S; str.contains SS B; str.prefixof SS B; str.suffixof SS B; str.indexof SSI I
str.replace SSS S; str.to_code S I; str.from_int I S; str.< SS B; str.<= SS B; str.in_re SL B
str.to_re S L; re.++ L+ L; re.union L+ L; re.* L L; re.+ L L; re.range SS L; re.loop IIL L; re.^ IL L
re.allchar  L; re.none  L
"""
SIGNATURES: Final = {
    name: (tuple(_LETTERS.get(letter, letter) for letter in takes), _LETTERS.get(gives, gives))
    for line in _SIGNATURES.strip().splitlines()
    for name, takes, gives in (entry.split(" ") for entry in line.split("; "))
}
MANY: Final = frozenset(name for name, (takes, _) in SIGNATURES.items() if takes[-1:] == ("+",))
_NEUTRAL: Final = {"and": True, "or": False, "str.++": ""}


@dataclass(eq=False, slots=True)
class Term:
    """An operator applied to terms, or a literal with its value; only `Terms` makes them."""

    op: str
    args: tuple[Term, ...]
    sort: str
    value: Value | None = None


class Terms:
    """All terms of one check, each of them once; texts of so many characters are read into them."""

    def __init__(self, characters: int = 0) -> None:
        self._made: dict[object, Term] = {}
        self._left = WORK + WORK_A_CHARACTER * characters
        self.declared: dict[str, tuple[tuple[str, ...], str]] = {}
        """Functions and constants of the script: the sorts they take, and theirs."""
        self.true, self.false = self.literal(True), self.literal(False)

    def spend(self, work: int) -> None:
        """Count work that can be much more than the text is long."""
        self._left -= work
        if self._left < 0:
            raise Refused("the proof takes too much work to check")

    def literal(self, value: Value) -> Term:
        """A value of bounded size; its type says the sort, so a Real is a Fraction."""
        key = (type(value), value)
        if key not in self._made:
            if size(value) > MAX_SIZE:
                raise Refused("a literal is too large")
            self._made[key] = Term("#", (), SORTS[type(value)], value)
        return self._made[key]

    def app(self, op: str, *args: Term) -> Term:
        """An application; Refused when the sorts don't fit, NotKnown for an operator that we don't have."""
        key = (op, args)
        self.spend(len(args))
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = Term(op, args, self._sort(op, args))
        return known

    def listed(self, op: str, args: Iterable[Term]) -> Term:
        """The application to as many operands as there are: of none its neutral element, of one the operand."""
        operands = tuple(args)
        if len(operands) > 1:
            return self.app(op, *operands)
        return operands[0] if operands else self.neutral(op)

    def neutral(self, op: str) -> Term:
        """What changes nothing as an operand."""
        if op in _NEUTRAL:
            return self.literal(_NEUTRAL[op])
        if op == "re.++":
            return self.app("str.to_re", self.literal(""))
        if op == "re.union":
            return self.app("re.none")
        raise Refused(f"{op} has no neutral operand")

    def eq(self, left: Term, right: Term) -> Term:
        """An equation."""
        return self.app("=", left, right)

    def no(self, term: Term) -> Term:
        """A negation."""
        return self.app("not", term)

    def _sort(self, op: str, args: tuple[Term, ...]) -> str:
        if op == "@list":
            return OTHER
        if op not in self.declared and op not in SIGNATURES:
            raise NotKnown(f"the operator {op}")
        takes, gives = self.declared.get(op) or SIGNATURES[op]
        if op in MANY:
            takes = takes[:1] * max(1, len(args))
        elif op == "-" and len(args) == 1:
            takes = takes[:1]
        sorts = [arg.sort for arg in args]
        same = sorts[-1] if args and OTHER not in sorts else ""
        fitting = {"N": (INT, REAL), "a": (same,)}
        if len(takes) != len(sorts) or not all(
            sort in fitting.get(wanted, (wanted,))
            for sort, wanted in zip(sorts, takes, strict=True)
        ):
            raise Refused(f"{op} is applied to ({' '.join(sorts)})")
        if op in ("re.loop", "re.^") and not all(
            isinstance(index.value, int) and 0 <= index.value <= MAX_REPEAT for index in args[:-1]
        ):
            raise Refused(f"{op} is not repeated by a small number")
        return {"n": REAL if REAL in sorts else INT, "a": same}.get(gives, gives)


def size(value: Value) -> int:
    """The characters of a string, the bits of the longer part of a number."""
    if isinstance(value, str):
        return len(value)
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def operands(op: str, term: Term) -> tuple[Term, ...]:
    """What a term of a flat operator joins; a term of another operator stands for itself."""
    return term.args if term.op == op else (term,)


def below(root: Term, inner: frozenset[str] | None = None) -> Iterator[Term]:
    """Each term in it once, operands first; of operators that are not inner, the operands are not looked at."""
    seen: set[Term] = set()
    todo = [(root, False)]
    while todo:
        term, ready = todo.pop()
        if ready:
            yield term
        elif term not in seen:
            seen.add(term)
            todo.append((term, True))
            if inner is None or term.op in inner:
                todo.extend((arg, False) for arg in term.args)
