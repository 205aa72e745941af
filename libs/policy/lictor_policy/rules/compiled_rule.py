"""A rule of a pack made ready to run: its condition a closure, its texts templates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypedDict, get_args

from lictor_policy.conditions.compiled_condition import check_session_leaves, compile_condition
from lictor_policy.conditions.evidence_requirements import Needs, bound, missing, needs_of
from lictor_policy.conditions.facts import Predicate, unknown_name
from lictor_policy.errors import PackError
from lictor_policy.events.position import EventPosition
from lictor_policy.packs.pack import LoadedPack
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.rules.firing import event_types_of
from lictor_policy.rules.record_text import NoticeForm, RuleLine
from lictor_policy.rules.repeat_escalation import repeated_rule
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.rules.suppression import CompiledWindow
from lictor_policy.rules.templates import Template, TemplateError
from lictor_policy.task.state import TaskState
from lictor_schema.decisions.adapter_capabilities import AdapterCapabilities
from lictor_schema.decisions.decision import (
    REPEATED_MATCH,
    Disposition,
    OperatorNotice,
    PackStamp,
    Severity,
)
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event import Event, EventType
from lictor_schema.packs.pack import MessageTemplates, Metadata, Rule

_LABEL_LENGTH = 256

NOTICE_TEMPLATES: dict[Disposition, tuple[str, ...]] = {
    Disposition.FORCE_CHECKPOINT: ("checkpoint_forced",),
    Disposition.ESCALATE: ("checkpoint_forced", "review_required", "blocked"),
    Disposition.BLOCK: ("blocked",),
    Disposition.DOWNGRADE_STATUS: ("status_downgraded",),
    Disposition.REQUIRE_REVIEW: ("review_required",),
    Disposition.REWRITE: ("placeholder_rewrite",),
    Disposition.ANNOTATE_PLACEHOLDER: ("placeholder_rewrite",),
    Disposition.ALLOW: (),
}
"""The template that words the notice of each decision; the first that the rule has."""


Fate = Literal["fired", "overridden", "shadow", "suppressed"]
"""What became of a rule that matched: it won, another was stricter, or it only was recorded."""


class RuleUse(NamedTuple):
    """A match of a rule, for the counters."""

    pack_id: str
    pack_version: str
    rule_id: str
    fate: Fate


NO_CAPABILITIES: Mapping[str, AdapterCapabilities] = {}


class _Words(TypedDict):
    """What of a compiled rule follows from its decision and texts."""

    severity: Severity
    strength: tuple[int, int]
    reason: Template
    notice: NoticeForm | None
    rewrite: Template | None
    wording: Template | None


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """One rule, ready to run; like nothing but itself."""

    stamp: PackStamp
    rule: Rule
    severity: Severity
    strength: tuple[int, int]
    """Precedence of the decision, then severity: the greatest wins."""
    triggers: dict[EventType, Predicate | None]
    """The events it looks at; with a predicate, only when that holds."""
    claim_types: frozenset[ClaimType]
    """The claims it looks at, of events that claim something."""
    condition: Predicate
    needs: Needs
    reason: Template
    notice: NoticeForm | None
    rewrite: Template | None
    wording: Template | None
    """The template that words its decision for the operator."""
    capabilities: Mapping[str, AdapterCapabilities]
    """What runtimes can do, by name."""
    policy_id: str
    """What the decision names as its origin."""
    line: RuleLine
    shadow: bool
    """Whether it only records."""
    windows: tuple[CompiledWindow, ...]
    """When it rests."""
    repeated: "CompiledRule | None"
    """What it becomes when it has matched too often."""
    uses: Mapping[Fate, RuleUse]

    def resting(self, state: TaskState, position: EventPosition) -> CompiledWindow | None:
        """The window that lets it rest, if one does."""
        for window in self.windows:
            if window.holds(state, position.stored_us):
                return window
        return None

    def is_quiet(self, state: TaskState, position: EventPosition) -> bool:
        """Whether it fires without counting."""
        return self.shadow or (bool(self.windows) and self.resting(state, position) is not None)

    def as_repeated(self, repeats: Mapping[str, int]) -> "CompiledRule":
        """The rule as it stands after so many matches, this one included."""
        limit = self.rule.escalate_after
        if self.repeated is None or limit is None or repeats.get(self.rule.id, 0) < limit:
            return self
        return self.repeated

    def missing(self, state: TaskState, event: Event) -> list[str]:
        """What the rule asks for at an event and the task doesn't have."""
        return missing(self.needs, state, event)


def compile_rule(
    loaded: LoadedPack,
    index: int,
    windows: tuple[CompiledWindow, ...] = (),
    capabilities: Mapping[str, AdapterCapabilities] = NO_CAPABILITIES,
) -> CompiledRule:
    """Check a rule against the vocabulary and make it ready to run."""
    metadata = loaded.pack.metadata
    at: Path = ("spec", "rules", index)

    def fail(path: Path, problem: str) -> PackError:
        return loaded.error((*at, *path), problem)

    rule = bound(loaded.pack.spec.rules[index], fail)
    check_session_leaves(rule, fail)
    stamp, words = stamp_of(loaded), _worded(rule, metadata, fail)
    compiled = CompiledRule(
        **words,
        stamp=stamp,
        rule=rule,
        triggers=_triggers(rule, fail),
        claim_types=frozenset(rule.triggers.claim_types or ClaimType),
        condition=compile_condition(rule.conditions, ("conditions",), fail),
        needs=needs_of(rule.evidence_requirements),
        capabilities=capabilities,
        policy_id=rule.id,
        line=RuleLine.of(stamp, rule.id, words["severity"], rule.decision_output),
        shadow=(rule.mode or metadata.mode) == "shadow",
        windows=windows,
        repeated=None,
        uses={
            fate: RuleUse(stamp.pack_id, stamp.pack_version, rule.id, fate)
            for fate in get_args(Fate)
        },
    )
    if rule.escalate_after is None:
        return compiled
    escalated = repeated_rule(rule, compiled.severity, fail)
    words = _worded(escalated, metadata, fail)
    return replace(
        compiled,
        repeated=replace(
            compiled,
            **words,
            rule=escalated,
            policy_id=REPEATED_MATCH,
            line=RuleLine.of(stamp, rule.id, words["severity"], escalated.decision_output),
        ),
    )


def _worded(
    rule: Rule,
    metadata: Metadata,
    fail: Callable[[Path, str], PackError],
) -> _Words:
    """The decision of a rule and its texts."""

    def template(path: Path, text: str, *, limit: int | None = None) -> Template:
        try:
            return Template(text) if limit is None else Template(text, limit=limit)
        except TemplateError as error:
            raise fail(path, str(error)) from error

    output = rule.decision_output
    texts = _templates(rule.operator_message_templates, template)
    severity = output.severity or metadata.severity_default
    reason = template(("decision_output", "reason"), output.reason)
    if not reason.literal:
        raise fail(("decision_output", "reason"), "must say something beside its variables")
    wording = next((texts[k] for k in NOTICE_TEMPLATES[output.decision] if k in texts), None)
    if wording is None and output.decision is not Disposition.ALLOW:
        wanted = " or ".join(NOTICE_TEMPLATES[output.decision])
        raise fail(("operator_message_templates",), f"{output.decision.value} needs {wanted}")
    return _Words(
        severity=severity,
        strength=(output.decision.precedence, severity.rank),
        reason=reason,
        notice=_notice(rule, wording, template),
        rewrite=None if output.decision is Disposition.ALLOW else texts.get("placeholder_rewrite"),
        wording=wording,
    )


def stamp_of(loaded: LoadedPack) -> PackStamp:
    """The pack by name, version and content."""
    metadata = loaded.pack.metadata
    return PackStamp(pack_id=metadata.id, pack_version=metadata.version, pack_hash=loaded.pack_hash)


def _templates(
    given: MessageTemplates, template: Callable[[Path, str], Template]
) -> dict[str, Template]:
    texts: dict[str, Template] = {}
    for name in MessageTemplates.model_fields:
        text = getattr(given, name)
        if text is not None:
            texts[name] = template(("operator_message_templates", name), text)
    return texts


def _notice(
    rule: Rule, wording: Template | None, template: Callable[..., Template]
) -> NoticeForm | None:
    given = rule.decision_output.operator_notice
    if given is None:
        return None
    at = ("decision_output", "operator_notice")
    channel = template((*at, "channel"), given.channel, limit=_LABEL_LENGTH)
    text = template((*at, "message"), given.message) if given.message is not None else None
    if text is None and given.required:
        text = wording
    references = references_of(rule)
    if text is not None:
        text = _naming(text, references, rule, template)
    notice = OperatorNotice(
        required=given.required,
        channel=given.channel,
        urgency=given.urgency,
        must_reference=references,
        deadline=given.deadline,
    )
    return NoticeForm(notice, channel, text)


def references_of(rule: Rule) -> tuple[str, ...]:
    """What the operator's notice must name: what the notice states, and the event types that the evidence asks for."""
    given = rule.decision_output.operator_notice
    stated = () if given is None else given.must_reference
    return tuple(dict.fromkeys((*stated, *rule.evidence_requirements.must_reference_event_types)))


def _naming(
    text: Template, references: tuple[str, ...], rule: Rule, template: Callable[..., Template]
) -> Template:
    """The text with what it must name and doesn't."""
    types = event_types_of(rule)
    unnamed = [name for name in references if not text.mentions(name, types)]
    if not unnamed:
        return text
    at = ("decision_output", "operator_notice", "must_reference")
    return template(at, f"{text.text.rstrip()} (Concerns: {', '.join(unnamed)}.)")


def _triggers(
    rule: Rule, fail: Callable[[Path, str], PackError]
) -> dict[EventType, Predicate | None]:
    triggers: dict[EventType, Predicate | None] = {}
    for position, name in enumerate(rule.triggers.derived_signals):
        signal = SIGNALS.get(name)
        if signal is None:
            raise fail(
                ("triggers", "derived_signals", position), unknown_name("signal", name, SIGNALS)
            )
        for event_type in signal.event_types:
            known = triggers.get(event_type)
            triggers[event_type] = signal.holds if known is None else _either(known, signal.holds)
    # Named outright, an event type needs no signal.
    triggers.update(dict.fromkeys(rule.triggers.event_types))
    return triggers


def _either(one: Predicate, other: Predicate) -> Predicate:
    return lambda state, event, position: (
        one(state, event, position) or other(state, event, position)
    )
