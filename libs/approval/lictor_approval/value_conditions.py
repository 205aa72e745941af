"""What an approval policy says of the values that a program is to run with.

A policy that was written before there were any looks at none, and allows none: a rule that allows has to name each.
"""

import math
from collections.abc import Mapping

from pydantic import JsonValue

from lictor_approval.named_values import is_named
from lictor_approval.truth import Truth
from lictor_schema.approvals.approval import ApprovalRequest
from lictor_schema.approvals.approval_policy import PolicyRule, ValueCondition
from lictor_schema.proofs.inputs import Inputs, PlainValue, read_input

_MAX_SHOWN = 100


def why_not_all_named(rule: PolicyRule, request: ApprovalRequest) -> Truth | None:
    """That a rule that allows leaves out a value; None for every other rule, and when it names all of them."""
    if rule.decision != "allow":
        return None
    others = sorted((request.binding.inputs or {}).keys() - (rule.when.inputs or {}).keys())
    return Truth(False, f"it does not say what {', '.join(others)} may be") if others else None


def values_as_wanted(wanted: Mapping[str, ValueCondition], given: Inputs | None) -> Truth:
    """Whether each value is given, and is as a rule wants it."""
    found = [_value(name, given or {}, condition) for name, condition in wanted.items()]
    for holds in (False, None):
        for truth in found:
            if truth.holds is holds:
                return truth
    return Truth(True, "; ".join(truth.why for truth in found))


def _value(name: str, given: Mapping[str, JsonValue], wanted: ValueCondition) -> Truth:
    if name not in given:
        return Truth(False, f"no value is given for {name}")
    value = read_input(given[name])
    what = f"{name} is {_cut(repr(value))}"
    named = True if wanted.one_of is None else is_named(value, wanted.one_of)
    if named is False:
        return Truth(False, f"{what}, which is none of those named")
    within = _within(value, wanted, what)
    if within.holds and named is None:
        why = f"{what}, and something that is named may or may not stand for it"
        return Truth(None, why)
    return within


def _within(value: PlainValue, wanted: ValueCondition, what: str) -> Truth:
    if wanted.at_least is None and wanted.at_most is None:
        return Truth(True, what)
    if isinstance(value, bool | str) or math.isnan(value):
        return Truth(None, f"{what}, which is neither more nor less than a number")
    if wanted.at_least is not None and value < wanted.at_least:
        return Truth(False, f"{what}, less than {wanted.at_least}")
    if wanted.at_most is not None and value > wanted.at_most:
        return Truth(False, f"{what}, more than {wanted.at_most}")
    return Truth(True, what)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
