"""A value that is changed a little: so that a run comes further than the one that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final, cast

from lictor_ir.types import INT, ListOf, OptionalOf, RowOf, TupleOf, Type
from lictor_ir.values import RowValue, Value
from lictor_prove.rehearsal.chosen_values import Aims, ValuePool

MAX_ITEMS: Final = 130
"""Of a list that is made longer."""


class ChangedValues:
    """Changes values of one run; `seen`: those that it reads, for programs compare values with each other."""

    def __init__(self, pool: ValuePool, random: Random, seen: Sequence[Any], aims: Aims) -> None:
        self._pool = pool
        self._random = random
        self._seen = seen
        self._aims = aims

    def changed(self, type_: Type, value: Any) -> Value:
        """Another value of the type; by chance it may be the same."""
        random = self._random
        match type_, value:
            case ListOf(item), [_, *_] if random.random() < 0.9:
                return self._list(item, cast(list[Any], value))
            case RowOf(), RowValue() if random.random() < 0.9:
                return self._row(value)
            case OptionalOf(item), _ if value is not None and random.random() < 0.7:
                return self.changed(item, value)
            case TupleOf(items), tuple():
                at = random.randrange(len(items)) if items else 0
                parts = list(cast(tuple[Any, ...], value))
                parts[at : at + 1] = [
                    self.changed(items[each], parts[each])
                    for each in range(len(items))[at : at + 1]
                ]
                return tuple(parts)
            case _, int() if type_ == INT and random.random() < 0.3:
                return value + random.choice((-1, 1, value))
            case _:
                return self.drawn(type_)

    def drawn(self, type_: Type) -> Value:
        """A new value."""
        return self._pool.drawn(type_, self._random, self._seen, self._aims)

    def _list(self, type_: Type, items: list[Any]) -> list[Any]:
        """A list with one item changed, with one more or less, with many that are alike, or with two that have
        something in common."""
        random = self._random
        at, made = random.randrange(len(items)), list(items)
        match random.randrange(7):
            case 0:
                del made[at]
            case 1:
                made.insert(at, self.drawn(type_))
            case 2:
                more = random.choice((1, 2, *self._pool.many))
                made[at:at] = [items[at]] * min(more, MAX_ITEMS - len(items))
            case 3:
                changed = self.changed(type_, items[at])
                made = [changed if each == items[at] else each for each in items]
            case 4 if isinstance(items[at], RowValue):
                return self._with_column(items, at)
            case 5 if isinstance(items[at], RowValue):
                # A row like another one, but for one column.
                made.insert(at + 1, self._row(items[at]))
            case _:
                made[at] = self.changed(type_, items[at])
        return made

    def _with_column(self, rows: list[RowValue], at: int) -> list[Any]:
        """The rows, all with the same new value in one column, or one of them with that of another."""
        random = self._random
        columns = self._pool.columns(rows[at].schema)
        if not columns:
            return rows
        column = random.choice(columns)
        if random.random() < 0.5:
            value = random.choice(rows).columns[column.name]
            made: list[Any] = list(rows)
            made[at] = RowValue(rows[at].schema, {**rows[at].columns, column.name: value})
            return made
        value = self.changed(column.type, rows[at].columns[column.name])
        return [RowValue(row.schema, {**row.columns, column.name: value}) for row in rows]

    def _row(self, row: RowValue) -> RowValue:
        columns = self._pool.columns(row.schema)
        if not columns:
            return row
        column = self._random.choice(columns)
        value = self.changed(column.type, row.columns[column.name])
        return RowValue(row.schema, {**row.columns, column.name: value})
