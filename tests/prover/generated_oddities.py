"""Expressions that are easy to get wrong and that few programs use: formats, regular expressions, ranges of unknown
length, methods that a value has on some paths only, constants of the layer that only look like plain ones.
"""

from __future__ import annotations

from generated_expressions import BOOL, FLOAT, INT, INTS, STR, STRS, TABLE, Expressions, Scope

_NUMBER_SPECS = ("", "", "", "", "", "", "d", "3", "03d", "+d", ">4", "<4", "^5", ",", "x", "_")
_TEXT_SPECS = ("", "", "", "s", "3", ">4", "<4", "^5", "*^6", ".1")
_PATTERNS = ("a", "a+", "^a", "a$", "a|b", "[a-c]+", "(a)(b)?", ".", r"\\d+", "[^a]*", r"a\\Z", "")
_MATCHERS = ("re.match", "re.fullmatch", "re.search")
_CONSTANTS = {INT: ("LIMIT", "LIMIT", "LIMIT", "LEVEL"), STR: ("OWNER", "OWNER", "OWNER", "PERSON")}


class Oddities(Expressions):
    """Writes them in between the others."""

    def _int(self, scope: Scope, depth: int) -> str:
        if not self.chance(16):
            return super()._int(scope, depth)
        one = self.expression(scope, INT, depth)
        match self.number(0, 9):
            case 0:
                return f"len({self._range(scope, depth)})"
            case 1:
                return f"sum({self._range(scope, depth)})"
            case 2:
                return f"divmod({one}, {self.pick(['2', '-3', '7'])})[{self.number(0, 1)}]"
            case 3:
                letter = self.pick(["a", "é"])
                return f'ord("{letter}")'
            case 4:
                return f"round({self.pick(['2.5', '-0.5', '1.5', one])})"
            case 5:
                text = self.pick(['"12"', '" -3 "', '"1_0"', f"str({one})"])
                return f"int({text})"
            case 6:
                table = self.expression(scope, TABLE, depth)
                either = f"({table} if {self.expression(scope, BOOL, depth)} else [1, 2])"
                method = self.pick(["pop(0)", 'get("k", 1)', "index(1)"])
                return f"{either}.{method}"
            case 7:
                column = self.pick(("age", "age", "email", "active"))
                return f"len([c for c in users() if c.{column}])"
            case 8:
                return self._constant(INT)
            case _:
                return f"{self._range(scope, depth)}[{self.number(-2, 2)}]"

    def _bool(self, scope: Scope, depth: int) -> str:
        if not self.chance(16):
            return super()._bool(scope, depth)
        match self.number(0, 7):
            case 0:
                return f"({self._matched(scope, depth)} is {self.pick(['', 'not '])}None)"
            case 1:
                return f"bool({self._matched(scope, depth)})"
            case 2:
                return f"({self.expression(scope, INT, depth)} in {self._range(scope, depth)})"
            case 3:
                kind = self.pick((INT, BOOL, STR, FLOAT, INTS, STRS))
                asked = self.pick(["int", "bool", "str", "float", "list", "(int, str)"])
                return f"isinstance({self.expression(scope, kind, depth)}, {asked})"
            case 4:
                return f"({self._range(scope, depth)} == {self._range(scope, depth)})"
            case 5:
                kind = self.pick((INT, STR))
                return f"({self._constant(kind)} == {self.expression(scope, kind, depth)})"
            case 6:
                method = self.pick(("isdigit", "isalpha", "islower", "isspace"))
                return f"{self.pick([self._text(), self.expression(scope, STR, depth)])}.{method}()"
            case _:
                pattern = self.pick(_PATTERNS)
                return f'(re.compile("{pattern}").{self.pick(["pattern", "flags", "groups"])} == "{pattern}")'

    def _str(self, scope: Scope, depth: int) -> str:
        if not self.chance(16):
            return super()._str(scope, depth)
        match self.number(0, 6):
            case 0 | 1:
                # A quote inside a replacement field ends the string before Python 3.12.
                kinds = (INT, BOOL, STR, FLOAT)
                named = [name for name, held in scope.names.items() if held in kinds]
                inside = self.pick(named) if named else str(self.number(-2, 9))
                specs = _TEXT_SPECS if scope.names.get(inside) == STR else _NUMBER_SPECS
                return f'f"{{{inside}{self._field(specs)}}}"'
            case 2:
                kind = self.pick((INT, BOOL, STR))
                specs = _TEXT_SPECS if kind == STR else _NUMBER_SPECS
                field = f"{self.pick(['', '0'])}{self._field(specs)}"
                return f'"<{{{field}}}>".format({self.expression(scope, kind, depth)})'
            case 3:
                parts = [self.expression(scope, self.pick((INT, STR)), depth) for _ in range(2)]
                pattern = self.pick(["{}{}", "{1}{0}", "{0}{0}", "{}-{1}", "{{}}{}{}"])
                return f'"{pattern}".format({", ".join(parts)})'
            case 4:
                kind = self.pick((INT, BOOL, STR, FLOAT, INTS))
                made = self.pick(["str", "repr"])
                return f"{made}({self.expression(scope, kind, depth)})"
            case 5:
                return self._constant(STR)
            case _:
                matcher, pattern = self.pick(_MATCHERS), self.pick(_PATTERNS)
                text = self.expression(scope, STR, depth)
                name = self.fresh("w")
                return f'({name}.group() if ({name} := {matcher}("{pattern}", {text})) else "")'

    def _range(self, scope: Scope, depth: int) -> str:
        """A range, of unknown length now and then; never a long one, for the program is run."""
        unknown = [f"min({self.expression(scope, INT, depth)}, 3)", "len(names())"]
        count = self.pick(unknown) if self.chance(3) else str(self.number(0, 3))
        return f"range({self.pick(['', '1, ', '-1, '])}{count})"

    def _field(self, specs: tuple[str, ...]) -> str:
        conversion = self.pick(["", "", "!s", "!r"])
        # What is converted is a string, and most formats of numbers are none of a string.
        spec = self.pick(_TEXT_SPECS if conversion and not self.chance(8) else specs)
        return f"{conversion}:{spec}" if spec else conversion

    def _matched(self, scope: Scope, depth: int) -> str:
        pattern, text = self.pick(_PATTERNS), self.expression(scope, STR, depth)
        if self.chance(3):
            return f're.compile("{pattern}").{self.pick(["match", "fullmatch", "search"])}({text})'
        return f'{self.pick(_MATCHERS)}("{pattern}", {text})'

    def _constant(self, kind: str) -> str:
        return self.pick(_CONSTANTS[kind])
