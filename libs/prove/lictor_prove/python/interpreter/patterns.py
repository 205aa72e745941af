"""`match`: what a pattern demands of a value, and the names that it binds."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from lictor_ir.terms import FALSE, TRUE, Term, and_, apply, const, eq, or_
from lictor_prove.python.kinds import KEYED, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import choose
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    DataClassV,
    Ref,
    Sym,
    SymbolicValue,
    TupleV,
    count,
    described,
    known,
)
from lictor_prove.python.operations import builtin_functions
from lictor_prove.python.operations.comparisons import compare, truth
from lictor_prove.python.operations.container_contents import configurations
from lictor_prove.python.operations.unknown.containers import (
    is_unknown,
    item_at,
    iterated,
    made,
)
from lictor_prove.python.operations.unknown.iterables import part
from lictor_prove.python.refusals import refuse

_NO_SEQUENCES: Final = frozenset(
    {
        *(Kind.NONE, Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STR),
        *(*KEYED, Kind.SET, Kind.FROZENSET, Kind.ROW, Kind.INSTANCE),
    }
)
"""What no pattern in brackets matches."""


@dataclass(frozen=True, slots=True)
class _Found:
    """When a pattern matches, and what it binds then."""

    holds: Term
    names: Mapping[str, SymbolicValue] = field(default_factory=dict[str, SymbolicValue])


def run_match(machine: Machine, node: ast.Match) -> None:
    """A `match` statement: the first case whose pattern and guard fit."""
    subject = machine.evaluate(node.subject)
    target = machine.enter("match")
    for case in node.cases:
        if machine.dead:
            break
        machine.at = case.pattern
        found = _matched(machine, case.pattern, subject)
        machine.branch(case.pattern, found.holds)

        def body(case: ast.match_case = case) -> SymbolicValue:
            machine.hooks.run(machine, case.body)
            machine.leave_for(target, NONE_VALUE)
            return NONE_VALUE

        def taken(case: ast.match_case = case, found: _Found = found) -> SymbolicValue:
            for name, value in found.names.items():
                machine.bind(name, value)
            if case.guard is None:
                return body(case)
            condition = truth(machine, machine.evaluate(case.guard))
            machine.branch(case.guard, condition)
            return machine.fork(condition, lambda: body(case), lambda: NONE_VALUE)

        machine.fork(found.holds, taken, lambda: NONE_VALUE)
    machine.close(target, NONE_VALUE)


def _matched(machine: Machine, pattern: ast.pattern, value: SymbolicValue) -> _Found:
    match pattern:
        case ast.MatchAs(pattern=None, name=name):
            return _Found(TRUE, {} if name is None else {name: value})
        case ast.MatchAs(pattern=ast.pattern() as inner, name=str() as name):
            found = _matched(machine, inner, value)
            return _Found(found.holds, {**found.names, name: value})
        case ast.MatchOr(patterns=several):
            return _first([_matched(machine, each, value) for each in several])
        case ast.MatchValue(value=wanted):
            return _Found(compare(machine, ast.Eq(), value, machine.evaluate(wanted)))
        case ast.MatchSingleton(value=wanted):
            return _Found(compare(machine, ast.Is(), value, known(wanted)))
        case ast.MatchSequence(patterns=parts):
            return _in_each_case(machine, parts, value)
        case ast.MatchClass():
            return _instance(machine, pattern, value)
        case _:
            refuse(
                "match.pattern",
                "this pattern is outside the subset",
                "Use literals, names, `_`, `|`, sequences, or a builtin class: `case str():`.",
                pattern,
            )


def _first(options: Sequence[_Found]) -> _Found:
    """The first that matches: what it binds is bound."""
    possible = [each for each in options if each.holds is not FALSE]
    if not possible:
        return _Found(FALSE)
    names = {
        name: choose([(each.holds, each.names[name]) for each in possible])
        for name in possible[0].names
    }
    return _Found(or_(*(each.holds for each in possible)), names)


def _instance(machine: Machine, pattern: ast.MatchClass, value: SymbolicValue) -> _Found:
    made_of = machine.evaluate(pattern.cls)
    most = 1 if isinstance(made_of, BuiltinV) else 0
    if (
        pattern.kwd_patterns
        or len(pattern.patterns) > most
        or not isinstance(made_of, BuiltinV | DataClassV)
    ):
        refuse(
            "match.class",
            "in a pattern, builtin classes with at most one part are supported, and dataclasses without any",
            "Write `case str():`, `case int(n):` or `case Line():`, and test the rest with `if`.",
            pattern,
        )
    found = builtin_functions.call(machine, "isinstance", [value, made_of], {})
    assert isinstance(found, Sym)
    if not pattern.patterns or found.term is FALSE:
        return _Found(found.term)
    inner = _under(machine, found.term, pattern.patterns[0], value)
    return _Found(and_(found.term, inner.holds), inner.names)


def _under(machine: Machine, condition: Term, pattern: ast.pattern, value: SymbolicValue) -> _Found:
    """The pattern, asked only where the condition holds."""
    outer = machine.guard
    machine.guard = and_(outer, condition)
    found = _Found(FALSE) if machine.dead else _matched(machine, pattern, value)
    machine.guard = outer
    return found


def _in_each_case(machine: Machine, parts: Sequence[ast.pattern], value: SymbolicValue) -> _Found:
    found: list[_Found] = []
    for guard, one in machine.cases(value):
        for inner, items, size in _items(machine, one):
            condition = and_(guard, inner)
            each = _sequence(machine, parts, items, size, condition)
            found.append(_Found(and_(condition, each.holds), each.names))
    return _first(found)


Items = tuple[SymbolicValue, ...] | Ref


def _items(machine: Machine, value: SymbolicValue) -> list[tuple[Term, Items | None, Term]]:
    """What stands in a sequence, and how many; None for what is no sequence."""
    kind = kind_of(machine, value)
    if kind in _NO_SEQUENCES:
        return [(TRUE, None, const(0))]
    if isinstance(value, TupleV):
        return [(TRUE, value.items, const(len(value.items)))]
    if isinstance(value, Ref) and kind == Kind.LIST and not is_unknown(machine, value):
        options = configurations(machine, machine.content(value))
        return [
            (guard, tuple(entry.value for entry in held), const(len(held)))
            for guard, held in options
        ]
    if kind != Kind.LIST:
        _no_sequence(value)
    held = iterated(machine, value)
    return [(TRUE, made(machine, "list", held), count(held))]


def _no_sequence(value: SymbolicValue) -> NoReturn:
    refuse(
        "match.sequence",
        f"{described(value)} can't be matched by a sequence",
        "Match lists and tuples.",
    )


def _sequence(
    machine: Machine,
    parts: Sequence[ast.pattern],
    items: Items | None,
    size: Term,
    condition: Term,
) -> _Found:
    if items is None:
        return _Found(FALSE)
    stars = [at for at, each in enumerate(parts) if isinstance(each, ast.MatchStar)]
    star = stars[0] if stars else None
    least = const(len(parts) - len(stars))
    fits = eq(size, least) if star is None else apply("le", least, size)
    if fits is FALSE:
        return _Found(FALSE)
    holds, names = [fits], dict[str, SymbolicValue]()
    for at, each in enumerate(parts):
        if isinstance(each, ast.MatchStar):
            if each.name is not None:
                after = len(parts) - at - 1
                names[each.name] = _between(machine, items, at, apply("sub", size, const(after)))
            continue
        back = star is not None and at > star
        place = apply("sub", size, const(len(parts) - at)) if back else const(at)
        found = _under(machine, and_(condition, *holds), each, _item(machine, items, place))
        if found.holds is FALSE:
            return found
        holds.append(found.holds)
        names.update(found.names)
    return _Found(and_(*holds), names)


def _item(machine: Machine, items: Items, place: Term) -> SymbolicValue:
    if isinstance(items, Ref):
        return item_at(iterated(machine, items), place)
    return items[_known(place)]


def _between(machine: Machine, items: Items, first: int, last: Term) -> SymbolicValue:
    """The items from one place to another, as a list of its own."""
    if isinstance(items, Ref):
        return made(machine, "list", part(iterated(machine, items), const(first), last))
    return machine.make_list(items[first : _known(last)])


def _known(place: Term) -> int:
    value = getattr(place, "value", None)
    assert isinstance(value, int)
    return value
