"""Overlays: the packs as a profile or an environment wants them.

Making rules stricter is free. Making them weaker (switching off, shadow mode, a decision of lower
precedence, a lower severity) has to say why and who agreed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lictor_policy.errors import PackError, nearest
from lictor_policy.packs.files import PROFILES, PackFiles
from lictor_policy.packs.pack import LoadedPack
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.packs.yaml_models import ModelDocument, read_document
from lictor_policy.rules.compiled_rule import NOTICE_TEMPLATES
from lictor_schema.decisions.decision import Disposition
from lictor_schema.packs.overlay import OverlaySpec, PackChange, PolicyOverlay, RuleChange
from lictor_schema.packs.pack import Metadata, Rule

Change = PackChange | RuleChange
Fail = Callable[[Path, str], PackError]


def read_overlays(files: PackFiles, names: Sequence[str]) -> list[ModelDocument[PolicyOverlay]]:
    """The overlays of these names, in this order."""
    refuse_unknown_profiles(files, names)
    found: list[ModelDocument[PolicyOverlay]] = []
    for name in names:
        path = f"{PROFILES}/{name}.yaml"
        document = read_document(files.read(path), files.said(path), PolicyOverlay)
        if document.model.metadata.id != name:
            raise document.error(
                ("metadata", "id"), f"is {document.model.metadata.id}, but the file is {name}.yaml"
            )
        found.append(document)
    return found


def refuse_unknown_profiles(files: PackFiles, names: Sequence[str]) -> None:
    """Raise a PackError when a profile isn't there, or is chosen twice."""
    present = [name.partition("/")[2].removesuffix(".yaml") for name in files.listed(PROFILES)]
    for index, name in enumerate(names):
        if name not in present:
            raise PackError(
                f"{files.said(PROFILES)}: has no profile {name}; {nearest(name, present)}"
            )
        if name in names[:index]:
            raise PackError(f"{files.said(PROFILES)}: profile {name} is chosen twice; choose once")


@dataclass(frozen=True, slots=True)
class _Setting:
    """A rule as the overlays up to now want it."""

    rule: Rule
    enabled: bool = True


def apply_overlays(
    packs: Iterable[LoadedPack],
    overlays: Sequence[ModelDocument[PolicyOverlay]],
    known: Mapping[str, Iterable[str]],
) -> list[LoadedPack]:
    """The packs changed; `known` is the rules there are, by pack, also of packs not in force."""
    for overlay in overlays:
        _refuse_unknown(overlay, known)
    changed: list[LoadedPack] = []
    for pack in packs:
        settings = [_as_written(rule, pack.pack.metadata) for rule in pack.pack.spec.rules]
        for overlay in overlays:
            changes = _changes_by_id(overlay.model.spec)
            settings = [
                _overlaid(setting, pack.pack.metadata.id, changes, overlay.error)
                for setting in settings
            ]
        changed.append(
            pack.with_rules(
                (setting.rule, origin)
                for setting, origin in zip(settings, pack.origins, strict=True)
                if setting.enabled
            )
        )
    return changed


def _as_written(rule: Rule, metadata: Metadata) -> _Setting:
    """A rule with the defaults of its pack filled in, so that changes have something to change."""
    output = rule.decision_output
    severity = output.severity or metadata.severity_default
    told = {
        "mode": rule.mode or metadata.mode or "enforce",
        "decision_output": output.model_copy(update={"severity": severity}),
    }
    return _Setting(rule.model_copy(update=told))


def _changes_by_id(spec: OverlaySpec) -> dict[tuple[str, str], tuple[Change, Path]]:
    return {
        (field, change.id): (change, ("spec", field, index))
        for field, changes in (("packs", spec.packs), ("rules", spec.rules))
        for index, change in enumerate(changes)
    }


def _overlaid(
    setting: _Setting,
    pack_id: str,
    changes: Mapping[tuple[str, str], tuple[Change, Path]],
    fail: Fail,
) -> _Setting:
    for key in (("packs", pack_id), ("rules", setting.rule.id)):
        if key in changes:
            change, path = changes[key]
            setting = _change(setting, change, path, fail)
    return setting


def _change(setting: _Setting, change: Change, path: Path, fail: Fail) -> _Setting:
    rule = setting.rule
    output = rule.decision_output
    weaker: list[str] = []
    if change.enabled is False and setting.enabled:
        weaker.append("switches it off")
    if change.mode == "shadow" and rule.mode != "shadow":
        weaker.append("puts it into shadow mode")
    if isinstance(change, RuleChange):
        if change.decision is not None:
            _refuse_wordless(rule, change.decision, (*path, "decision"), fail)
            if change.decision.precedence < output.decision.precedence:
                weaker.append(f"{change.decision.value} instead of {output.decision.value}")
            output = output.model_copy(update={"decision": change.decision})
        if change.severity is not None:
            if output.severity is not None and change.severity.rank < output.severity.rank:
                weaker.append(
                    f"severity {change.severity.value} instead of {output.severity.value}"
                )
            output = output.model_copy(update={"severity": change.severity})
    if weaker and (change.reason is None or change.approved_by is None):
        raise fail(
            path, f"weakens rule {rule.id} ({', '.join(weaker)}); give a reason and approved_by"
        )
    told = {"mode": change.mode or rule.mode, "decision_output": output}
    enabled = setting.enabled if change.enabled is None else change.enabled
    return _Setting(rule.model_copy(update=told), enabled)


def _refuse_wordless(rule: Rule, decision: Disposition, path: Path, fail: Fail) -> None:
    wanted = NOTICE_TEMPLATES[decision]
    texts = rule.operator_message_templates
    if wanted and all(getattr(texts, name) is None for name in wanted):
        raise fail(
            path,
            f"{decision.value} needs {' or '.join(wanted)}, which rule {rule.id} doesn't have",
        )


def _refuse_unknown(
    overlay: ModelDocument[PolicyOverlay], known: Mapping[str, Iterable[str]]
) -> None:
    rules = {rule for each in known.values() for rule in each}
    spec = overlay.model.spec
    for field, changes, there in (("packs", spec.packs, known), ("rules", spec.rules, rules)):
        seen: set[str] = set()
        for index, change in enumerate(changes):
            path = ("spec", field, index)
            if change.id not in there:
                raise overlay.error(
                    (*path, "id"),
                    f"there is no {field[:-1]} {change.id}; {nearest(change.id, there)}",
                )
            if change.id in seen:
                raise overlay.error((*path, "id"), f"{change.id} is changed twice; say it once")
            seen.add(change.id)
            told = change.model_dump(exclude={"id", "reason", "approved_by"})
            if all(value is None for value in told.values()):
                raise overlay.error(path, "changes nothing; say what, or leave it out")
