"""What is unwise about a layer that can be used: what is wrong with it keeps it from being loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lictor_ir.types import ANY
from lictor_layer.declarations import Declaration, declaration
from lictor_prove.layer_model import TrustedFunction
from lictor_prove.layers.contract_builders import LayerContract
from lictor_prove.layers.load import LivingLayer

_NOTHING = Declaration()


@dataclass(frozen=True, slots=True)
class LayerFinding:
    """One thing that is unwise, or worth knowing."""

    severity: Literal["warning", "note"]
    code: str
    where: str
    """The module and name that it is about."""
    message: str
    remedy: str


def linted(living: LivingLayer) -> tuple[LayerFinding, ...]:
    """What is unwise, by module and name; then what is worth knowing."""
    layer = living.layer
    used = {name for policy in layer.policies for name in policy.when_used}
    found = [
        finding
        for function in layer.functions.values()
        for finding in _of_function(function, living, is_covered=function.name in used)
    ]
    found += [
        LayerFinding(
            "warning",
            "contract.undocumented",
            f"{held.module}.{held.name}",
            "the contract has no docstring: whoever writes a program knows only its name",
            "say in one sentence what it promises",
        )
        for name, module in layer.modules.items()
        for held in module.names.values()
        if isinstance(held, LayerContract) and held.module == name and not held.documentation
    ]
    return tuple(sorted(found, key=lambda each: (each.severity == "note", each.where, each.code)))


def _of_function(
    function: TrustedFunction, living: LivingLayer, *, is_covered: bool
) -> Iterator[LayerFinding]:
    where = f"{function.module}.{function.name}"
    if not function.documentation:
        yield LayerFinding(
            "warning",
            "function.undocumented",
            where,
            "the function has no docstring: an agent and an approver know only its name",
            "say in one sentence what it does",
        )
    for each in function.parameters:
        if each.type == ANY and not each.is_schema:
            yield LayerFinding(
                "warning",
                "parameter.untyped",
                where,
                f"{each.name} has no type that is modelled: nothing but equality can be said about it",
                "annotate it with bool, int, float, str, a list, set, dict or tuple of these, or a row",
            )
    if function.result is None:
        yield LayerFinding(
            "warning",
            "result.unread",
            where,
            "what it returns has no type that is modelled: no program can read it",
            "annotate the result, with None where it returns nothing",
        )
    compensation = (declaration(living.function(function.name)) or _NOTHING).compensation
    leaves_nothing = compensation is not None and compensation.undo is None
    if not is_covered and not leaves_nothing:
        yield LayerFinding(
            "warning",
            "function.no_policy",
            where,
            "no domain policy names it: a program may use it, say nothing about it, and its coverage tells no gap",
            "name it in when_used of a domain_policy, or declare nothing_to_undo if it only reads",
        )
    if compensation is None:
        yield LayerFinding(
            "note",
            "undo.impossible",
            where,
            "a run that ends early can't take it back: its outcome is partial then",
            "declare compensated_by(undo) or nothing_to_undo, if either is true",
        )
