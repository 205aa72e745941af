"""What the members of the library give while a program is read: a fresh unknown, made of all that they are given."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lictor_ir.document import Binder
from lictor_ir.provenance import made_of
from lictor_ir.terms import Term, const
from lictor_ir.types import BOOL, NONE, STR
from lictor_prove.python.kinds import Kind, kind_of
from lictor_prove.python.library.signatures import (
    MEMBERS,
    OF_OBJECTS,
    Given,
    Parameter,
    Signature,
    Taken,
)
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    ObjectV,
    PatternV,
    SequenceV,
    SymbolicValue,
    TupleV,
    Unbound,
    described,
    known,
)
from lictor_prove.python.machine.unknown_sequences import one_of, sequence
from lictor_prove.python.machine.unknown_values import flows, unknown
from lictor_prove.python.operations.unknown.containers import iterated, made
from lictor_prove.python.refusals import refuse

Args = Sequence[SymbolicValue]
_CONTAINERS: Final = (
    *(Kind.LIST, Kind.TUPLE, Kind.SET, Kind.DICT, Kind.ITERATOR),
    *(Kind.KEYS, Kind.VALUES, Kind.ITEMS),
)


def is_object(machine: Machine, value: SymbolicValue) -> bool:
    """Whether a value is, or on some path may be, an object of the library."""
    return any(isinstance(one, ObjectV) for _, one in machine.cases(value))


def bound(module: str, name: str) -> SymbolicValue:
    """What a module binds to a name."""
    full = f"{module}.{name}"
    if full in MEMBERS and not MEMBERS[full][0].is_called:
        what = MEMBERS[full][0].given
        if what.kind is not None:
            # Its name stands for it: no two constants are the same.
            return ObjectV(what.kind, const(full))
        return known(getattr(importlib.import_module(module), name))
    return BuiltinV(full)


def of_class(owner: BuiltinV, name: str) -> SymbolicValue | None:
    """`module.Class.name`, where the library has it."""
    if f"{owner.name}.{name}" not in MEMBERS:
        return None
    return bound(owner.name, name)


def call(
    machine: Machine, name: str, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """A call of a member of a module."""
    return _called(machine, name, MEMBERS[name], args, keywords)


def attribute(machine: Machine, owner: ObjectV, name: str) -> SymbolicValue | None:
    """An attribute that is no method; None for a method."""
    found = OF_OBJECTS.get(f"{owner.kind}.{name}")
    if found is None:
        there = sorted(
            each.partition(".")[2] for each in OF_OBJECTS if each.startswith(f"{owner.kind}.")
        )
        refuse(
            "library.attribute",
            f"the attribute {name!r} of {described(owner)} is outside the subset",
            f"It has {', '.join(there)}." if there else "Pass it on as it is.",
        )
    if found[0].is_called:
        return None
    return given(
        machine, found[0].given, f"{owner.kind}.{name} has no model", [owner], found[0].raises
    )


def method(
    machine: Machine,
    owner: SymbolicValue,
    name: str,
    args: Args,
    keywords: Mapping[str, SymbolicValue],
) -> SymbolicValue:
    """A call of a method."""
    if name == "get" and isinstance(owner, ObjectV) and owner.kind == Kind.JSON:
        return got(machine, owner, args, keywords)
    full = f"{kind_of(machine, owner)}.{name}"
    return _called(machine, full, OF_OBJECTS[full], args, keywords, owner)


def operation(machine: Machine, name: str, operands: Args) -> SymbolicValue | None:
    """What an operator or builtin gives for these operands; None where the table has no such line."""
    for signature in OF_OBJECTS.get(name, ()):
        bound = _bound(signature, operands, {})
        if bound is not None and _fits(machine, bound):
            why = f"{name} of {' and '.join(map(described, operands))} has no model"
            return given(machine, signature.given, why, operands, signature.raises)
    return None


def _called(
    machine: Machine,
    name: str,
    signatures: Sequence[Signature],
    args: Args,
    keywords: Mapping[str, SymbolicValue],
    *owner: SymbolicValue,
) -> SymbolicValue:
    if not machine.declares_unknowns:
        refuse("library.call", f"{name}() has no exact model", "Use what is modelled.")
    for signature in signatures:
        bound = _bound(signature, args, keywords)
        if bound is not None and _fits(machine, bound):
            values = [*owner, *(value for value, _ in bound)]
            return given(
                machine, signature.given, f"{name}() has no model", values, signature.raises
            )
    refuse(
        "library.arguments",
        f"{name}() is not supported with these arguments",
        f"It is called so: {' or '.join(map(spelled, signatures))}.",
    )


def spelled(signature: Signature) -> str:
    """A signature for people."""
    parts = [each.name or "…" for each in signature.parameters if not each.is_optional]
    optional = [f"{each.name}=…" for each in signature.parameters if each.is_optional]
    return f"{signature.name}({', '.join([*parts, *optional])})"


def _bound(
    signature: Signature, args: Args, keywords: Mapping[str, SymbolicValue]
) -> list[tuple[SymbolicValue, Taken]] | None:
    """Each argument with what its parameter takes; None where Python could not bind them."""
    found: dict[str, tuple[SymbolicValue, Taken]] = {}
    more: list[tuple[SymbolicValue, Taken]] = []
    places: list[Parameter] = [each for each in signature.parameters if each.by_position]
    for at, value in enumerate(args):
        if at < len(places):
            found[f"{at} {places[at].name}"] = value, places[at].taken
        elif signature.more is not None:
            more.append((value, signature.more))
        else:
            return None
    names = {each.name: each for each in signature.parameters if each.by_name}
    passed = {each.name for each in places[: len(args)] if each.by_name}
    for name, value in keywords.items():
        if name in passed:
            return None
        if name in names:
            found[f"by name {name}"] = value, names[name].taken
        elif signature.named is not None:
            more.append((value, signature.named))
        else:
            return None
    for each in places[len(args) :]:
        if not each.is_optional and not (each.by_name and each.name in keywords):
            return None
    return [*found.values(), *more]


def _fits(machine: Machine, bound: Sequence[tuple[SymbolicValue, Taken]]) -> bool:
    return all(
        _takes(machine, taken, one) for value, taken in bound for _, one in machine.cases(value)
    )


def _takes(machine: Machine, taken: Taken, value: SymbolicValue) -> bool:
    kind = kind_of(machine, value)
    if taken.is_any:
        return True
    if kind == Kind.CLASS:
        return kind in taken.kinds and isinstance(value, BuiltinV) and value.name == "str"
    if kind in taken.kinds:
        return True
    if not taken.items or kind not in _CONTAINERS:
        return False
    held = iterated(machine, value)
    return isinstance(held.item, Unbound) or all(
        kind_of(machine, one) in taken.items for _, one in machine.cases(held.item)
    )


# -- results ---------------------------------------------------------------------------------------


def given(
    machine: Machine,
    what: Given,
    why: str,
    operands: Args,
    raises: Sequence[str] = (),
) -> SymbolicValue:
    """A fresh value that is made of these."""
    flowing = tuple(_flowing(machine, operands))
    if raises and what.form not in ("type", "object"):
        unknown(machine, BOOL, why, flowing, may_raise=True)
        raises = ()
    return _value(machine, what, why, flowing, (), may_raise=bool(raises))


def _flowing(machine: Machine, operands: Args) -> Iterator[Term]:
    for each in operands:
        if not isinstance(each, BuiltinV | PatternV):
            yield from flows(machine, each)


def _value(
    machine: Machine,
    what: Given,
    why: str,
    flowing: Sequence[Term],
    each: tuple[Binder, ...],
    *,
    may_raise: bool = False,
) -> SymbolicValue:
    labels = made_of(flowing, machine.inputs, machine.unknowns)
    match what:
        case Given("type", type=type_) if type_ == NONE:
            if may_raise:
                unknown(machine, BOOL, why, flowing, may_raise=True)
            return NONE_VALUE
        case Given("type", type=type_) if type_ is not None:
            return unknown(machine, type_, why, flowing, may_raise=may_raise, each=each)
        case Given("object", kind=kind) if kind is not None:
            found = unknown(machine, STR, why, flowing, may_raise=may_raise, each=each)
            return ObjectV(kind, found.term)
        case Given("either", parts=parts):
            values = [_value(machine, part, why, flowing, each) for part in parts]
            return one_of(machine, values, labels, why, each)
        case Given("tuple", parts=parts):
            return TupleV(tuple(_value(machine, part, why, flowing, each) for part in parts))
        case Given(parts=(item,)):
            held = sequence(
                machine, lambda inner: _value(machine, item, why, flowing, inner), labels, why
            )
            if what.form == "list":
                return made(machine, "list", held)
            return SequenceV(held.over, held.index, held.item, held.keep, "iterator")
        case _:
            raise AssertionError(what)


_ITEM: Final = Given("object", kind=Kind.JSON)


def items_of(machine: Machine, value: ObjectV) -> SequenceV:
    """What a loop over a value of JSON sees: items, keys or characters."""
    found = given(
        machine,
        Given("iterator", parts=(_ITEM,)),
        "what JSON holds has no model",
        [value],
        ["TypeError"],
    )
    assert isinstance(found, SequenceV)
    return found


def got(
    machine: Machine, owner: SymbolicValue, args: Args, keywords: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """`get(key, default)` of a value of JSON."""
    if keywords or not 1 <= len(args) <= 2:
        refuse("library.arguments", "get() takes a key and a default", "Pass them so.")
    why = "what JSON holds has no model"
    value = given(machine, _ITEM, why, [owner, args[0]], ["AttributeError", "TypeError"])
    default = args[1] if len(args) > 1 else NONE_VALUE
    labels = made_of(_flowing(machine, [owner, args[0]]), machine.inputs, machine.unknowns)
    return one_of(machine, [value, default], labels, why)


def either_way(machine: Machine, why: str, *operands: SymbolicValue, raises: bool = False) -> Term:
    """Nobody knows whether it holds."""
    found = unknown(machine, BOOL, why, tuple(_flowing(machine, operands)), may_raise=raises)
    return found.term


def equal(machine: Machine, left: SymbolicValue, right: SymbolicValue) -> Term:
    """`left == right`, where one of them is an object."""
    kinds = {kind_of(machine, left), kind_of(machine, right)}
    return either_way(
        machine, "whether objects are equal has no model", left, right, raises=Kind.DECIMAL in kinds
    )
