"""Expressions of generated programs, by type, and the choices that make them."""

from __future__ import annotations

from dataclasses import dataclass, field

INT, BOOL, STR, FLOAT = "int", "bool", "str", "float"
INTS, STRS, TABLE, SET = "list[int]", "list[str]", "dict[str, int]", "set[int]"
SCALARS = (INT, INT, BOOL, STR, STR)
CONTAINERS = (INTS, STRS, TABLE, SET)
TEXTS = ("", "a", "b", "ab", "bob@example.com", "eve@evil.com", "x y", "é")
KEYS = ("k", "l", "m")
ASKED = {INT: "number()", STR: 'lookup("a")', BOOL: 'is_allowed("a")', FLOAT: "rate()"}
"""What nothing is known about."""
COLUMNS = {STR: ("email", "name"), INT: ("age",), BOOL: ("active",)}


@dataclass
class Function:
    """A helper of the program: what it takes and gives."""

    name: str
    parameters: tuple[str, ...]
    result: str
    changes: bool = False
    """Whether it changes a container that it is given."""


@dataclass
class Scope:
    """The names that are certainly bound here, with their types."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    rows: tuple[str, ...] = ()
    frozen: frozenset[str] = frozenset()
    """Names that the body of a loop over rows must leave as they are."""
    in_rows: bool = False
    in_loop: bool = False
    in_function: bool = False

    def inner(self, **changes: object) -> Scope:
        made = Scope(
            dict(self.names), self.rows, self.frozen, self.in_rows, self.in_loop, self.in_function
        )
        for name, value in changes.items():
            setattr(made, name, value)
        return made


class Expressions:
    """Writes expressions; a byte decides each choice, and the first option where there are no more."""

    def __init__(self, choices: bytes) -> None:
        self._choices = iter(choices)
        self._count = 0
        self._functions: list[Function] = []

    # -- choices ---------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        return low + next(self._choices, 0) % (high - low + 1)

    def pick(self, options: tuple[str, ...] | list[str]) -> str:
        return options[self.number(0, len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.number(1, one_in) == one_in

    def fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def _called(self, scope: Scope, function: Function) -> str:
        given = [self.expression(scope, kind, 1) for kind in function.parameters]
        return f"{function.name}({', '.join(given)})"

    # -- expressions -----------------------------------------------------------------------------

    def expression(self, scope: Scope, kind: str, depth: int) -> str:
        """An expression of that type; bools stand in for numbers now and then."""
        named = [name for name, held in scope.names.items() if held == kind]
        if named and self.chance(2):
            return self.pick(named)
        if scope.rows and kind in COLUMNS and self.chance(2):
            return f"{self.pick(scope.rows)}.{self.pick(COLUMNS[kind])}"
        if depth <= 0:
            asked = ASKED.get(kind)
            return asked if asked and self.chance(4) else self._literal(kind)
        if kind in SCALARS:
            matching = [f for f in self._functions if f.result == kind]
            if matching and self.chance(6):
                function = matching[self.number(0, len(matching) - 1)]
                if not (function.changes and (scope.in_rows or scope.frozen)):
                    return self._called(scope, function)
            if self.chance(8):
                arms = [self.expression(scope, kind, depth - 1) for _ in range(2)]
                return f"({arms[0]} if {self.expression(scope, BOOL, depth - 1)} else {arms[1]})"
        return {
            INT: self._int,
            BOOL: self._bool,
            STR: self._str,
            FLOAT: self._float,
            INTS: self._ints,
            STRS: self._strs,
            TABLE: self._table,
            SET: self._set,
        }[kind](scope, depth - 1)

    def _text(self) -> str:
        return f'"{self.pick(TEXTS)}"'

    def _literal(self, kind: str) -> str:
        return {
            INT: lambda: str(self.number(-3, 7)),
            BOOL: lambda: self.pick(["True", "False"]),
            STR: self._text,
            FLOAT: lambda: self.pick(["0.0", "-0.0", "1.5", "-2.25", "0.1", "1e300"]),
            INTS: lambda: self.pick(["[]", "[1]", "[3, 1]", "[0, True]"]),
            STRS: lambda: self.pick(["[]", '["a"]', '["b", "a"]']),
            TABLE: lambda: self.pick(["{}", '{"k": 1}', '{"k": 2, "l": 0}']),
            SET: lambda: self.pick(["{1}", "{1, True}", "{0, 2}"]),
        }[kind]()

    def _int(self, scope: Scope, depth: int) -> str:
        one = self.expression(scope, INT, depth)
        kind = self.number(0, 19)
        match kind:
            case 0 | 1:
                return f"({one} {self.pick(['+', '-', '*'])} {self.expression(scope, INT, depth)})"
            case 2 | 3:
                divisor = self.pick(["2", "3", "-2", "-3", "7"])
                return f"({one} {self.pick(['//', '%'])} {divisor})"
            case 4:
                return f"len({self.expression(scope, self.pick((STR, *CONTAINERS)), depth)})"
            case 5:
                return f"{self.pick(['min', 'max'])}({one}, {self.expression(scope, INT, depth)})"
            case 6:
                return f"abs({one})"
            case 7:
                return f"-({one})"
            case 8:
                return f"({self.expression(scope, BOOL, depth)} + {one})"
            case 9:
                return "number()"
            case 10:
                return f"sum({self.expression(scope, INTS, depth)})"
            case 11:
                table = self.expression(scope, TABLE, depth)
                return f'{table}.get("{self.pick(KEYS)}", {one})'
            case 12:
                return f"({one} or {self.expression(scope, INT, depth)})"
            case 13:
                return f"{self.expression(scope, STR, depth)}.find({self._text()})"
            case 14:
                return f"int({self.expression(scope, BOOL, depth)})"
            case 15:
                return f"({one} ** {self.number(0, 2)})"
            case 16:
                whole, item = self.pick(["ints", "strs"]), self.expression(scope, INT, depth)
                if whole == "ints":
                    return f"{self.expression(scope, INTS, depth)}.count({item})"
                return f"{self.expression(scope, STRS, depth)}.count({self._text()})"
            case 17:
                return f"{self.expression(scope, STR, depth)}.count({self._text()})"
            case 18:
                return f"max([{one}, {self.expression(scope, INT, depth)}])"
            case _:
                return f"({one} // {self.expression(scope, INT, depth)})"

    def _bool(self, scope: Scope, depth: int) -> str:
        kind = self.number(0, 16)
        match kind:
            case 0 | 1:
                left, right = (self.expression(scope, INT, depth) for _ in range(2))
                return f"({left} {self.pick(['<', '<=', '==', '!=', '>'])} {right})"
            case 2:
                parts = [self.expression(scope, INT, depth) for _ in range(3)]
                return f"({parts[0]} <= {parts[1]} {self.pick(['<', '!=', '=='])} {parts[2]})"
            case 3 | 4:
                left, right = (self.expression(scope, STR, depth) for _ in range(2))
                return f"({left} {self.pick(['==', '!=', '<', 'in', 'not in'])} {right})"
            case 5:
                held = self.pick([INTS, SET])
                left = self.expression(scope, self.pick([INT, BOOL]), depth)
                return (
                    f"({left} {self.pick(['in', 'not in'])} {self.expression(scope, held, depth)})"
                )
            case 6:
                return f"({self.expression(scope, STR, depth)} in {self.expression(scope, STRS, depth)})"
            case 7:
                return f"(not {self.expression(scope, BOOL, depth)})"
            case 8 | 9:
                operator = self.pick(["and", "or"])
                left, right = (self.expression(scope, BOOL, depth) for _ in range(2))
                return f"({left} {operator} {right})"
            case 10:
                method = self.pick(["startswith", "endswith"])
                return f"{self.expression(scope, STR, depth)}.{method}({self._text()})"
            case 11:
                return f"is_allowed({self._text()})"
            case 13:
                name, made = self.fresh("c"), self.pick(["any", "all"])
                source = self.expression(scope, INTS, depth)
                inner = scope.inner()
                inner.names[name] = INT
                return f"{made}({self.expression(inner, BOOL, depth)} for {name} in {source})"
            case 14:
                left, right = (self.expression(scope, FLOAT, depth) for _ in range(2))
                return f"({left} {self.pick(['<', '==', '!=', '>='])} {right})"
            case 15:
                left = self.expression(scope, self.pick([INT, BOOL]), depth)
                return (
                    f"({left} {self.pick(['<', '==', '>'])} {self.expression(scope, FLOAT, depth)})"
                )
            case 12:
                return f"bool({self.expression(scope, self.pick((INT, STR, *CONTAINERS)), depth)})"
            case _:
                left, right = self.pick(CONTAINERS), self.pick(CONTAINERS)
                return f"({self.expression(scope, left, depth)} == {self.expression(scope, right, depth)})"

    def _str(self, scope: Scope, depth: int) -> str:
        one = self.expression(scope, STR, depth)
        match self.number(0, 16):
            case 14:
                method = self.pick(("upper()", "lower()", "strip()", "title()", "zfill(3)"))
                return f"{one}.{method}"
            case 15:
                separator, at = self.pick(("", '" "')), self.pick(("0", "-1"))
                return f"{one}.split({separator})[{at}]"
            case 16:
                number = self.expression(scope, self.pick((INT, FLOAT)), depth)
                form = self.pick((">6", ".2f", ",", "6"))
                return f'format({number}, "{form}")'
            case 0 | 1:
                return f"({one} + {self.expression(scope, STR, depth)})"
            case 2:
                low, high = self.number(-3, 3), self.number(-3, 4)
                return f"{one}[{low}:{high}]"
            case 3:
                return f"str({self.expression(scope, INT, depth)})"
            case 4:
                # A quote inside a replacement field ends the string before Python 3.12.
                named = [n for n, held in scope.names.items() if held in (STR, INT, BOOL)]
                inside = self.pick(named) if named else str(self.number(-2, 9))
                return f'f"{self.pick(("", "n="))}{{{inside}}}!"'
            case 5:
                return f"lookup({one})"
            case 6:
                return f"({one} or {self._text()})"
            case 7:
                return f"{one}.replace({self._text()}, {self._text()})"
            case 9:
                return f"{one}.{self.pick(('removeprefix', 'removesuffix'))}({self._text()})"
            case 10:
                return f"{self._text()}.{self.pick(('upper', 'lower', 'strip', 'title'))}()"
            case 11:
                return f"({one}[:1] if {one} else {self._text()})"
            case 12:
                return f'{self._text()}.split(" ")[0]'
            case 8:
                return f'"{self.pick(("", "-"))}".join({self.expression(scope, STRS, depth)})'
            case _:
                return f"({one} * {self.number(-1, 3)})"

    def _float(self, scope: Scope, depth: int) -> str:
        one = self.expression(scope, FLOAT, depth)
        match self.number(0, 4):
            case 0:
                return (
                    f"({one} {self.pick(['+', '-', '*'])} {self.expression(scope, FLOAT, depth)})"
                )
            case 1:
                return f"({one} + {self.expression(scope, INT, depth)})"
            case 2:
                return "rate()"
            case 3:
                return f"({self.expression(scope, INT, depth)} / {self.pick(['2', '-4', '3'])})"
            case _:
                return f"-({one})"

    def _ints(self, scope: Scope, depth: int) -> str:
        return self._list(scope, INT, INTS, depth)

    def _strs(self, scope: Scope, depth: int) -> str:
        return self._list(scope, STR, STRS, depth)

    def _list(self, scope: Scope, item: str, whole: str, depth: int) -> str:
        match self.number(0, 8):
            case 6:
                return f"sorted({self.expression(scope, whole, depth)})"
            case 7:
                return f"list(reversed({self.expression(scope, whole, depth)}))"
            case 8:
                return f"{self.expression(scope, whole, depth)}[::{self.pick(('2', '-1'))}]"
            case 0 | 1:
                items = [self.expression(scope, item, depth) for _ in range(self.number(0, 3))]
                return f"[{', '.join(items)}]"
            case 2:
                left, right = (self.expression(scope, whole, depth) for _ in range(2))
                return f"({left} + {right})"
            case 3:
                low, high = self.number(-2, 2), self.number(-2, 3)
                return f"{self.expression(scope, whole, depth)}[{low}:{high}]"
            case 4:
                return f"{self.expression(scope, whole, depth)}.copy()"
            case _:
                name = self.fresh("c")
                source = self.expression(scope, whole, depth)
                inner = scope.inner()
                inner.names[name] = item
                made = self.expression(inner, item, depth)
                only = f" if {self.expression(inner, BOOL, depth)}" if self.chance(2) else ""
                return f"[{made} for {name} in {source}{only}]"

    def _table(self, scope: Scope, depth: int) -> str:
        pairs = [
            f'"{self.pick(KEYS)}": {self.expression(scope, INT, depth)}'
            for _ in range(self.number(0, 2))
        ]
        return "{" + ", ".join(pairs) + "}"

    def _set(self, scope: Scope, depth: int) -> str:
        items = [
            self.expression(scope, self.pick([INT, BOOL]), depth) for _ in range(self.number(1, 2))
        ]
        return "{" + ", ".join(items) + "}"
