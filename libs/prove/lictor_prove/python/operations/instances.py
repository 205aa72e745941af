"""Instances of the program's dataclasses: how they are made, and what is done to their fields.

What a field holds is what was given, whatever its annotation says: Python does not look at it either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from lictor_ir.terms import FALSE, TRUE
from lictor_prove.python.kinds import NUMERIC, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine, always_raises
from lictor_prove.python.machine.symbolic_values import (
    SCALARS,
    ContainerItem,
    Content,
    DataClass,
    FieldKey,
    InstanceRef,
    InstanceV,
    MethodV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    described,
    is_none,
    known,
)
from lictor_prove.python.machine.unknown_sequences import one_held
from lictor_prove.python.refusals import Raises, refuse

Instance = InstanceV | InstanceRef
_WITHOUT: Final = (Kind.NONE, *NUMERIC, Kind.STR, Kind.TUPLE, Kind.LIST, Kind.DICT, Kind.SET)
"""Kinds that nobody can give an attribute."""
_COPIED: Final = ("list", "dict", "set", "frozenset")


def construct(
    machine: Machine,
    made: DataClass,
    args: Sequence[SymbolicValue],
    keywords: Mapping[str, SymbolicValue],
) -> SymbolicValue:
    """`Line("a", amount=1)`."""
    positional = [each.name for each in made.fields if not each.is_named]
    if len(args) > len(positional):
        raise Raises(
            "TypeError",
            f"{made.name} takes {len(positional)} positional arguments, not {len(args)}",
        )
    given = dict(zip(positional, args, strict=False))
    for name, value in keywords.items():
        if made.place(name) is None:
            raise Raises("TypeError", f"{made.name} has no field {name!r}")
        if name in given:
            raise Raises("TypeError", f"{made.name} is given {name!r} twice")
        given[name] = value
    values: list[SymbolicValue] = []
    for each in made.fields:
        value = given.get(each.name, each.default)
        if value is None and each.factory:
            value = machine.make(each.factory, (), each.name)
        if value is None:
            raise Raises("TypeError", f"{made.name} is not given {each.name!r}")
        values.append(value)
    return machine.make_instance(made, values)


def read(machine: Machine, instance: Instance, name: str) -> SymbolicValue:
    """What a field holds; of an instance that stands for many, what that of one of them does."""
    if isinstance(instance, InstanceV):
        place = instance.made.place(name)
        assert place is not None
        return instance.items[place]
    bags = machine.bags.get(instance.id)
    if bags is not None:
        return one_held(machine, bags[name])
    found = machine.store.get(FieldKey(instance.id, name))
    assert isinstance(found, SymbolicValue)
    return found


def values(machine: Machine, instance: Instance) -> tuple[SymbolicValue, ...]:
    """What its fields hold."""
    return tuple(read(machine, instance, each.name) for each in instance.made.fields)


def attribute(machine: Machine, owner: Instance, name: str) -> SymbolicValue:
    """`instance.name`."""
    if owner.made.place(name) is not None:
        return read(machine, owner, name)
    if name in owner.made.methods:
        return MethodV(owner, name)
    raise Raises("AttributeError", f"{owner.made.name} has no field {name!r}")


def assign(machine: Machine, owner: SymbolicValue, name: str, value: SymbolicValue) -> None:
    """`instance.name = value`, whatever the owner may be."""
    cases = machine.cases(owner)

    def one_of(at: int) -> SymbolicValue:
        try:
            _assign(machine, cases[at][1], name, value)
        except Raises as problem:
            if len(cases) == 1:
                always_raises(problem)
            machine.require(FALSE, f"no {problem.error}: {problem.message}")
        return value

    def run(at: int) -> SymbolicValue:
        if at + 1 == len(cases):
            return one_of(at)
        return machine.fork(cases[at][0], lambda: one_of(at), lambda: run(at + 1))

    run(0)


def _assign(machine: Machine, owner: SymbolicValue, name: str, value: SymbolicValue) -> None:
    if kind_of(machine, owner) in _WITHOUT:
        raise Raises("AttributeError", f"{described(owner)} has no attribute {name!r}")
    if not isinstance(owner, Instance):
        refuse(
            "assign.target",
            f"attributes of {described(owner)} can't be assigned to",
            "Rows and modules don't change; make a new value.",
        )
    made = owner.made
    if made.is_frozen:
        raise Raises(
            "FrozenInstanceError",
            f"{made.name} is frozen",
            f"Make a new one: dataclasses.replace(…, {name}=…), or leave frozen=True out.",
        )
    if made.place(name) is None:
        refuse(
            "dataclass.attribute",
            f"{made.name} has no field {name!r}",
            f"Declare it in the class: `{name}: …`.",
        )
    assert isinstance(owner, InstanceRef), (
        "who assigns to a field makes its class one of references"
    )
    machine.set_field(owner, name, value)


def replaced(
    machine: Machine, args: Sequence[SymbolicValue], changes: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`dataclasses.replace(instance, name=…)`."""

    def of(one: SymbolicValue) -> SymbolicValue:
        if not isinstance(one, Instance):
            _no_instance(one)
        held = dict(zip((each.name for each in one.made.fields), values(machine, one), strict=True))
        return construct(machine, one.made, (), {**held, **changes})

    return machine.each(args[0], of)


def as_dict(
    machine: Machine, args: Sequence[SymbolicValue], _: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`dataclasses.asdict(instance)`."""

    def of(one: SymbolicValue) -> SymbolicValue:
        if not isinstance(one, Instance):
            _no_instance(one)
        return _copied(machine, one)

    return machine.each(args[0], of)


def _no_instance(value: SymbolicValue) -> NoReturn:
    refuse(
        "dataclass.instance",
        f"{described(value)} is no instance of a dataclass",
        "Pass an instance.",
    )


def _is_copied(content: Content) -> bool:
    """Whether `asdict` copies it item by item: of a Counter it counts the pairs, and of a defaultdict it depends on the
    version of Python."""
    return content.kind in _COPIED and not isinstance(content.held, SequenceV)


def _copied(machine: Machine, value: SymbolicValue) -> SymbolicValue:
    """What `asdict` makes of what a field holds: a copy, all the way down."""
    machine.step()
    match value:
        case InstanceV() | InstanceRef():
            names = [known(each.name) for each in value.made.fields]
            held = [
                machine.each(each, lambda one: _copied(machine, one))
                for each in values(machine, value)
            ]
            return machine.make(
                "dict",
                (ContainerItem(TRUE, item, key) for key, item in zip(names, held, strict=True)),
            )
        case Sym() if value.type in SCALARS or is_none(value):
            return value
        case TupleV(items):
            return value.of(machine.each(item, lambda one: _copied(machine, one)) for item in items)
        case Ref() if _is_copied(machine.content(value)):
            content = machine.content(value)
            if any(
                entry.key is not None and not isinstance(entry.key, Sym)
                for entry in content.entries
            ):
                _no_copy(value)
            return machine.make(
                content.kind,
                [
                    ContainerItem(
                        entry.present,
                        machine.each(entry.value, lambda one: _copied(machine, one)),
                        entry.key,
                    )
                    for entry in content.entries
                ],
            )
        case _:
            _no_copy(value)


def _no_copy(value: SymbolicValue) -> NoReturn:
    refuse(
        "dataclass.asdict",
        f"asdict copies what the fields hold, and {described(value)} can't be copied here",
        "Write the dict out: {'name': line.name, …}.",
    )
