"""`collections.defaultdict`: a dict that puts in what it lacks when `d[key]` is read, and in no other way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lictor_ir.terms import FALSE, TRUE, Term, and_, const, or_
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import choose, concatenated
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    ContainerItem,
    FunctionV,
    Ref,
    SequenceV,
    SymbolicValue,
    TupleV,
)
from lictor_prove.python.operations import container_contents, containers
from lictor_prove.python.operations.equality import same
from lictor_prove.python.operations.unknown import containers as unknown_containers
from lictor_prove.python.operations.unknown.containers import is_unknown, opened
from lictor_prove.python.refusals import refuse

FACTORIES: Final = frozenset({"bool", "dict", "float", "int", "list", "set", "str", "tuple"})
"""Builtins that a defaultdict may call."""


def make(
    machine: Machine, args: Sequence[SymbolicValue], _: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`defaultdict(factory)`."""
    match machine.cases(args[0]):
        case [(_, BuiltinV(name) as factory)] if name in FACTORIES:
            pass
        case [(_, FunctionV() as factory)]:
            pass
        case _:
            refuse(
                "defaultdict.factory",
                "what this defaultdict makes of a missing key is outside the subset",
                f"Write {', '.join(sorted(FACTORIES))}, or a lambda or helper without arguments.",
            )
    return machine.make("defaultdict", (), factory=factory)


def known_hits(machine: Machine, ref: Ref, key: SymbolicValue) -> list[tuple[Term, SymbolicValue]]:
    """The values that a dict of known content may have for the key, each with its condition."""
    containers.hashable(machine, key)
    hits: list[tuple[Term, SymbolicValue]] = []
    for entry in container_contents.entries(machine, ref):
        assert entry.key is not None
        here = and_(entry.present, same(machine, entry.key, key))
        if here is not FALSE:
            hits.append((here, entry.value))
    return hits


def read(machine: Machine, owner: SymbolicValue, key: SymbolicValue) -> SymbolicValue:
    """`d[key]`."""
    ref = containers.as_ref(owner)
    if is_unknown(machine, ref):
        found, value = unknown_containers.entry_of(machine, ref, key)
    else:
        hits = known_hits(machine, ref, key)
        found, value = or_(*(guard for guard, _ in hits)), choose(hits) if hits else NONE_VALUE
    return machine.fork(found, lambda: value, lambda: _put_in(machine, ref, key))


def _put_in(machine: Machine, ref: Ref, key: SymbolicValue) -> SymbolicValue:
    """What the factory makes, for a key that is not there."""
    _check_rounds(machine, ref)
    before, atoms = machine.stored(ref), len(machine.atoms)
    value = machine.call(machine.factories[ref.id], [])
    if len(machine.atoms) != atoms:
        refuse(
            "defaultdict.factory",
            "the factory of this defaultdict makes trusted calls",
            "Ask `if key not in d:`, and make the call there.",
        )
    if machine.stored(ref) is not before:
        # The factory put something in itself, which may be this key.
        put = unknown_containers.put if is_unknown(machine, ref) else containers.put
        put(machine, ref, key, value)
    elif is_unknown(machine, ref):
        held, pair = opened(machine, ref), TupleV((key, value))
        unknown_containers.one_key(machine, held.item, pair)
        added = SequenceV(const(1), held.index, pair, TRUE)
        unknown_containers.change(machine, ref, concatenated(held, added))
    else:
        held = container_contents.entries(machine, ref)
        machine.replace(ref, containers.bounded((*held, ContainerItem(TRUE, value, key))))
    return value


def _check_rounds(machine: Machine, ref: Ref) -> None:
    """Refuse to change what is from outside of a comprehension that runs an unknown number of times."""
    for target in machine.targets:
        below = target.store.below
        if target.kind == "symbolic" and below is not None and below.get(ref.id) is not None:
            refuse(
                "defaultdict.inserts",
                "reading a missing key of a defaultdict puts it in, here an unknown number of times",
                "Use `.get(key, default)`, or a `for` loop.",
            )
