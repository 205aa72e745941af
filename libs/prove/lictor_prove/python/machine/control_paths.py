"""Stores in layers, paths that leave early, and what a path's guard says about a condition."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from lictor_ir.document import Span
from lictor_ir.records import record
from lictor_ir.terms import FALSE, TRUE, App, Term, and_
from lictor_prove.python.machine.path_merging import merge, merge_contents
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    UNBOUND,
    Content,
    FieldKey,
    SymbolicValue,
)

Key = int | tuple[int, str]
"""An object, or a name in a frame or field of an instance."""


class Store:
    """Values of names and contents of objects, in layers."""

    __slots__ = ("below", "written")

    def __init__(self, below: Store | None = None) -> None:
        self.below = below
        self.written: dict[Key, SymbolicValue | Content] = {}

    def get(self, key: Key) -> SymbolicValue | Content | None:
        layer: Store | None = self
        while layer is not None:
            if key in layer.written:
                return layer.written[key]
            layer = layer.below
        return None

    def since(self, base: Store) -> dict[Key, SymbolicValue | Content]:
        """What was written in this layer and those below it, down to and with `base`."""
        layers: list[Store] = []
        layer: Store | None = self
        while layer is not None and layer is not base.below:
            layers.append(layer)
            layer = layer.below
        together: dict[Key, SymbolicValue | Content] = {}
        for each in reversed(layers):
            together.update(each.written)
        return together


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An error on its way to whoever handles it."""

    classes: frozenset[str] | None
    """What it may be, exactly; None for any Exception."""
    flows: tuple[Term, ...] = ()
    """What its text may be made of."""
    labels: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    """Where it was raised."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A path that leaves for a target."""

    guard: Term
    written: dict[Key, SymbolicValue | Content]
    value: SymbolicValue = NONE_VALUE
    error: RaisedError | None = None
    to: str = ""
    """Where a path goes that leaves through a `finally`: `return`, `break`, `continue`; else it is an error's."""


@dataclass(slots=True)
class Target:
    """A place that paths leave for: the end of a function, of a loop, or of one round of it."""

    kind: str
    """`function`, `loop`, `round`; `else` is a loop whose rounds are over, which nothing leaves for any more. Of a loop
    that runs an unknown number of times, `going` is a round after which it goes on: paths that leave the loop are not
    taken in it. `last` is the round in which it is left: only they are. `symbolic` is a round of a comprehension. `try`
    and `finally` are bodies that errors leave; a `finally` all others, too."""
    store: Store
    guard: Term
    departed: int
    exits: list[Exit] = field(default_factory=list[Exit])
    dropped: list[Term] = field(default_factory=list[Term])
    """The conditions under which paths leave the loop, in a round after which it goes on."""
    handlers: tuple[tuple[str, ...], ...] = ()
    """The classes that each handler of a `try` names."""
    loop: ast.AST | None = None
    """Whose round it is."""
    raising: list[str] = field(default_factory=list[str])
    """What decides whether an item of a comprehension raises, and is handled outside; begins with "" where one may."""
    tests: list[Term] = field(default_factory=list[Term])
    """What a `while` loop asks before such a round."""


@record()
class Frame:
    """A scope that is being executed, or was and is still referred to."""

    id: int
    above: Frame | None
    names: frozenset[str]
    """The names that are bound in it; others are looked up in the frame above."""
    function: bool = True
    """False for comprehensions."""


def joined(
    key: Key,
    condition: Term,
    one: SymbolicValue | Content | None,
    other: SymbolicValue | Content | None,
) -> SymbolicValue | Content | None:
    """What a name or an object is after two paths; None for an object that neither made."""
    if isinstance(key, int):
        # An object that only one path made is out of reach on the other.
        if one is None or other is None:
            return one or other
        assert isinstance(one, Content)
        assert isinstance(other, Content)
        return merge_contents(condition, one, other)
    if isinstance(key, FieldKey) and (one is None or other is None):
        return one or other
    first = one if isinstance(one, SymbolicValue) else UNBOUND
    second = other if isinstance(other, SymbolicValue) else UNBOUND
    return merge(condition, first, second)


def facts(guard: Term) -> tuple[frozenset[Term], frozenset[Term]]:
    """What holds, and what does not hold, where the guard does."""
    holds: list[Term] = []
    fails: list[Term] = []
    for part in conjuncts(guard):
        if isinstance(part, App) and part.op == "not":
            fails.append(part.args[0])
            if isinstance(part.args[0], App) and part.args[0].op == "or":
                fails.extend(part.args[0].args)
        else:
            holds.append(part)
    return frozenset(holds), frozenset(fails)


def decided(condition: Term, holds: frozenset[Term], fails: frozenset[Term]) -> bool | None:
    """Whether the condition is known from facts, by its outer shape alone: conditions share their parts, so looking
    deeper would take for ever."""
    if isinstance(condition, App) and condition.op == "not":
        inner = _junction_decided(condition.args[0], holds, fails)
        return None if inner is None else not inner
    return _junction_decided(condition, holds, fails)


def _junction_decided(
    condition: Term, holds: frozenset[Term], fails: frozenset[Term]
) -> bool | None:
    known = _fact(condition, holds, fails)
    if known is None and isinstance(condition, App) and condition.op in ("and", "or"):
        settles = condition.op == "or"
        parts = [_fact(part, holds, fails) for part in condition.args]
        if settles in parts:
            return settles
        if None not in parts:
            return not settles
    return known


def _fact(part: Term, holds: frozenset[Term], fails: frozenset[Term]) -> bool | None:
    if part is TRUE or part in holds:
        return True
    if part is FALSE or part in fails:
        return False
    if isinstance(part, App) and part.op == "not":
        inner = part.args[0]
        return False if inner in holds else True if inner in fails else None
    return None


def conjuncts(guard: Term) -> tuple[Term, ...]:
    """The parts of a conjunction."""
    return guard.args if isinstance(guard, App) and guard.op == "and" else (guard,)


def beyond(guard: Term, outer: Term) -> Term:
    """What the guard says that the outer one does not."""
    known = set(conjuncts(outer))
    return and_(*(part for part in conjuncts(guard) if part not in known))
