"""The terms for containers of unknown content: what a trusted call is given."""

from __future__ import annotations

from lictor_ir.terms import TRUE, Term, apply
from lictor_ir.types import INT, NEVER, ListOf, MapOf, SetOf, TupleOf, Type, join
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.path_merging import as_sequence
from lictor_prove.python.machine.symbolic_values import (
    Content,
    Ref,
    SequenceV,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    alternatives,
)
from lictor_prove.python.machine.unknown_values import flows, unknown
from lictor_prove.python.refusals import refuse


def type_of(machine: Machine, value: SymbolicValue) -> Type:
    """The type of the term that a trusted call is given for a value."""
    found: Type | None = None
    for _, one in alternatives(value):
        match one:
            case Sym():
                type_ = one.type
            case TupleV(items):
                type_ = TupleOf(tuple(type_of(machine, item) for item in items))
            case Unbound():
                type_ = NEVER
            case SequenceV(kind="list"):
                type_ = ListOf(type_of(machine, one.item))
            case Ref():
                type_ = _content_type(machine, machine.content(one))
            case _:
                refuse(
                    "argument.value",
                    "this container holds something that can't be passed to a trusted function",
                    "Pass bools, numbers, strings, None, rows, or containers of them.",
                )
        found = type_ if found is None else join(found, type_)
    assert found is not None
    return found


def check_passed(content: Content) -> None:
    """Refuse to pass what reads like no dict: a defaultdict is changed by whoever reads it."""
    if content.is_dict and content.kind != "dict":
        refuse(
            "argument.dict",
            f"a {content.kind} can't be passed to a trusted function: reading it does more than reading a dict",
            "Pass a dict: `dict(counts)`, and the same for those in it.",
        )


def _content_type(machine: Machine, content: Content) -> Type:
    held = as_sequence(content, machine.fresh_index())
    item = held.item
    check_passed(content)
    if content.kind == "dict":
        pair = type_of(machine, item)
        if not isinstance(pair, TupleOf):
            refuse("argument.value", "what this dict holds has no one type", "Use one type.")
        return MapOf(*pair.items)
    inner = type_of(machine, item)
    return ListOf(inner) if content.kind == "list" else SetOf(inner)


def passed(machine: Machine, value: SymbolicValue) -> Term:
    """The term for a container of unknown content: a call is given something of its type."""
    held = machine.content(value).held if isinstance(value, Ref) else value
    if isinstance(held, SequenceV) and held.keep is TRUE:
        whole = _whole(held)
        if whole is not None:
            return whole
    why = "what a container holds that is passed"
    return unknown(machine, type_of(machine, value), why, flows(machine, value)).term


def _whole(value: SequenceV) -> Term | None:
    """The list that a trusted call returned, where it is just that one."""
    if (
        isinstance(value.item, Sym)
        and value.over.type != INT
        and value.item.term is apply("at", value.over, value.index)
    ):
        return value.over
    return None
