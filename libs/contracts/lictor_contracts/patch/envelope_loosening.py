"""Whether a change of an envelope tightens or loosens it, decided field by field.

`BOUNDS` says for every field of the model what a change of it means; a test holds the table to the model. A field
without an entry counts as loosened when it differs, and so does a change whose effect goes both ways.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from lictor_schema.contracts.envelope import DTE, DegradeRung, DegradeStep, Freshness
from lictor_schema.core.base_model import Model


class Direction(StrEnum):
    """What a change of one field does to the contract."""

    TIGHTER = "tighter"
    LOOSER = "looser"
    UNPROVEN = "not provably tighter"
    NEUTRAL = "binds nothing"

    @property
    def loosens(self) -> bool:
        """Whether a human has to look: what nobody can show to tighten counts as loosening."""
        return self in (Direction.LOOSER, Direction.UNPROVEN)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs, and in which direction."""

    field: str
    """Its place, spelled as the document spells it: `limits.maxToolCalls`."""
    direction: Direction
    words: str

    def __str__(self) -> str:
        return f"{self.field}: {self.direction.value}, {self.words}"

    def below(self, place: str) -> "FieldChange":
        """The same change, with a path from further outside."""
        return FieldChange(f"{place}.{self.field}", self.direction, self.words)


Found = tuple[str, Direction, str]
"""The place below the field (empty for the field itself), the direction, and the change in words."""

Judge = Callable[[Any, Any], Iterable[Found]]
"""What a change from the first value to the second does; only asked when they differ."""

_TIGHTER, _LOOSER, _UNPROVEN, _NEUTRAL = Direction


def changes(before: DTE, after: DTE) -> tuple[FieldChange, ...]:
    """Every field that differs, with its direction."""
    return tuple(_compare(before, after, ()))


def loosens(before: DTE, after: DTE) -> tuple[str, ...]:
    """What the change loosens or can't be shown to tighten, each with its field; empty when nothing."""
    return tuple(str(each) for each in changes(before, after) if each.direction.loosens)


def wire_name(model: type[Model], name: str) -> str:
    """A field as documents spell it."""
    return model.model_fields[name].serialization_alias or name


def _compare(before: Model, after: Model, at: tuple[str, ...]) -> Iterator[FieldChange]:
    for name in type(before).model_fields:
        path = (*at, wire_name(type(before), name))
        old, new = getattr(before, name), getattr(after, name)
        field = ".".join(path)
        if old == new:
            continue
        if field in BOUNDS:
            for below, direction, words in BOUNDS[field](old, new):
                yield FieldChange(f"{field}.{below}" if below else field, direction, words)
        elif isinstance(old, Model) and type(old) is type(new):
            yield from _compare(old, new, path)
        else:
            yield FieldChange(field, _UNPROVEN, "nobody has said what a change of it means")


def _neutral(old: object, new: object) -> Iterator[Found]:
    yield "", _NEUTRAL, f"{old} -> {new}"


def _identity(old: object, new: object) -> Iterator[Found]:
    yield "", _UNPROVEN, f"{old} -> {new}"


def _ordered(old: Any, new: Any, more: bool) -> Found:
    return "", _LOOSER if more else _TIGHTER, f"{'raised' if more else 'lowered'}, {old} -> {new}"


def _at_most(old: int, new: int) -> Iterator[Found]:
    yield _ordered(old, new, new > old)


def _tier(old: Any, new: Any) -> Iterator[Found]:
    yield _ordered(old.value, new.value, new.rank > old.rank)


def _timeout(old: int, new: int) -> Iterator[Found]:
    # 0 can be read as "no time" and as "no limit": neither way is provably tighter.
    if 0 in (old, new):
        yield "", _UNPROVEN, f"{old} -> {new}, and 0 is no time that could be compared"
    else:
        yield from _at_most(old, new)


def _stage_budget(old: int, new: int) -> Iterator[Found]:
    if new > old:
        yield "", _LOOSER, f"raised, {old} -> {new}"
    else:
        yield (
            "",
            _UNPROVEN,
            f"lowered, {old} -> {new}: the stage also begins when less time is left",
        )


def _required(old: bool, new: bool) -> Iterator[Found]:
    del old
    yield "", _TIGHTER if new else _LOOSER, "required now" if new else "no longer required"


def _allowlist(old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> Iterator[Found]:
    if old is None:
        yield "", _TIGHTER, f"only {', '.join(new or ()) or 'nothing'} is allowed now"
    elif new is None:
        yield "", _LOOSER, "everything is allowed now"
    elif added := [name for name in new if name not in old]:
        yield "", _LOOSER, f"allows {', '.join(added)} now"
    elif dropped := [name for name in old if name not in new]:
        yield "", _TIGHTER, f"no longer allows {', '.join(dropped)}"
    else:
        yield "", _NEUTRAL, "in another order"


def _methods(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Found]:
    dropped = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    if added:
        yield "", _LOOSER, f"allows {', '.join(added)} now"
    if dropped:
        # What is left may be the weaker verifier, and after the last one nothing is verified.
        yield "", _UNPROVEN, f"no longer allows {', '.join(dropped)}"
    if not added and not dropped:
        yield "", _UNPROVEN, "in another order, and the first may be the one that is used"


def _freshness(old: Freshness, new: Freshness) -> Iterator[Found]:
    if new.default_ttl_ms != old.default_ttl_ms:
        _, direction, words = next(_at_most(old.default_ttl_ms, new.default_ttl_ms))
        yield "defaultTtlMs", direction, words
    for name in dict.fromkeys((*old.feature_ttls, *new.feature_ttls)):
        yield from _feature(name, old, new)
    if new.allow_stale_if_safe != old.allow_stale_if_safe:
        allowed = new.allow_stale_if_safe
        words = f"stale context is {'allowed' if allowed else 'refused'} now"
        yield "allowStaleIfSafe", _LOOSER if allowed else _TIGHTER, words
    yield from _unknown("freshness", old, new)


def _feature(name: str, old: Freshness, new: Freshness) -> Iterator[Found]:
    # What holds for a feature counts, wherever it is written: dropping a short one loosens.
    before = old.feature_ttls.get(name, old.default_ttl_ms)
    after = new.feature_ttls.get(name, new.default_ttl_ms)
    place = f"featureTtls.{name}"
    if name not in new.feature_ttls:
        # What is listed must have been captured; what is not may be missing.
        yield place, _LOOSER, f"no longer has to be captured; {before} -> {after}"
    elif after != before:
        _, direction, words = next(_at_most(before, after))
        yield place, direction, words
    elif name not in old.feature_ttls:
        yield place, _TIGHTER, "must be captured now"


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


def _ladder(old: tuple[DegradeRung, ...], new: tuple[DegradeRung, ...]) -> Iterator[Found]:
    before = {rung.step: rung for rung in old}
    after = {rung.step: rung for rung in new}
    for step in after:
        if step not in before:
            direction = _LOOSER if step is DegradeStep.BYPASS else _UNPROVEN
            yield step.value, direction, "a new rung"
    for step in before:
        if step not in after:
            # Taking a rung out is tighter only when whatever is done instead is more cautious.
            careless = any(_CAUTION[kept] < _CAUTION[step] for kept in after)
            words = "the rung is gone" + (", and less cautious ones stay" if careless else "")
            yield step.value, _LOOSER if careless else _TIGHTER, words
    if [step for step in before if step in after] != [step for step in after if step in before]:
        yield "", _UNPROVEN, "its rungs stand in another order"
    for step, rung in after.items():
        if step in before:
            yield from _rung(before[step], rung)


def _rung(old: DegradeRung, new: DegradeRung) -> Iterator[Found]:
    at = new.step.value
    if old.approver != new.approver:
        yield f"{at}.approver", _UNPROVEN, f"{old.approver} -> {new.approver}"
    if old.max_extra_ms != new.max_extra_ms:
        # Less is no tighter: a rung that promises to be quick is taken where `abstain` was left before.
        words = f"{old.max_extra_ms} -> {new.max_extra_ms}"
        yield f"{at}.maxExtraMs", _UNPROVEN, words
    for name, direction, words in _unknown("degradeLadder", old, new):
        yield f"{at}.{name}", direction, words


BOUNDS: Mapping[str, Judge] = MappingProxyType(
    {
        "decisionType": _identity,
        "version": _neutral,
        "description": _neutral,
        "deadlineMs": _at_most,
        "stageBudgetsMs.context": _stage_budget,
        "stageBudgetsMs.plan": _stage_budget,
        "stageBudgetsMs.act": _stage_budget,
        "stageBudgetsMs.verify": _stage_budget,
        "freshness": _freshness,
        "limits.maxHops": _at_most,
        "limits.maxFanout": _at_most,
        "limits.maxToolCalls": _at_most,
        "limits.maxChainDepth": _at_most,
        "degradeLadder": _ladder,
        "verification.requiredAboveBlastRadius": _tier,
        "verification.methods": _methods,
        "verification.verifyTimeoutMs": _timeout,
        "safeAction.requireIdempotency": _required,
        "safeAction.requireRollbackAbove": _tier,
        "safeAction.blastRadiusMax": _tier,
        "safeAction.allowedActionTypes": _allowlist,
        "policyPack": _neutral,
    }
)
"""What a change of each field means."""

JUDGED_WHOLE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "freshness": frozenset({"default_ttl_ms", "feature_ttls", "allow_stale_if_safe"}),
        "degradeLadder": frozenset({"step", "max_extra_ms", "approver"}),
        "policyPack": frozenset({"policy_pack_hash", "policy_pack_version"}),
    }
)
"""The fields inside those that are judged as a whole, as far as their judges know them."""


def _unknown(field: str, old: Model, new: Model) -> Iterator[Found]:
    for name in type(new).model_fields:
        if name not in JUDGED_WHOLE[field] and getattr(old, name) != getattr(new, name):
            place = wire_name(type(new), name)
            yield place, _UNPROVEN, "nobody has said what a change of it means"
