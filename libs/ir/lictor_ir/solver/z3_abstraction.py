"""The abstraction of a goal to lengths: strings are names, and only arithmetic and equality are left for Z3.

A string is an element of a sort that Z3 knows nothing about, and an operator an uninterpreted function of which only
true things are said, most of them about lengths: `len(a + b) == len(a) + len(b)`. Whatever breaks a goal breaks its
abstraction, so a goal whose abstraction has no model holds. A model is a candidate: strings of the lengths that it
names are made here, and evaluation says whether they break anything. Z3's theory of strings builds long strings
character by character, and does not come to an end at some hundreds.

Nothing is said here that the whole goal does not imply: a solver that is asked the whole must not contradict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lictor_ir.solver.z3_lowering import Lowering
from lictor_ir.terms import App, Matches
from lictor_ir.types import STR, Type

LONGEST: Final = 100_000
"""Characters of a string that is made for a candidate."""
DIGITS: Final = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20)
"""The numbers of digits that are told apart in the text of an int."""
FILLERS: Final = "abcdefghijklmnopqrstuvwxyz"


class Abstraction(Lowering):
    """The terms of one goal, without what is in its strings."""

    def __init__(self) -> None:
        super().__init__()
        self._strings: Any = self._z3.DeclareSort("text", self._context)
        self._constants: dict[str, Any] = {}
        self._measured: set[Any] = set()
        self._functions_of: dict[tuple[str, int], Any] = {}
        self._joined: list[tuple[Any, tuple[Any, ...]]] = []
        self._cut: list[tuple[Any, Any]] = []
        self._looked_into: set[Any] = set()
        self._pieces: list[tuple[Any, Any, Any, Any]] = []
        """Strings with a piece that they have if a formula is true, and where; None for anywhere."""
        self._regexes: list[Any] = []
        self.approximate = True

    def _sort(self, type_: Type) -> Any:
        return self._strings if type_ == STR else super()._sort(type_)

    def text(self, value: str) -> Any:
        """A constant: no other constant equals it, and its length is known."""
        if value not in self._constants:
            z3 = self._z3
            made = z3.Const(f"text:{len(self._constants)}", self._strings)
            code = self._free("code", z3.IntSort(self._context), made)
            self._axioms.append(code == len(self._constants))
            self._constants[value] = made
            self._axioms.append(self.length(made) == len(value))
        return self._constants[value]

    def length(self, text: Any) -> Any:
        """The length of a string: only the empty string has none."""
        z3 = self._z3
        length = self._free("length", z3.IntSort(self._context), text)
        if text.get_id() not in self._measured:
            self._measured.add(text.get_id())
            self._axioms += [length >= 0, (length == 0) == (text == self.text(""))]
        return length

    def contains(self, text: Any, part: Any) -> Any:
        """Whether a string holds another, which is then no longer, and the same if it is as long."""
        return self._holds("contains", text, part, None)

    def _holds(self, name: str, text: Any, part: Any, place: Any) -> Any:
        z3 = self._z3
        self._looked_into.add(text.get_id())
        held = self._free(name, z3.BoolSort(self._context), text, part)
        whole, size = self.length(text), self.length(part)
        self._axioms += [
            z3.Implies(held, size <= whole),
            z3.Implies(size == whole, held == (text == part)),
            z3.Implies(size == 0, held),
        ]
        self._pieces.append((text, part, held, place))
        return held

    def _begins(self, text: Any, part: Any) -> Any:
        zero = self._z3.IntVal(0, self._context)
        return self._also_inside(text, part, self._holds("startswith", text, part, zero))

    def _ends(self, text: Any, part: Any) -> Any:
        place = self.length(text) - self.length(part)
        return self._also_inside(text, part, self._holds("endswith", text, part, place))

    def _also_inside(self, text: Any, part: Any, held: Any) -> Any:
        self._axioms.append(self._z3.Implies(held, self.contains(text, part)))
        return held

    def _before(self, left: Any, right: Any) -> Any:
        z3 = self._z3
        bools = z3.BoolSort(self._context)
        before = self._free("before", bools, left, right)
        after = self._free("before", bools, right, left)
        self._axioms += [
            z3.Not(z3.And(before, after)),
            (left == right) == z3.Not(z3.Or(before, after)),
        ]
        return before

    def _matched(self, term: Matches, text: Any) -> Any:
        if term.regex not in self._regexes:
            self._regexes.append(term.regex)
        name = f"matches:{self._regexes.index(term.regex)}"
        return self._free(name, self._z3.BoolSort(self._context), text)

    def _text(self, term: App, below: list[Any]) -> Any:
        match term.op, below:
            case "concat", _:
                return self._concatenated(below) if len(below) > 1 else below[0]
            case "startswith", [text, part]:
                return self._begins(text, part)
            case "endswith", [text, part]:
                return self._ends(text, part)
            case "substring", [text, start, count]:
                return self._substring(text, start, count)
            case "find", [text, part, start]:
                return self._found(text, part, start)
            case "str_of_int", [number]:
                return self._digits(number)
            case _:
                return super()._text(term, below)

    def _concatenated(self, below: list[Any]) -> Any:
        made = self._free(f"concat:{len(below)}", self._strings, *below)
        sizes = [self.length(part) for part in below]
        whole = self.length(made)
        self._axioms.append(whole == self._z3.Sum(*sizes))
        self._axioms += [
            self._z3.Implies(size == whole, made == part)
            for part, size in zip(below, sizes, strict=True)
        ]
        self._joined.append((made, tuple(below)))
        return made

    def _substring(self, text: Any, start: Any, count: Any) -> Any:
        z3 = self._z3
        made = self._free("substring", self._strings, text, start, count)
        whole, size = self.length(text), self.length(made)
        inside = z3.And(start >= 0, start < whole, count > 0)
        rest = whole - start
        self._axioms += [
            size == z3.If(inside, z3.If(count < rest, count, rest), 0),
            z3.Implies(size == whole, made == text),
        ]
        self._pieces.append((text, made, inside, start))
        self._cut.append((text, made))
        return made

    def _found(self, text: Any, part: Any, start: Any) -> Any:
        z3 = self._z3
        at = self._free("find", z3.IntSort(self._context), text, part, start)
        held = self.contains(text, part)
        self._axioms += [
            at >= -1,
            z3.Implies(
                at >= 0, z3.And(held, at >= start, at + self.length(part) <= self.length(text))
            ),
            z3.Implies(start == 0, (at >= 0) == held),
        ]
        self._pieces.append((text, part, at >= 0, at))
        return at

    def _digits(self, number: Any) -> Any:
        z3 = self._z3
        made = self._free("str_of_int", self._strings, number)
        size = self.length(made)
        sign = z3.If(number < 0, z3.IntVal(1, self._context), z3.IntVal(0, self._context))
        self._axioms.append(size >= 1 + sign)
        for digits in DIGITS:
            short = z3.And(number > -(10**digits), number < 10**digits)
            self._axioms.append(short == (size <= digits + sign))
        return made

    def complete(self) -> None:
        """What is inside of a string matters only where something looks into it."""
        for text, part in self._cut:
            if text.get_id() in self._looked_into:
                self._axioms.append(self.contains(text, part))
        for made, parts in self._joined:
            if made.get_id() in self._looked_into:
                self._axioms += [self._begins(made, parts[0]), self._ends(made, parts[-1])]
                self._axioms += [self.contains(made, part) for part in parts[1:-1]]

    def _free(self, name: str, sort: Any, *arguments: Any) -> Any:
        """A function that may be any; of one name and number of arguments there is one."""
        key = name, len(arguments)
        if key not in self._functions_of:
            sorts = [each.sort() for each in arguments]
            self._functions_of[key] = self._z3.Function(name, *sorts, sort)
        return self._functions_of[key](*arguments)

    def spelling(self, model: Any) -> Callable[[Any], str | None]:
        """Strings with the lengths and pieces that the model names."""
        return _Spelling(
            self._z3, model, self.length, self._constants, self._joined, self._pieces
        ).text


class _Spelling:
    """Makes a string for each that a model of an abstraction tells apart."""

    def __init__(
        self,
        z3: Any,
        model: Any,
        length: Callable[[Any], Any],
        constants: dict[str, Any],
        joined: list[tuple[Any, tuple[Any, ...]]],
        pieces: list[tuple[Any, Any, Any, Any]],
    ) -> None:
        self._z3 = z3
        self._model = model
        self._length = length
        self._made: dict[str, str | None] = {
            str(self._value(made)): value for value, made in constants.items()
        }
        self._fillers = [each for each in FILLERS if each not in constants]
        self._joined: dict[str, tuple[Any, ...]] = {}
        for made, parts in joined:
            self._joined.setdefault(str(self._value(made)), parts)
        self._pieces: dict[str, list[tuple[Any, Any]]] = {}
        for whole, part, condition, place in pieces:
            if z3.is_true(self._value(condition)):
                self._pieces.setdefault(str(self._value(whole)), []).append((part, place))

    def text(self, found: Any) -> str | None:
        """The string; None when it is too long."""
        value = self._value(found)
        name = str(value)
        if name not in self._made:
            self._made[name] = None  # one that is a piece of itself is not made of itself
            self._made[name] = self._new(name, value)
        return self._made[name]

    def _new(self, name: str, value: Any) -> str | None:
        size = self._value(self._length(value)).as_long()
        if not 0 <= size <= LONGEST:
            return None
        parts = [self.text(part) for part in self._joined.get(name, ())]
        joined = "".join(part for part in parts if part is not None)
        if parts and None not in parts and len(joined) == size:
            return joined
        filler = self._fillers[len(self._made) % len(self._fillers)] if self._fillers else "~"
        made = [filler] * size
        free = 0
        for part, place in sorted(self._pieces.get(name, ()), key=lambda each: each[1] is None):
            piece = self.text(part)
            if not piece or (place is None and piece in "".join(made)):
                continue
            at = free if place is None else self._value(place).as_long()
            if 0 <= at <= size - len(piece):
                made[at : at + len(piece)] = piece
                free = max(free, at + len(piece)) if at == free else free
        return "".join(made)

    def _value(self, term: Any) -> Any:
        return self._model.eval(term, model_completion=True)
