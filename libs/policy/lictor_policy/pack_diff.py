"""What differs between two sets of packs, by pack, rule and field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from lictor_policy.wording import condition_text
from lictor_schema.packs import PolicyPack, Rule


@dataclass(frozen=True, slots=True)
class Difference:
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


def diff_packs(old: Iterable[PolicyPack], new: Iterable[PolicyPack]) -> list[Difference]:
    """Every difference, in the order of the new packs."""
    before = {pack.metadata.id: pack for pack in old}
    after = {pack.metadata.id: pack for pack in new}
    found = [Difference("removed", name) for name in before if name not in after]
    for name, pack in after.items():
        if name in before:
            found += _in_pack(before[name], pack)
        else:
            found.append(Difference("added", name))
    return found


def _in_pack(old: PolicyPack, new: PolicyPack) -> list[Difference]:
    name = new.metadata.id
    found = _fields(name, None, _flat(_head(old)), _flat(_head(new)))
    before = {rule.id: rule for rule in old.spec.rules}
    after = {rule.id: rule for rule in new.spec.rules}
    found += [Difference("removed", name, rule) for rule in before if rule not in after]
    for rule_id, rule in after.items():
        if rule_id in before:
            found += _fields(name, rule_id, _flat(_rule(before[rule_id])), _flat(_rule(rule)))
        else:
            found.append(Difference("added", name, rule_id))
    shared = [rule for rule in before if rule in after]
    if shared != [rule for rule in after if rule in before]:
        # The order decides between equally strong rules, and which is first in first_match.
        order = ("spec.rules order", shared, [rule for rule in after if rule in before])
        found.append(Difference("changed", name, None, *order))
    return found


def _fields(
    pack_id: str, rule_id: str | None, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[Difference]:
    names = dict.fromkeys((*old, *new))
    return [
        Difference(_what(name, old, new), pack_id, rule_id, name, old.get(name), new.get(name))
        for name in names
        if old.get(name) != new.get(name)
    ]


def _what(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Literal["added", "removed", "changed"]:
    if name not in old:
        return "added"
    return "changed" if name in new else "removed"


def _head(pack: PolicyPack) -> dict[str, Any]:
    whole = _data(pack)
    cast("dict[str, Any]", whole["spec"]).pop("rules", None)
    return whole


def _rule(rule: Rule) -> dict[str, Any]:
    # A condition is read as a whole: by path, a part put in front would seem to change all the others.
    return {**_data(rule), "conditions": condition_text(rule.conditions)}


def _data(model: PolicyPack | Rule) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {path: value}
    flat: dict[str, Any] = {}
    for key, inner in cast("Mapping[str, Any]", value).items():
        flat |= _flat(inner, f"{path}.{key}" if path else key)
    return flat
