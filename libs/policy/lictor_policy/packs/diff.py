"""What differs between two sets of packs, by pack, rule and field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from lictor_policy.conditions.condition_text import condition_text
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.packs.pack import LoadedPack
from lictor_policy.rules.compiled_rule import CompiledRule
from lictor_policy.rules.scope import TaskScope


@dataclass(frozen=True, slots=True)
class PackDifference:
    """One pack, rule or field that is there on one side only, or isn't the same on both."""

    what: Literal["added", "removed", "changed"]
    pack_id: str
    rule_id: str | None = None
    field: str | None = None
    old: Any = None
    new: Any = None

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "what": self.what,
            "pack_id": self.pack_id,
            "rule_id": self.rule_id,
            "field": self.field,
            "old": self.old,
            "new": self.new,
        }


def diff_configs(old: EvaluatorConfig, new: EvaluatorConfig) -> list[PackDifference]:
    """Every difference of what is in force, whatever file it comes from."""
    before, after = _by_pack(old), _by_pack(new)
    found = [PackDifference("removed", name) for name in before if name not in after]
    for name, pack in after.items():
        if name in before:
            found += _in_pack(name, before[name], pack)
        else:
            found.append(PackDifference("added", name))
    return found


def diff_envelopes(old: Iterable[LoadedPack], new: Iterable[LoadedPack]) -> list[PackDifference]:
    """Every difference of the envelopes that packs hold, by decision type and field."""
    before, after = _envelopes(old), _envelopes(new)
    found = [
        PackDifference("removed", pack_id, None, f"envelopes.{name}")
        for pack_id, name in before
        if (pack_id, name) not in after
    ]
    for (pack_id, name), envelope in after.items():
        if (pack_id, name) in before:
            found += _fields(pack_id, None, before[pack_id, name], envelope)
        else:
            found.append(PackDifference("added", pack_id, None, f"envelopes.{name}"))
    return found


def _envelopes(packs: Iterable[LoadedPack]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (pack.pack.metadata.id, each.decision_type): _flat(
            each.model_dump(mode="json", by_alias=True), f"envelopes.{each.decision_type}"
        )
        for pack in packs
        for each in pack.pack.spec.envelopes
    }


class _Pack(NamedTuple):
    fields: dict[str, Any]
    rules: dict[str, dict[str, Any]]


def _by_pack(config: EvaluatorConfig) -> dict[str, _Pack]:
    packs = {stamp.pack_id: _Pack({"version": stamp.pack_version}, {}) for stamp in config.packs}
    first_only = {
        rule.stamp.pack_id
        for looking in config.index.values()
        for candidates in looking
        if candidates.first_only
        for _, rule in candidates.rules
    }
    scopes = {
        rule.stamp.pack_id: candidates.scope
        for looking in config.index.values()
        for candidates in looking
        for _, rule in candidates.rules
    }
    for name, pack in packs.items():
        pack.fields["evaluation_mode"] = "first_match" if name in first_only else "any_rule_match"
        scope = scopes.get(name)
        for field in TaskScope.__slots__ if scope is not None else ():
            taken: frozenset[str] | None = getattr(scope, field)
            if taken is not None:
                pack.fields[f"applies_to.{field}"] = sorted(taken)
    for rule in config.rules:
        packs[rule.stamp.pack_id].rules[rule.rule.id] = _flat(_rule(rule))
    return packs


def _in_pack(name: str, old: _Pack, new: _Pack) -> list[PackDifference]:
    found = _fields(name, None, old.fields, new.fields)
    found += [PackDifference("removed", name, rule) for rule in old.rules if rule not in new.rules]
    for rule_id, rule in new.rules.items():
        if rule_id in old.rules:
            found += _fields(name, rule_id, old.rules[rule_id], rule)
        else:
            found.append(PackDifference("added", name, rule_id))
    before = [rule for rule in old.rules if rule in new.rules]
    after = [rule for rule in new.rules if rule in old.rules]
    if before != after:
        # It decides between equally strong rules, and which is the first of a first_match pack.
        found.append(PackDifference("changed", name, None, "order of rules", before, after))
    return found


def _fields(
    pack_id: str, rule_id: str | None, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[PackDifference]:
    names = dict.fromkeys((*old, *new))
    return [
        PackDifference(_what(name, old, new), pack_id, rule_id, name, old.get(name), new.get(name))
        for name in names
        if old.get(name) != new.get(name)
    ]


def _what(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Literal["added", "removed", "changed"]:
    if name not in old:
        return "added"
    return "changed" if name in new else "removed"


def _rule(compiled: CompiledRule) -> dict[str, Any]:
    rule = compiled.rule
    told = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    told["decision_output"]["severity"] = compiled.severity.value
    # A condition is read as a whole: by path, a part put in front would seem to change all the others.
    told["conditions"] = condition_text(rule.conditions)
    told["mode"] = "shadow" if compiled.shadow else "enforce"
    if compiled.windows:
        told["rests_in"] = [window.window_id for window in compiled.windows]
    return told


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {path: value}
    flat: dict[str, Any] = {}
    for key, inner in cast("Mapping[str, Any]", value).items():
        flat |= _flat(inner, f"{path}.{key}" if path else key)
    return flat
