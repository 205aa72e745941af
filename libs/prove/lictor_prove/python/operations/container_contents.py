"""What containers hold on the path that is taken, and the terms and Python values for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from lictor_ir.terms import FALSE, TRUE, Term, and_, apply, const, ite, not_
from lictor_layer.contracts import spelled
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    ContainerItem,
    Content,
    InstanceRef,
    InstanceV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    UnionV,
    described,
    is_known,
    known,
    known_scalar,
)
from lictor_prove.python.operations.unknown.terms import check_passed, passed
from lictor_prove.python.refusals import MAX_ALTERNATIVES, refuse, unmodelled

UNKNOWN: Final = object()


def entries(machine: Machine, ref: Ref) -> tuple[ContainerItem, ...]:
    """What an object holds on this path."""
    return _narrowed(machine, machine.content(ref))


def _narrowed(machine: Machine, content: Content) -> tuple[ContainerItem, ...]:
    if all(entry.present is TRUE for entry in content.entries):
        return content.entries
    kept: list[ContainerItem] = []
    for entry in content.entries:
        if entry.present is TRUE:
            kept.append(entry)
            continue
        there = machine.decided(entry.present)
        if there is None or machine.dead:
            kept.append(entry)
        elif there:
            kept.append(ContainerItem(TRUE, entry.value, entry.key))
    return tuple(kept)


def configurations(
    machine: Machine, content: Content
) -> list[tuple[Term, tuple[ContainerItem, ...]]]:
    """Every set of entries that may be there, with the condition for it."""
    found: list[tuple[Term, tuple[ContainerItem, ...]]] = [(TRUE, ())]
    for entry in _narrowed(machine, content):
        if entry.present is TRUE:
            found = [(guard, (*held, entry)) for guard, held in found]
            continue
        grown: list[tuple[Term, tuple[ContainerItem, ...]]] = []
        for guard, held in found:
            there, gone = and_(guard, entry.present), and_(guard, not_(entry.present))
            if there is not FALSE:
                grown.append((there, (*held, ContainerItem(TRUE, entry.value, entry.key))))
            if gone is not FALSE:
                grown.append((gone, held))
        found = grown
        if len(found) > MAX_ALTERNATIVES:
            refuse(
                "limits.alternatives",
                f"what this container holds depends on the path in more than {MAX_ALTERNATIVES} ways",
                "Loop over it with `for`, or make the calls in the branches themselves.",
            )
    return found


def known_value(machine: Machine, value: SymbolicValue) -> Any:
    """The Python value, where every part of it is known; else UNKNOWN."""
    match value:
        case Sym():
            return known_scalar(value) if is_known(value) else UNKNOWN
        case TupleV(items):
            return _known_all(machine, items, tuple)
        case RangeV(held):
            return held
        case Ref():
            machine.step()
            content = machine.content(value)
            if isinstance(content.held, SequenceV) or (content.is_dict and content.kind != "dict"):
                return UNKNOWN
            held = entries(machine, value)
            if any(entry.present is not TRUE for entry in held):
                return UNKNOWN
            values = [entry.value for entry in held]
            match content.kind:
                case "list":
                    return _known_all(machine, values, list)
                case "set":
                    return _known_all(machine, values, set)
                case "frozenset":
                    return _known_all(machine, values, frozenset)
                case _:
                    keys = _known_all(machine, [e.key for e in held if e.key is not None], list)
                    found = _known_all(machine, values, list)
                    if keys is UNKNOWN or found is UNKNOWN:
                        return UNKNOWN
                    return dict(zip(keys, found, strict=True))
        case _:
            return UNKNOWN


def unordered(value: Any) -> bool:
    """Whether the text of a Python value depends on the order of a set."""
    if isinstance(value, set | frozenset):
        return len(cast(set[Any], value)) > 1
    if isinstance(value, tuple | list):
        return any(unordered(item) for item in cast(list[Any], value))
    return isinstance(value, dict) and any(
        unordered(v) for v in cast(dict[Any, Any], value).values()
    )


def without_nan(value: Any) -> None:
    """Refuse a NaN inside of a container that is ordered: containers ask first which object it is, and nobody knows."""
    if isinstance(value, float) and value != value:
        unmodelled(
            "float.identity",
            "containers with NaN in them are ordered by which object it is",
            "Compare floats with `<`, one by one.",
        )
    if isinstance(value, tuple | list | set | frozenset | dict):
        for item in cast(list[Any], value):
            without_nan(item)


def _known_all(machine: Machine, values: Iterable[SymbolicValue], make: Any) -> Any:
    found = [known_value(machine, value) for value in values]
    return UNKNOWN if any(one is UNKNOWN for one in found) else make(found)


def lift(machine: Machine, value: Any) -> SymbolicValue:
    """The value for a Python value; containers become new objects.

    Of these types only, not of classes below them: a Counter has an item for every key, and an enum's text is its own.
    """
    kind = cast(type[object], type(value))
    if value is None or kind in (bool, int, float, str):
        return known(value)
    if kind is tuple:
        return TupleV(tuple(lift(machine, item) for item in cast(tuple[Any, ...], value)))
    if kind is list:
        return machine.make_list([lift(machine, item) for item in cast(list[Any], value)])
    if kind in (set, frozenset):
        # Python's own order differs from process to process; a document is the same in each.
        held = [lift(machine, item) for item in sorted(cast(frozenset[Any], value), key=spelled)]
        return machine.make(kind.__name__, (ContainerItem(TRUE, item) for item in held))
    if kind is dict:
        pairs = [
            ContainerItem(TRUE, lift(machine, item), lift(machine, key))
            for key, item in cast(dict[Any, Any], value).items()
        ]
        return machine.make("dict", pairs)
    refuse(
        "value.unknown",
        f"a {type(value).__name__} is outside the subset",
        "Use bools, ints, floats, strings, None, lists, tuples, dicts and sets.",
    )


# -- terms -----------------------------------------------------------------------------------------


def term_of(machine: Machine, value: SymbolicValue) -> Term:
    """The value as one term: what a trusted call is given."""
    match value:
        case Sym(term):
            return term
        case TupleV(items):
            return apply("tuple", *(term_of(machine, item) for item in items))
        case Ref():
            machine.step()
            content = machine.content(value)
            check_passed(content)
            if isinstance(content.held, SequenceV) and machine.declares_unknowns:
                return passed(machine, value)
            options = configurations(machine, content)
            return chosen([(guard, _made(machine, content.kind, held)) for guard, held in options])
        case SequenceV(kind="list") if machine.declares_unknowns:
            return passed(machine, value)
        case UnionV():
            return chosen([(guard, term_of(machine, one)) for guard, one in machine.cases(value)])
        case InstanceV() | InstanceRef():
            refuse(
                "argument.value",
                f"{described(value)} can't be passed to a trusted function",
                "Pass what its fields hold: each, or asdict(…).",
            )
        case _:
            refuse(
                "argument.value",
                f"{described(value)} can't be passed to a trusted function",
                "Pass bools, numbers, strings, None, rows, or lists, tuples, dicts and sets of them.",
            )


def chosen(options: Sequence[tuple[Term, Term]]) -> Term:
    term = options[-1][1]
    for guard, earlier in reversed(options[:-1]):
        term = ite(guard, earlier, term)
    return term


def _made(machine: Machine, kind: str, held: Sequence[ContainerItem]) -> Term:
    if kind == "dict":
        parts = [part for entry in held for part in (entry.key, entry.value) if part is not None]
        return apply("dict", *(term_of(machine, part) for part in parts))
    made = "set" if kind == "frozenset" else kind
    return apply(made, *(term_of(machine, entry.value) for entry in held))


def count_of(conditions: Iterable[Term]) -> Term:
    """How many of them hold."""
    sure, maybe = 0, list[Term]()
    for condition in conditions:
        if condition is TRUE:
            sure += 1
        else:
            maybe.append(ite(condition, const(1), const(0)))
    return apply("add", *maybe, const(sure)) if maybe else const(sure)
