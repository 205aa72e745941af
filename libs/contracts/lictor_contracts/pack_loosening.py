"""Whether a change of a policy pack loosens it.

Rules of a pack work together, so little is provably tighter. This is: a rule that blocks or escalates now, or that
does so in force instead of in shadow, since nothing outranks it and every gate denies on it; and a higher severity.
(The order of decisions alone shows nothing: `force_checkpoint` outranks `require_review`, yet a gate only rewrites on
it.) Words for humans and the version bind nobody. Everything else, also a new rule, counts as loosening: a human looks.
"""

from collections.abc import Iterator

from lictor_schema import Disposition, PolicyPack
from lictor_schema.model import Model
from lictor_schema.packs import DecisionOutput, Rule

_NOT_SHOWN = "which is not provably tighter"
_DENYING = frozenset({Disposition.BLOCK, Disposition.ESCALATE})
_PACK_WORDS = frozenset({"title", "version", "summary", "owner", "tags"})
_RULE_WORDS = frozenset({"title", "intent", "notes"})


def pack_loosens(before: PolicyPack, after: PolicyPack) -> tuple[str, ...]:
    """What the change loosens or can't be shown to tighten, each with its place."""
    return tuple(_pack(before, after))


def _pack(before: PolicyPack, after: PolicyPack) -> Iterator[str]:
    yield from _changed(before, after, "", frozenset({"metadata", "spec"}))
    yield from _changed(before.metadata, after.metadata, "metadata.", _PACK_WORDS | {"mode"})
    yield from _changed(before.spec, after.spec, "spec.", frozenset({"rules"}))
    if before.metadata.mode != after.metadata.mode and (
        after.spec.extends or after.spec.rule_files
    ):
        yield f"metadata.mode: changed also for rules from elsewhere, {_NOT_SHOWN}"
    if [rule.id for rule in before.spec.rules] != [rule.id for rule in after.spec.rules]:
        yield f"spec.rules: rules were added, removed or moved, {_NOT_SHOWN}"
        return
    for old, new in zip(before.spec.rules, after.spec.rules, strict=True):
        at = f"spec.rules.{new.id}."
        yield from _changed(old, new, at, _RULE_WORDS | {"mode", "decision_output"})
        yield from _output(old.decision_output, new.decision_output, f"{at}decision_output.")
        was, now = _mode(before, old), _mode(after, new)
        if was != now and not (now == "enforce" and _denies_for_sure(after, new)):
            yield f"{at}mode: {now} instead of {was}, {_NOT_SHOWN}"


def _output(old: DecisionOutput, new: DecisionOutput, at: str) -> Iterator[str]:
    yield from _changed(old, new, at, frozenset({"decision", "severity"}))
    if new.decision is not old.decision and (
        new.decision not in _DENYING or new.decision.precedence < old.decision.precedence
    ):
        yield f"{at}decision: {new.decision.value} instead of {old.decision.value}, {_NOT_SHOWN}"
    # Without one, a rule takes the pack's default, whatever that is.
    if old.severity is not new.severity and (
        old.severity is None or new.severity is None or new.severity.rank < old.severity.rank
    ):
        yield f"{at}severity: {new.severity} instead of {old.severity}, {_NOT_SHOWN}"


def _mode(pack: PolicyPack, rule: Rule) -> str:
    return rule.mode or pack.metadata.mode or "enforce"


def _denies_for_sure(pack: PolicyPack, rule: Rule) -> bool:
    # In a first_match pack, a rule that comes into force hides those behind it.
    return (
        pack.spec.evaluation_mode == "any_rule_match" and rule.decision_output.decision in _DENYING
    )


def _changed(old: Model, new: Model, at: str, apart: frozenset[str]) -> Iterator[str]:
    for name in type(old).model_fields:
        if name not in apart and getattr(old, name) != getattr(new, name):
            yield f"{at}{name}: changed, {_NOT_SHOWN}"
