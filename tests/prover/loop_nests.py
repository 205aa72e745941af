"""Programs that are all about goals: loops over rows inside loops over rows, calls under conditions on rows.

Little is computed in them, so that counting, ordering, pairing and end states decide; the arguments of calls are few
texts, so that equal ones are frequent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from generated_expressions import Expressions
from hypothesis import strategies as st

TEXTS = ('"a"', '"b"', '"bob@example.com"', '"audit@example.com"')
BOUNDED = {
    "at_most": (0, 12),
    "at_least": (0, 3),
    "exactly": (0, 3),
    "spend": (-2, 12),
    "spend_at_least": (-6, 3),
    "to_bob_at_most": (0, 6),
    "each_at_most": (0, 6),
    "sold_at_most": (0, 20),
    "sells_at_most": (0, 9),
    "logs_at_most": (0, 9),
}
PLAIN = (
    "unique()",
    "copied_to_audit()",
    "different_accounts()",
    "all_locked()",
    'locked("a")',
    "logged_first()",
    "logged_by_text()",
    "no_send_after_lookup()",
    "no_lookups()",
    'only(["a", "b", "bob@example.com"])',
    "amounts([0, 1, 2, -1, 5])",
    'log_never("b")',
    'message_is("a")',
)


@dataclass(frozen=True)
class Names:
    """What is bound here."""

    rows: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class Nest(Expressions):
    """Writes one program and its guarantees."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self._lines: list[str] = []

    def written(self) -> tuple[str, tuple[str, ...]]:
        """The program, and guarantees to state about it."""
        guarantees = {self._guarantee(): None for _ in range(6)}
        self._lines.append("def main() -> None:")
        self._block(1, Names(), self.number(2, 5))
        return "\n".join(self._lines) + "\n", tuple(guarantees)

    def _guarantee(self) -> str:
        if self.chance(2):
            return self.pick(PLAIN)
        name = self.pick(tuple(BOUNDED))
        return f"{name}({self.number(*BOUNDED[name])})"

    def _text(self, names: Names | None = None) -> str:
        names = names or Names()
        columns = [f"{row}.{column}" for row in names.rows for column in ("email", "email", "name")]
        return self.pick([*TEXTS, *columns, *names.texts, *names.texts])

    def _amount(self, names: Names) -> str:
        known = ["1", "0", "2", "-1", "5"]
        return self.pick([*known, *(f"{row}.age" for row in names.rows), *names.numbers])

    def _condition(self, names: Names) -> str:
        options = [f"{row}.active" for row in names.rows]
        options += [*names.flags, *(f"{text} == {TEXTS[0]}" for text in names.texts)]
        options += [f"{number} > 0" for number in names.numbers]
        options += [f"{row}.email == {TEXTS[0]}" for row in names.rows]
        if len(names.rows) > 1:
            one, other = names.rows[:2]
            options += [f"{one}.email == {other}.email", f"{one}.age < {other}.age"]
        options = options or ['is_allowed("q")']
        first = f"({self.pick(options)})"
        if self.chance(3):
            return f"not {first}"
        if self.chance(4):
            return f"{first} {self.pick(['and', 'or'])} ({self.pick(options)})"
        return first

    def _block(self, depth: int, names: Names, count: int) -> None:
        pad = "    " * depth
        for _ in range(count):
            kind = self.number(0, 9)
            if kind < 4:
                names = self._call(pad, names)
            elif kind == 4:
                name = self.fresh("v")
                if self.chance(2):
                    self._lines.append(f"{pad}{name} = number()")
                    names = replace(names, numbers=(*names.numbers, name))
                else:
                    self._lines.append(f'{pad}{name} = is_allowed("x")')
                    names = replace(names, flags=(*names.flags, name))
            elif kind < 7:
                self._if(depth, names)
            elif len(names.rows) < 2:
                names = self._loop(depth, names)
            else:
                self._lines.append(f'{pad}log("z")')

    def _call(self, pad: str, names: Names) -> Names:
        match self.number(0, 7):
            case 0 | 1:
                self._lines.append(f"{pad}send_email({self._text(names)}, {self._text(names)})")
            case 2:
                self._lines.append(f"{pad}pay({self._text(names)}, {self._amount(names)})")
            case 3:
                self._lines.append(f"{pad}log({self._text(names)})")
            case 4:
                name = self.fresh("t")
                self._lines.append(f"{pad}{name} = lookup({self._text(names)})")
                return replace(names, texts=(*names.texts, name))
            case 5:
                self._lines.append(f"{pad}sell({self._text(names)}, {self._amount(names)})")
            case _:
                self._lines.append(f"{pad}{self.pick(['lock', 'unlock'])}({self._text(names)})")
        return names

    def _if(self, depth: int, names: Names) -> None:
        pad = "    " * depth
        self._lines.append(f"{pad}if {self._condition(names)}:")
        self._block(depth + 1, names, self.number(1, 2))
        if self.chance(2):
            self._lines.append(f"{pad}else:")
            self._block(depth + 1, names, self.number(1, 2))
        if not names.rows and self.chance(7):
            self._lines += [f"{pad}if {self._condition(names)}:", f"{pad}    return"]

    def _loop(self, depth: int, names: Names) -> Names:
        pad, row = "    " * depth, self.fresh("r")
        if names.queries and self.chance(2):
            query = self.pick(names.queries)
        else:
            query = self.fresh("q")
            self._lines.append(f"{pad}{query} = users()")
            names = replace(names, queries=(*names.queries, query))
        self._lines.append(f"{pad}for {row} in {query}:")
        inside = replace(names, rows=(*names.rows, row))
        if self.chance(5):
            self._lines += [f"{pad}    if {self._condition(inside)}:", f"{pad}        continue"]
        self._block(depth + 1, inside, self.number(1, 3))
        return names


def nest_of(choices: bytes) -> tuple[str, tuple[str, ...]]:
    """A program and its guarantees."""
    return Nest(choices).written()


def nests() -> st.SearchStrategy[tuple[str, tuple[str, ...]]]:
    """Programs of nested loops, each with guarantees to state."""
    return st.binary(min_size=40, max_size=250).map(nest_of)
