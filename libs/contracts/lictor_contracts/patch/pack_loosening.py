"""Whether a change of a policy pack tightens or loosens it: its envelopes by field, its rules where that is provable.

Rules of a pack work together, so little about them is provably tighter. This is: a rule that blocks or escalates now,
or that does so in force instead of in shadow, since nothing outranks it and every gate denies on it; such a rule that
fires on more than before, or is new, and leaves the status of the task alone; and a higher severity. (The order of
decisions alone shows nothing: `force_checkpoint` outranks `require_review`, yet a gate only rewrites on it.) Words for
humans and the version bind nobody. Everything else counts as loosening: a human looks. `lictor pack diff --prove` asks
a solver where two versions decide differently.
"""

from collections.abc import Iterator

from lictor_contracts.patch.envelope_loosening import Direction, FieldChange, changes, wire_name
from lictor_policy.conditions.evidence_requirements import bound
from lictor_policy.errors import PackError
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.rules.firing import fires_whenever
from lictor_schema.core.base_model import Model
from lictor_schema.decisions.decision import Disposition
from lictor_schema.packs.pack import DecisionOutput, PolicyPack, Rule

_TIGHTER, _LOOSER, _UNPROVEN, _NEUTRAL = Direction
_DENYING = frozenset({Disposition.BLOCK, Disposition.ESCALATE})
_PACK_WORDS = frozenset({"title", "version", "summary", "owner", "tags"})
_RULE_WORDS = frozenset({"title", "intent", "notes"})
_OUTPUT_APART = frozenset({"decision", "severity"})


def pack_changes(before: PolicyPack, after: PolicyPack) -> tuple[FieldChange, ...]:
    """Every field that differs, with its direction."""
    return tuple(_pack(before, after))


def pack_loosens(before: PolicyPack, after: PolicyPack) -> tuple[str, ...]:
    """What the change loosens or can't be shown to tighten, each with its place."""
    return tuple(str(each) for each in pack_changes(before, after) if each.direction.loosens)


def _pack(before: PolicyPack, after: PolicyPack) -> Iterator[FieldChange]:
    old, new = before.metadata, after.metadata
    yield from _changed(before, after, "", frozenset(), frozenset({"metadata", "spec"}))
    apart = frozenset({"mode", "severity_default"})
    yield from _changed(old, new, "metadata.", _PACK_WORDS, apart)
    if old.severity_default is not new.severity_default:
        milder = new.severity_default.rank < old.severity_default.rank
        words = f"{old.severity_default.value} -> {new.severity_default.value}"
        yield FieldChange("metadata.severity_default", _LOOSER if milder else _TIGHTER, words)
    if old.mode != new.mode and (after.spec.extends or after.spec.rule_files):
        words = f"{old.mode} -> {new.mode}, also for rules from elsewhere"
        yield FieldChange("metadata.mode", _UNPROVEN, words)
    apart = frozenset({"rules", "envelopes"})
    yield from _changed(before.spec, after.spec, "spec.", frozenset(), apart)
    yield from _envelopes(before, after)
    yield from _rules(before, after)


def _envelopes(before: PolicyPack, after: PolicyPack) -> Iterator[FieldChange]:
    old = {each.decision_type: each for each in before.spec.envelopes}
    new = {each.decision_type: each for each in after.spec.envelopes}
    for name in dict.fromkeys((*old, *new)):
        place = f"spec.envelopes.{name}"
        if name not in new:
            yield FieldChange(place, _UNPROVEN, "the envelope is gone")
        elif name not in old:
            # Nothing of the type could be decided under this pack before.
            yield FieldChange(place, _LOOSER, "a new envelope, so such decisions may be made now")
        else:
            yield from (each.below(place) for each in changes(old[name], new[name]))


def _rules(before: PolicyPack, after: PolicyPack) -> Iterator[FieldChange]:
    old = {rule.id: rule for rule in before.spec.rules}
    new = {rule.id: rule for rule in after.spec.rules}
    if [each for each in old if each in new] != [each for each in new if each in old]:
        yield FieldChange("spec.rules", _UNPROVEN, "the rules stand in another order")
    for name, rule in old.items():
        at = f"spec.rules.{name}"
        if name in new:
            yield from _rule(before, rule, after, new[name], at)
        else:
            looser = _mode(before, rule) == "enforce" and _denies_for_sure(before, rule)
            yield FieldChange(at, _LOOSER if looser else _UNPROVEN, "the rule is gone")
    for name, rule in new.items():
        if name not in old:
            tighter = (
                _mode(after, rule) == "enforce"
                and _only_denies(after, rule)
                # It could stand in for an inherited rule.
                and not after.spec.extends
            )
            words = f"a new rule that decides {rule.decision_output.decision.value}"
            yield FieldChange(f"spec.rules.{name}", _TIGHTER if tighter else _UNPROVEN, words)


def _rule(
    before: PolicyPack, old: Rule, after: PolicyPack, new: Rule, at: str
) -> Iterator[FieldChange]:
    apart = frozenset({"mode", "decision_output", "triggers", "conditions"})
    yield from _changed(old, new, f"{at}.", _RULE_WORDS, apart)
    yield from _firing(before, old, after, new, at)
    yield from _output(old.decision_output, new.decision_output, f"{at}.decision_output.")
    was, now = _mode(before, old), _mode(after, new)
    if was != now:
        if now == "enforce":
            direction = _TIGHTER if _denies_for_sure(after, new) else _UNPROVEN
        else:
            direction = _LOOSER if _denies_for_sure(after, old) else _UNPROVEN
        yield FieldChange(f"{at}.mode", direction, f"{was} -> {now}")


def _firing(
    before: PolicyPack, old: Rule, after: PolicyPack, new: Rule, at: str
) -> Iterator[FieldChange]:
    """When the rule fires: on more, on less, or unknown."""
    differing = [
        name for name in ("triggers", "conditions") if getattr(old, name) != getattr(new, name)
    ]
    if not differing:
        return
    denies = _only_denies(before, old) and _only_denies(after, new)
    more, less = _fires_whenever(new, old), _fires_whenever(old, new)
    if more and less:
        direction, words = _NEUTRAL, "fires on the same as before"
    elif more:
        words = "fires whenever it did before"
        direction = _TIGHTER if denies else _UNPROVEN
    elif less:
        words = "fires on nothing new"
        direction = _LOOSER if denies else _UNPROVEN
    else:
        direction, words = _UNPROVEN, "changed"
    for name in differing:
        yield FieldChange(f"{at}.{name}", direction, words)


def _fires_whenever(rule: Rule, other: Rule) -> bool:
    try:
        return fires_whenever(bound(rule, _unread), bound(other, _unread))
    except PackError:
        # It names a fact that there is not; the evaluator refuses it.
        return False


def _unread(path: Path, problem: str) -> PackError:
    return PackError(f"{'.'.join(map(str, path))}: {problem}")


def _output(old: DecisionOutput, new: DecisionOutput, at: str) -> Iterator[FieldChange]:
    yield from _changed(old, new, at, frozenset(), _OUTPUT_APART)
    if new.decision is not old.decision:
        if new.decision in _DENYING and new.decision.precedence > old.decision.precedence:
            direction = _TIGHTER
        elif old.decision in _DENYING and new.decision not in _DENYING:
            direction = _LOOSER
        else:
            direction = _UNPROVEN
        words = f"{old.decision.value} -> {new.decision.value}"
        yield FieldChange(f"{at}decision", direction, words)
    if old.severity is not new.severity:
        # Without one, a rule takes the pack's default, whatever that is.
        if old.severity is None or new.severity is None:
            direction = _UNPROVEN
        else:
            direction = _LOOSER if new.severity.rank < old.severity.rank else _TIGHTER
        yield FieldChange(f"{at}severity", direction, f"{old.severity} -> {new.severity}")


def _mode(pack: PolicyPack, rule: Rule) -> str:
    return rule.mode or pack.metadata.mode or "enforce"


def _denies_for_sure(pack: PolicyPack, rule: Rule) -> bool:
    # In a first_match pack, a rule that comes into force hides those behind it.
    return (
        pack.spec.evaluation_mode == "any_rule_match" and rule.decision_output.decision in _DENYING
    )


def _only_denies(pack: PolicyPack, rule: Rule) -> bool:
    # A status that it gives the task could make another rule silent later.
    return _denies_for_sure(pack, rule) and rule.decision_output.suggested_status is None


def _changed(
    old: Model, new: Model, at: str, words: frozenset[str], apart: frozenset[str]
) -> Iterator[FieldChange]:
    for name in type(old).model_fields:
        if name not in apart and getattr(old, name) != getattr(new, name):
            direction = _NEUTRAL if name in words else _UNPROVEN
            yield FieldChange(at + wire_name(type(old), name), direction, "changed")
