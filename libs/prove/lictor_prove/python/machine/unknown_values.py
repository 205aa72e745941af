"""Values that nobody models: declared in the document, with all that they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lictor_ir.document import Binder, Unknown
from lictor_ir.provenance import made_of
from lictor_ir.terms import Const, Term, apply, const, ite, result
from lictor_ir.types import BOOL, INT, Type
from lictor_prove.python.machine.control_paths import RaisedError
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.raised_errors import catcher, raise_error, spans_of
from lictor_prove.python.machine.symbolic_values import (
    Composite,
    ContainerItem,
    InstanceRef,
    ObjectV,
    OnceV,
    RangeV,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    UnionV,
    described,
)
from lictor_prove.python.refusals import refuse, unmodelled

MAX_UNKNOWNS = 5_000
_FRAGILE: Final = frozenset({"Decimal", "Fraction", "json"})
"""Objects of which anything may raise, their equality and their text too: a signalling NaN, a vast int, a list."""


def unknown(
    machine: Machine,
    type_: Type,
    why: str,
    flows: Iterable[Term],
    *,
    labels: Iterable[str] = (),
    may_raise: bool = False,
    each: tuple[Binder, ...] = (),
) -> Sym:
    """A value of the type that is made of these terms, and of what the labels name.

    `each`: another one for each index of these loops.
    """
    if not machine.declares_unknowns:
        # Its name would be that of a value of the program.
        unmodelled("value.unknown", f"{why}: no value is unknown here", "Compute what is modelled.")
    if len(machine.unknowns) >= MAX_UNKNOWNS:
        refuse(
            "limits.unknowns",
            f"the program computes more than {MAX_UNKNOWNS} values that have no model",
            "Make the program smaller.",
        )
    name = f"u{len(machine.unknowns) + 1}"
    binders = (*machine.binders, *each)
    if not machine.dead:
        span = machine.hooks.span(machine.at) if machine.at is not None else None
        text = why if span is None else f"{why} (line {span.line})"
        if span is not None:
            machine.span_of[name] = span
        flowing = (*flows, *(binder.over for binder in each))
        may_raise = may_raise or any(term in machine.fragile for term in flowing)
        all_labels = {*made_of(flowing, machine.inputs, machine.unknowns), *labels}
        # What is not called yet was called in an earlier round.
        carried = {each for each in all_labels if not is_made(machine, each)}
        machine.unknowns.append(
            Unknown(
                name,
                type_,
                text,
                binders,
                tuple(sorted(all_labels - carried)),
                tuple(sorted(carried)),
                may_raise,
            )
        )
        if may_raise:
            maybe_raised(machine, all_labels)
    return Sym(result(name, type_, [binder.index for binder in binders]))


def maybe_raised(
    machine: Machine, labels: Iterable[str], classes: frozenset[str] | None = None
) -> None:
    """Something here may raise: if the program handles that, nobody knows whether it does.

    `classes`: what it raises, exactly; None for any Exception.
    """
    found = catcher(machine, classes)
    if found is None or machine.dead:
        return
    for target in reversed(machine.targets[machine.targets.index(found) :]):
        if target.kind == "symbolic":
            # For some item: whoever closes the round says it.
            target.raising += ["", *labels]
            return
    flowing = tuple(labels)
    raises = unknown(machine, BOOL, "whether this raises", (), labels=flowing).term
    raise_error(machine, RaisedError(classes, (), flowing, spans_of(machine)), raises)


def is_made(machine: Machine, label: str) -> bool:
    """Whether a label names an input, or a call among those so far; they are numbered."""
    return label.startswith("input:") or int(label.partition(".")[0].removeprefix("c")) <= len(
        machine.atoms
    )


def flows(machine: Machine, *values: SymbolicValue) -> Iterator[Term]:
    """Every term that flows into something that is computed from these values."""
    return _flows(machine, values, set())


def _flows(machine: Machine, values: Iterable[SymbolicValue], seen: set[int]) -> Iterator[Term]:
    """`seen`: the objects that were looked into; one may hold itself."""
    for value in values:
        match value:
            case Sym(term) | ObjectV(term=term):
                if not isinstance(term, Const):
                    if isinstance(value, ObjectV) and value.kind in _FRAGILE:
                        machine.fragile.add(term)
                    yield term
            case Composite(items):
                yield from _flows(machine, items, seen)
            case InstanceRef(id_) | Ref(id_) if id_ in seen:
                pass
            case InstanceRef(id_):
                machine.step()
                seen.add(id_)
                yield from _flows(machine, machine.fields(value), seen)
            case UnionV(options):
                for guard, option in options:
                    yield guard
                    yield from _flows(machine, [option], seen)
            case SequenceV():
                yield value.over
                yield value.keep
                yield from _flows(machine, [value.item], seen)
            case OnceV(items):
                yield from _held(machine, items, seen)
            case Ref(id_):
                machine.step()
                held = machine.stored(value).held
                seen.add(id_)
                if isinstance(held, SequenceV):
                    yield from _flows(machine, [held], seen)
                else:
                    yield from _held(machine, held, seen)
            case RangeV():
                pass
            case _:
                refuse(
                    "value.opaque",
                    f"nothing can be computed from {described(value)} here",
                    "Use bools, numbers, strings, rows, or containers of them.",
                )


def _held(machine: Machine, items: Iterable[ContainerItem], seen: set[int]) -> Iterator[Term]:
    for item in items:
        yield item.present
        yield from _flows(machine, [item.value], seen)
        if item.key is not None:
            yield from _flows(machine, [item.key], seen)


def within(index: Term, length: Term) -> Term:
    """The index where it is one of so many, else 0: where there is any item, this is the place of one."""
    inside = apply("lt", index, length)
    return ite(apply("le", const(0), index), ite(inside, index, const(0)), const(0))


def unknown_index(
    machine: Machine,
    length: Term,
    why: str,
    flowing: Iterable[Term],
    *,
    may_raise: bool = False,
    each: tuple[Binder, ...] = (),
) -> Term:
    """An index below the length, nobody knows which; only where the length is not 0 it is one."""
    found = unknown(machine, INT, why, (*flowing, length), may_raise=may_raise, each=each)
    return within(found.term, length)
