"""Terms of the checker: sorted, shared, and built nowhere else.

Equal terms are the same object, so rules compare with `is`. Operators with any number of operands keep them flat, as
they are written: `(or a b c)` has three; one operand alone means the operand itself. Ints may stand where numbers are
added or compared with reals, and nowhere else: an equation has two sides of one sort.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from lictor_ir.certificate.cpc.errors import NotKnown, Refused

BOOL, INT, REAL, STRING, REGEX, LIST = "Bool", "Int", "Real", "String", "RegLan", "@List"
SORTS: Final = frozenset({BOOL, INT, REAL, STRING})
"""What may be declared: regular expressions are written out."""
MAX_BITS: Final = 13_000
"""Ints up to about 3 900 digits."""
MAX_CHARACTERS: Final = 1_000_000
MAX_REPEAT: Final = 10_000
WORK: Final = 1_000_000
WORK_A_CHARACTER: Final = 10
"""What checking may cost, in about microseconds."""

_LETTERS: Final = {"B": BOOL, "I": INT, "R": REAL, "S": STRING, "L": REGEX}
# What an operator takes and gives: N a number, + any number of the last, a any sort but the same everywhere, n Real if
# an operand is, else Int.
_SIGNATURES: Final = """
not B B; and B+ B; or B+ B; => BB B; xor BB B; = aa B; distinct a+ B; ite Baa a; @purify a a
+ N+ n; * N+ n; < NN B; <= NN B; > NN B; >= NN B; / NN R; /_total NN R; abs N n
div II I; mod II I; div_total II I; mod_total II I; to_real N R; to_int N I; is_int N B
@int_div_by_zero I I; @mod_by_zero I I; @div_by_zero R R
str.++ S+ S; str.len S I; str.substr SII S; str.at SI S; str.contains SS B; str.prefixof SS B; str.suffixof SS B
str.indexof SSI I; str.replace SSS S; str.replace_all SSS S; str.to_code S I; str.from_code I S; str.to_int S I
str.from_int I S; str.< SS B; str.<= SS B; str.in_re SL B; str.is_digit S B
str.to_re S L; re.++ L+ L; re.union L+ L; re.inter L+ L; re.* L L; re.+ L L; re.opt L L; re.comp L L; re.diff LL L
@re_unfold_pos_component SLI S; re.range SS L; re.loop IIL L; re.^ IL L; re.allchar  L; re.all  L; re.none  L
"""
SIGNATURES: Final = {
    name: (takes.rstrip("+"), takes.endswith("+"), gives)
    for line in _SIGNATURES.strip().splitlines()
    for name, takes, gives in (entry.strip().split(" ") for entry in line.split("; "))
}
MANY: Final = frozenset(name for name, (_, many, _) in SIGNATURES.items() if many)
OPAQUE: Final = frozenset({"@re_unfold_pos_component"})
"""Names of constants, spelled as applications: what stands in them is not to be replaced by equals."""
SPECIAL: Final = frozenset({"-", "@list", "@name", "let", "_", "true", "false", "@list.nil"})


class Term:
    """An operator applied to terms, or a literal with its value; only `Terms` makes them."""

    __slots__ = ("args", "op", "sort", "value")

    def __init__(self, op: str, args: tuple[Term, ...], sort: str, value: object = None) -> None:
        self.op = op
        self.args = args
        self.sort = sort
        self.value = value

    @property
    def literal(self) -> bool:
        """Whether it is written as a value."""
        return self.value is not None


class Terms:
    """All terms of one check, each of them once; texts of so many characters are read into them."""

    def __init__(self, characters: int = 0) -> None:
        self._made: dict[object, Term] = {}
        self.declared: dict[str, tuple[tuple[str, ...], str]] = {}
        """Functions and constants of the script: the sorts they take, and theirs."""
        self.true, self.false = self.boolean(True), self.boolean(False)
        self._left = WORK + WORK_A_CHARACTER * characters

    def spend(self, work: int) -> None:
        """Count work that can be much more than the text is long."""
        self._left -= work
        if self._left < 0:
            raise Refused("the proof takes too much work to check")

    # -- literals --------------------------------------------------------------------------------

    def _literal(self, value: object, sort: str) -> Term:
        key = (sort, value)
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = Term("#", (), sort, value)
        return known

    def boolean(self, value: bool) -> Term:
        """`true` or `false`."""
        return self._literal(value, BOOL)

    def integer(self, value: int) -> Term:
        """An Int of bounded size."""
        if value.bit_length() > MAX_BITS:
            raise Refused("a number is too large")
        return self._literal(int(value), INT)

    def real(self, value: Fraction | int) -> Term:
        """A Real of bounded size."""
        exact = Fraction(value)
        if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MAX_BITS:
            raise Refused("a number is too large")
        return self._literal(exact, REAL)

    def string(self, value: str) -> Term:
        """A String of bounded length."""
        if len(value) > MAX_CHARACTERS:
            raise Refused("a string is too long")
        return self._literal(value, STRING)

    def value(self, value: object, sort: str) -> Term:
        """A literal of a sort that has them."""
        if sort == BOOL and isinstance(value, bool):
            return self.boolean(value)
        if sort == INT and isinstance(value, int):
            return self.integer(value)
        if sort == REAL and isinstance(value, int | Fraction):
            return self.real(value)
        if sort == STRING and isinstance(value, str):
            return self.string(value)
        raise Refused(f"no value of {sort}")

    def zero(self, sort: str) -> Term:
        """The number of a sort that changes no sum."""
        return self.real(0) if sort == REAL else self.integer(0)

    # -- applications ----------------------------------------------------------------------------

    def app(self, op: str, *args: Term) -> Term:
        """An application; Refused when the sorts don't fit, NotKnown for an operator that we don't have."""
        key = (op, args)
        self._left -= len(args)
        known = self._made.get(key)
        if known is None:
            self.spend(len(args))
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
        match op:
            case "and" | "or":
                return self.boolean(op == "and")
            case "+" | "*":
                return self.integer(int(op == "*"))
            case "str.++":
                return self.string("")
            case "re.++":
                return self.app("str.to_re", self.string(""))
            case "re.union":
                return self.app("re.none")
            case "re.inter":
                return self.app("re.all")
            case _:
                raise Refused(f"{op} of nothing")

    def eq(self, left: Term, right: Term) -> Term:
        """An equation."""
        return self.app("=", left, right)

    def no(self, term: Term) -> Term:
        """A negation."""
        return self.app("not", term)

    def _sort(self, op: str, args: tuple[Term, ...]) -> str:
        sorts = [arg.sort for arg in args]
        if op in self.declared:
            takes, gives = self.declared[op]
            if tuple(sorts) != takes:
                raise Refused(f"{op} is applied to {' '.join(sorts)}")
            return gives
        if op in ("@list", "@name"):
            return LIST
        if op == "-":
            takes, many, gives = "N" * max(1, min(2, len(args))), False, "n"
        elif op in SIGNATURES:
            takes, many, gives = SIGNATURES[op]
        else:
            raise NotKnown(f"the operator {op}")
        if not (len(args) == len(takes) or (many and args)):
            raise Refused(f"{op} is applied to {len(args)} operands")
        same = sorts[takes.index("a")] if "a" in takes else ""
        for at, sort in enumerate(sorts):
            wanted = takes[0 if many else at]
            fits = (
                sort in (INT, REAL)
                if wanted == "N"
                else sort == same != LIST
                if wanted == "a"
                else sort == _LETTERS[wanted]
            )
            if not fits:
                raise Refused(f"{op} is applied to {' '.join(sorts)}")
        if op in ("re.loop", "re.^"):
            for index in args[:-1]:
                if not isinstance(index.value, int) or not 0 <= index.value <= MAX_REPEAT:
                    raise Refused(f"{op} is not repeated by a small number")
        if gives == "n":
            return REAL if REAL in sorts else INT
        return same if gives == "a" else _LETTERS[gives]


def operands(op: str, term: Term) -> tuple[Term, ...]:
    """What a term of a flat operator joins; a term of another operator stands for itself."""
    return term.args if term.op == op else (term,)


def below(root: Term, inner: frozenset[str] | None = None) -> Iterable[Term]:
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
