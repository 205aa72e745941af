"""Programs in commands, made by Hypothesis: typed, so that they are read, and mean, so that slips show.

Nothing here knows the prover; the text that comes out is all there is. Every operator that may fail is frequent,
guarded and not; so are loops in loops, calls behind conditions, ends in the middle, and names that branches share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from generated_expressions import BOOL, FLOAT, INT, STR, TEXTS, Expressions
from hypothesis import strategies as st

USERS, NAMES, USER = "users", "names", "user"
COLUMNS = {STR: ("email", "name"), INT: ("age",), BOOL: ("active",)}
ASKED = {
    INT: "number()",
    STR: 'lookup(name = "a")',
    BOOL: 'is_allowed(addr = "a")',
    FLOAT: "rate()",
    USERS: "users()",
    NAMES: "names()",
}


@dataclass
class Names:
    """What is bound here, by its type, and whether a loop of unknown length runs around it."""

    types: dict[str, str] = field(default_factory=dict[str, str])
    unknown_loops: int = 0

    def inner(self, **more: str) -> Names:
        return Names({**self.types, **more}, self.unknown_loops)

    def of(self, *types: str) -> list[str]:
        return [name for name, held in self.types.items() if held in types]


class CommandsWriter(Expressions):
    """Writes one program."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self._lines: list[str] = []
        self._depth = 0
        self._left = 0

    def program(self) -> str:
        """The inputs and commands of a program, without header and guarantees."""
        names = Names()
        inputs: list[str] = []
        for _ in range(self.number(0, 2)):
            name, type_ = self.fresh("x"), self.pick((INT, STR, BOOL, FLOAT))
            names.types[name] = type_
            inputs.append(f"input {name}: {type_}")
        self._left = self.number(3, 18)
        self._block(names, self.number(2, 9))
        return "\n".join([*inputs, "---", *self._lines]) + "\n"

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _block(self, names: Names, count: int) -> None:
        for _ in range(count):
            if self._left <= 0:
                return
            self._left -= 1
            self._command(names)

    # -- commands --------------------------------------------------------------------------------

    def _command(self, names: Names) -> None:
        kind = self.pick(
            [
                "effect",
                "effect",
                "effect",
                "ask",
                "ask",
                "let",
                "let",
                "when",
                "when",
                "for",
                "last",
            ]
        )
        match kind:
            case "effect":
                self._effect(names)
            case "ask":
                self._ask(names)
            case "let":
                name, type_ = self.fresh("v"), self.pick((INT, INT, STR, BOOL, FLOAT))
                self._line(f"let {name} = {self.term(names, type_, 3)}")
                names.types[name] = type_
            case "when":
                self._when(names, "when")
            case "for":
                self._for(names)
            case _:
                self._last(names)

    def _ask(self, names: Names) -> None:
        name, type_ = self.fresh("r"), self.pick(list(ASKED))
        call = f"lookup(name = {self.term(names, STR, 1)})" if type_ == STR else ASKED[type_]
        self._line(f"{name} = call {call}")
        names.types[name] = type_

    def _effect(self, names: Names) -> None:
        def of(type_: str, depth: int = 2) -> str:
            return self.term(names, type_, depth)

        match self.pick(["send", "send", "pay", "pay", "log", "copies", "float", "refund"]):
            case "send":
                self._line(f"call send_email(addr = {of(STR)}, msg = {of(STR, 1)})")
            case "pay":
                self._line(f"call pay(amount = {of(INT, 3)}, account = {of(STR, 1)})")
            case "log":
                self._line(f"call log(text = {of(STR)})")
            case "copies":
                urgent = f", urgent = {of(BOOL, 1)}" if self.chance(2) else ""
                self._line(
                    f"call send_copies(addr = {of(STR, 1)}, copies = [{of(STR, 1)}]{urgent})"
                )
            case "float":
                self._line(f"call pay_float(amount = {of(FLOAT)})")
            case _:
                self._line(f"call refund(amount = {of(INT)})")

    def _when(self, names: Names, word: str) -> None:
        self._line(f"{word} {self.term(names, BOOL, 3)} {{")
        self._inside(names.inner())
        if self.chance(4):
            self._line("}")
            self._when(names, "else when")
            return
        if self.chance(2):
            self._line("} else {")
            self._inside(names.inner())
        self._line("}")

    def _inside(self, names: Names) -> None:
        self._depth += 1
        self._block(names, self.number(1, 3))
        self._depth -= 1

    def _for(self, names: Names) -> None:
        name, inner = self.fresh("i"), names.inner()
        listed = names.of(USERS, NAMES)
        kind = self.pick(["each", "each", "known", "count", "length", "some"])
        if kind in ("each", "length") and listed:
            over = self.pick(listed)
            inner.unknown_loops += 1
            item = USER if names.types[over] == USERS else STR
            head, type_ = (f"each {name} in {over}", item)
            if kind == "length":
                head, type_ = f"{name} in 0..len({over})", INT
        elif kind == "count":
            head, type_ = f"{name} in 0..{self.number(0, 3)}", INT
        elif kind == "some":
            inner.unknown_loops += 1
            head, type_ = f"{name} in 0..{self.term(names, INT, 1)} % 3", INT
        else:
            lists = [
                f"[{', '.join(self.term(names, STR, 1) for _ in range(self.number(least, 2)))}]"
                for least in (1, 0)
            ]
            over = f"(if {self.term(names, BOOL, 1)} then {lists[0]} else {lists[1]})"
            head, type_ = f"each {name} in {over if self.chance(2) else lists[0]}", STR
        if inner.unknown_loops > 2:
            return self._effect(names)
        inner.types[name] = type_
        self._line(f"for {head} {{")
        self._inside(inner)
        return self._line("}")

    def _last(self, names: Names) -> None:
        if self.chance(3):
            self._line(f"assert {self.term(names, BOOL, 2)}")
        elif self.chance(3) and not names.unknown_loops:
            self._line("stop")
        else:
            self._effect(names)

    # -- terms -----------------------------------------------------------------------------------

    def term(self, names: Names, type_: str, depth: int) -> str:
        """A term of that type, in parentheses wherever they may be needed."""
        named = names.of(type_)
        if named and self.chance(2):
            return self.pick(named)
        if names.of(USER) and type_ in COLUMNS and self.chance(2):
            return f"{self.pick(names.of(USER))}.{self.pick(COLUMNS[type_])}"
        if depth <= 0:
            return self._plain(type_)
        if self.chance(8):
            arms = [self.term(names, type_, depth - 1) for _ in range(2)]
            return f"(if {self.term(names, BOOL, depth - 1)} then {arms[0]} else {arms[1]})"
        of = {INT: self._int_term, BOOL: self._bool_term, STR: self._str_term}
        return of.get(type_, self._float_term)(names, depth - 1)

    def _plain(self, type_: str) -> str:
        match type_:
            case "int":
                return str(self.number(-3, 7))
            case "bool":
                return self.pick(["true", "false"])
            case "str":
                return f'"{self.pick(TEXTS)}"'
            case _:
                return self.pick(["0.0", "-0.0", "1.5", "-2.25", "0.1", "1e300", "nan", "inf"])

    def _int_term(self, names: Names, depth: int) -> str:
        one, other = (self.term(names, INT, depth) for _ in range(2))
        text = self.term(names, STR, depth)
        listed = names.of(USERS, NAMES)
        return self.pick(
            [
                f"({one} + {other})",
                f"({one} - {other})",
                f"({one} * {other})",
                f"({one} // {other})",
                f"({one} % {other})",
                f"neg({one})",
                f"abs({one})",
                f"len({self.pick(listed) if listed else text})",
                f'find({text}, "b", 0)',
                f'count({text}, "a")',
                f"int_of_bool({self.term(names, BOOL, depth)})",
            ]
        )

    def _bool_term(self, names: Names, depth: int) -> str:
        one, other = (self.term(names, INT, depth) for _ in range(2))
        text, part = (self.term(names, STR, depth) for _ in range(2))
        low, high = (self.term(names, FLOAT, depth) for _ in range(2))
        first, second = (self.term(names, BOOL, depth) for _ in range(2))
        return self.pick(
            [
                f"({one} == {other})",
                f"({one} < {other})",
                f"({one} <= {other})",
                f"({text} == {part})",
                f"({text} < {part})",
                f"contains({text}, {part})",
                f"startswith({text}, {part})",
                f"endswith({text}, {part})",
                f'({text} in ["a", {part}])',
                f"({low} < {high})",
                f"({low} == {high})",
                f"({one} <= {high})",
                f"is_nan({low})",
                f"(not {first})",
                f"({first} and {second})",
                f"({first} or {second})",
                f"(({one} == 0) or ({other} % {one} == 0))",
                f"({first} == {second})",
            ]
        )

    def _str_term(self, names: Names, depth: int) -> str:
        one, other = (self.term(names, STR, depth) for _ in range(2))
        at = self.term(names, INT, depth)
        listed = names.of(NAMES)
        return self.pick(
            [
                f"concat({one}, {other})",
                f"substring({one}, {at}, 2)",
                f'replace({one}, "a", {other})',
                f"str_of_int({at})",
                f"{self.pick(listed)}[{at}]" if listed else f"concat({one})",
                f"(if 0 < len({self.pick(listed)}) then {self.pick(listed)}[0] else {one})"
                if listed
                else one,
                f'(if {one} == "" then {other} else {one})',
            ]
        )

    def _float_term(self, names: Names, depth: int) -> str:
        one, other = (self.term(names, FLOAT, depth) for _ in range(2))
        return self.pick(
            [
                f"({one} + {other})",
                f"({one} * {other})",
                f"fdiv({one}, {other})",
                f"neg({one})",
                f"abs({one})",
                f"float_of_int({self.term(names, INT, depth)})",
            ]
        )


def commands_of(choices: bytes) -> str:
    """The inputs and commands of a program."""
    return CommandsWriter(choices).program()


def commands() -> st.SearchStrategy[str]:
    """Programs. One draw of bytes is fast, and bytes shrink to the simplest choices."""
    return st.binary(min_size=60, max_size=900).map(commands_of)
