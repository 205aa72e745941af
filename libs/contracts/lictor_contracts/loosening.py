"""Whether a change of an envelope loosens it, decided field by field.

Only what provably tightens, or bounds nothing, is none. A field that nobody classified counts as loosened when it
differs; `CLASSIFIED` must name every field of the model, and a test holds it to that.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from lictor_schema import DTE, DegradeRung, DegradeStep, Freshness
from lictor_schema.model import Model

Judge = Callable[[Any, Any], str | None]
"""Says what a change from the first value to the second loosens; None when it provably does not."""


def loosens(before: DTE, after: DTE) -> tuple[str, ...]:
    """What the change loosens or can't be shown to tighten, each with its field; empty when nothing."""
    return tuple(_compare(before, after, ()))


def _compare(before: Model, after: Model, at: tuple[str, ...]) -> Iterator[str]:
    for name in type(before).model_fields:
        path = (*at, name)
        old, new = getattr(before, name), getattr(after, name)
        field = ".".join(path)
        if field in CLASSIFIED:
            problem = None if old == new else CLASSIFIED[field](old, new)
            if problem is not None:
                yield f"{field}: {problem}"
        elif isinstance(old, Model) and type(old) is type(new):
            yield from _compare(old, new, path)
        elif old != new:
            yield f"{field}: nobody classified this field, so any change of it counts as loosening"


def _bounds_nothing(old: object, new: object) -> None:
    del old, new


def _at_most(old: int, new: int) -> str | None:
    return f"raised from {old} to {new}" if new > old else None


def _timeout(old: int, new: int) -> str | None:
    # 0 can be read as "no time" and as "no limit": neither way is provably tighter.
    if 0 in (old, new):
        return f"changed from {old} to {new}, where 0 is no time that could be compared"
    return _at_most(old, new)


def _tier(old: Any, new: Any) -> str | None:
    return f"raised from {old.value} to {new.value}" if new.rank > old.rank else None


def _keeps_true(old: bool, new: bool) -> str | None:
    return "no longer required" if old and not new else None


def _unchanged(old: object, new: object) -> str:
    return f"changed from {old} to {new}, which is not provably tighter"


def _allowlist(old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> str | None:
    if old is None:
        return None
    if new is None:
        return "everything is allowed now"
    added = [name for name in new if name not in old]
    return f"allows {', '.join(added)} now" if added else None


def _methods(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    dropped = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    if dropped:
        return f"drops {', '.join(dropped)}"
    # Another verifier can be a weaker one, and the first of the list may be the one that runs.
    return f"adds {', '.join(added)}" if added else "in another order"


def _freshness(old: Freshness, new: Freshness) -> str | None:
    found: list[str] = []
    if new.default_ttl_ms > old.default_ttl_ms:
        found.append(f"default raised from {old.default_ttl_ms} to {new.default_ttl_ms}")
    for name in dict.fromkeys((*old.feature_ttls, *new.feature_ttls)):
        # What holds for a feature counts, wherever it is written: dropping a short one loosens.
        before = old.feature_ttls.get(name, old.default_ttl_ms)
        after = new.feature_ttls.get(name, new.default_ttl_ms)
        if after > before:
            found.append(f"{name} raised from {before} to {after}")
        elif name not in new.feature_ttls:
            # What is listed must have been captured; what is not may be missing.
            found.append(f"{name} does not have to be captured any more")
    if new.allow_stale_if_safe and not old.allow_stale_if_safe:
        found.append("stale context is allowed now")
    found += _unknown("freshness", old, new)
    return "; ".join(found) or None


_CAUTION: Mapping[DegradeStep, int] = MappingProxyType(
    {
        DegradeStep.BYPASS: 0,
        DegradeStep.CACHE_BUNDLE: 1,
        DegradeStep.SMALL_MODEL: 2,
        DegradeStep.RULES_ONLY: 3,
        DegradeStep.HITL: 4,
        DegradeStep.ABSTAIN: 5,
    }
)


def _ladder(old: tuple[DegradeRung, ...], new: tuple[DegradeRung, ...]) -> str | None:
    before = {rung.step: rung for rung in old}
    after = {rung.step: rung for rung in new}
    found = [f"adds the rung {step.value}" for step in after if step not in before]
    for step in before:
        # Taking a rung out is tighter only when whatever is done instead is more cautious.
        if step not in after and any(_CAUTION[kept] < _CAUTION[step] for kept in after):
            found.append(f"drops the rung {step.value} above less cautious ones")
    if [step for step in before if step in after] != [step for step in after if step in before]:
        found.append("has its rungs in another order")
    for step, rung in after.items():
        if step in before:
            found += _rung(before[step], rung)
    return "; ".join(found) or None


def _rung(old: DegradeRung, new: DegradeRung) -> Iterator[str]:
    if old.approver != new.approver:
        yield f"{new.step.value} has another approver"
    # Less is no tighter: a rung that promises to be quick is taken where `abstain` was left before.
    if old.max_extra_ms != new.max_extra_ms:
        yield f"{new.step.value} may take {new.max_extra_ms} ms extra instead of {old.max_extra_ms}"
    yield from _unknown("degrade_ladder", old, new)


CLASSIFIED: Mapping[str, Judge] = MappingProxyType(
    {
        "decision_type": _unchanged,
        "version": _bounds_nothing,
        "description": _bounds_nothing,
        "deadline_ms": _at_most,
        # Less is no tighter: a stage that may take less begins when less remains.
        "stage_budgets_ms.context": _unchanged,
        "stage_budgets_ms.plan": _unchanged,
        "stage_budgets_ms.act": _unchanged,
        "stage_budgets_ms.verify": _unchanged,
        "freshness": _freshness,
        "limits.max_hops": _at_most,
        "limits.max_fanout": _at_most,
        "limits.max_tool_calls": _at_most,
        "limits.max_chain_depth": _at_most,
        "degrade_ladder": _ladder,
        "verification.required_above_blast_radius": _tier,
        "verification.methods": _methods,
        "verification.verify_timeout_ms": _timeout,
        "safe_action.require_idempotency": _keeps_true,
        "safe_action.require_rollback_above": _tier,
        "safe_action.blast_radius_max": _tier,
        "safe_action.allowed_action_types": _allowlist,
        "policy_pack": _bounds_nothing,
    }
)
"""How each field is judged."""

JUDGED_WHOLE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "freshness": frozenset({"default_ttl_ms", "feature_ttls", "allow_stale_if_safe"}),
        "degrade_ladder": frozenset({"step", "max_extra_ms", "approver"}),
        "policy_pack": frozenset({"policy_pack_hash", "policy_pack_version"}),
    }
)
"""The fields inside those that are judged as a whole, as far as their judges know them."""


def _unknown(field: str, old: Model, new: Model) -> Iterator[str]:
    for name in type(new).model_fields:
        if name not in JUDGED_WHOLE[field] and getattr(old, name) != getattr(new, name):
            yield f"{name} changed, which nobody classified"
