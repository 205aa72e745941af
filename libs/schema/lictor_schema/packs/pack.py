"""Policy packs: the documented format `reporting-governance/v1alpha1`, and ours, `lictor/v1`.

`lictor/v1` holds everything of `v1alpha1` and the fields beyond the documents. Each model names its
own in `EXTENDED`; a pack that uses one under `v1alpha1` is refused.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.contracts.envelope import DTE
from lictor_schema.core.base_model import (
    MAX_SAFE_INTEGER,
    Count,
    Identifier,
    Label,
    Model,
    OptionalText,
    Text,
)
from lictor_schema.decisions.decision import Disposition, RequiredAction, Severity, SuggestedStatus
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event_types import EventType
from lictor_schema.events.evidence import EvidenceClass, Quality
from lictor_schema.packs.temporal_conditions import Before, CountOf, Previous, SinceLast, TotalOf

V1ALPHA1 = "reporting-governance/v1alpha1"
LICTOR_V1 = "lictor/v1"
NEEDS_LICTOR_V1 = "needs_lictor_v1"
"""The kind of the validation error about a field that `v1alpha1` doesn't have."""

ANY = "*"
"""In `applies_to`: any value. A list left out means the same."""

Mode = Literal["enforce", "shadow"]
"""`shadow`: evaluated and recorded, never enforced."""

PackId = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=128)]
Names = Annotated[tuple[Label, ...], Field(min_length=1, max_length=64)]
Whole = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Value = Annotated[bool | Whole | OptionalText, Field(union_mode="smart")]
FilePath = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$")
]
TemplateName = Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=128)]


class PackModel(Model):
    """Base of the parts of a pack."""

    EXTENDED: ClassVar[frozenset[str]] = frozenset()
    """The fields that need `lictor/v1`."""


class AppliesTo(PackModel):
    """Which tasks a pack governs; a list left out, or `*`, takes any."""

    runtimes: Names | None = Field(default=None, description="Names of runtimes")
    task_modes: Names | None = Field(default=None, description="Modes a task started with")
    workflow_shapes: Names | None = Field(default=None, description="Shapes a task started with")
    channels: Names | None = Field(default=None, description="Channels a task reports to")


class Metadata(PackModel):
    """The pack as a versioned artifact."""

    EXTENDED = frozenset({"mode"})

    id: PackId = Field(description="The pack's id; also the name of its folder")
    title: Label = Field(description="Its name for humans")
    version: Label = Field(description="Its version")
    summary: Text = Field(description="What it is for")
    owner: Label = Field(description="Who answers for it")
    severity_default: Severity = Field(description="Severity of rules that name none")
    applies_to: AppliesTo = Field(description="The tasks it governs")
    tags: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(description="Search words")
    mode: Mode | None = Field(
        default=None, description="How its rules run unless they say; null for enforce"
    )


class Triggers(PackModel):
    """When a rule is looked at: on an event type, or on a derived signal."""

    event_types: Annotated[tuple[EventType, ...], Field(max_length=16)] = Field(
        default=(), description="Event types"
    )
    derived_signals: Annotated[tuple[Label, ...], Field(max_length=16)] = Field(
        default=(), description="Derived signals"
    )
    claim_types: Annotated[tuple[ClaimType, ...], Field(max_length=3)] = Field(
        default=(), description="Narrows events that claim something; empty for any claim"
    )

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.event_types and not self.derived_signals:
            raise PydanticCustomError("trigger", "must name an event type or a derived signal")
        return self


COMPARATORS = ("equals", "not_equals", "greater_than", "less_than", "in", "contains")


class Condition(PackModel):
    """A group (`all`, `any`, `not`) or a leaf.

    A fact, a count, a time since or a total has exactly one comparator; order and neighbourhood have none.
    """

    EXTENDED = frozenset({"count", "since", "total", "before", "previous"})

    all_of: Annotated[tuple["Condition", ...], Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        validation_alias="all",
        serialization_alias="all",
        description="Holds when every part holds",
    )
    any_of: Annotated[tuple["Condition", ...], Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        validation_alias="any",
        serialization_alias="any",
        description="Holds when one part holds",
    )
    negated: "Condition | None" = Field(
        default=None,
        validation_alias="not",
        serialization_alias="not",
        description="Holds when the part doesn't",
    )
    fact: Label | None = Field(default=None, description="The fact that is compared")
    count: CountOf | None = Field(default=None, description="How often something happened")
    since: SinceLast | None = Field(default=None, description="How long ago something happened")
    total: TotalOf | None = Field(default=None, description="What something adds up to")
    before: Before | None = Field(
        default=None, description="Holds when one thing came before another"
    )
    previous: Previous | None = Field(
        default=None, description="Holds when the event before this one was that"
    )
    equals: Value | None = Field(default=None, description="It is this")
    not_equals: Value | None = Field(default=None, description="It is not this")
    greater_than: Value | None = Field(default=None, description="It is more than this")
    less_than: Value | None = Field(default=None, description="It is less than this")
    one_of: Annotated[tuple[Value, ...], Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        validation_alias="in",
        serialization_alias="in",
        description="It is one of these",
    )
    contains: Value | None = Field(default=None, description="It has this text within")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        compared = (self.fact, self.count, self.since, self.total)
        others = (self.all_of, self.any_of, self.negated, self.before, self.previous)
        if sum(form is not None for form in (*compared, *others)) != 1:
            raise PydanticCustomError(
                "condition",
                "must be exactly one of all, any, not, fact, count, since, total, before, previous",
            )
        if len(self.comparisons()) != any(form is not None for form in compared):
            raise PydanticCustomError(
                "comparator",
                "must have exactly one comparator beside a fact, count, since or total ({names}),"
                " and none beside anything else",
                {"names": ", ".join(COMPARATORS)},
            )
        return self

    def comparisons(self) -> list[tuple[str, Value | tuple[Value, ...]]]:
        """The comparators given, with what they compare to."""
        named = zip(
            COMPARATORS,
            (
                self.equals,
                self.not_equals,
                self.greater_than,
                self.less_than,
                self.one_of,
                self.contains,
            ),
            strict=True,
        )
        return [(name, value) for name, value in named if value is not None]


class ProgressRequirement(PackModel):
    """What a progress-bearing report needs."""

    min_new_items_since_last_checkpoint: Count | None = Field(
        default=None, description="How many new evidence items"
    )
    allowed_quality_floor: Quality | None = Field(
        default=None, description="How strong the best of them must be"
    )


class QualityRequirement(PackModel):
    """How strong the evidence for a completion must be."""

    min_quality: Quality = Field(description="The least that is enough")


class EvidenceRequirements(PackModel):
    """The evidence a rule asks for; what is missing is told in the record.

    The fact `evidence.requirements_met` makes a condition of it. A claim is held to the requirement of its own type.
    """

    progress: ProgressRequirement | None = Field(default=None, description="For progress claims")
    completion: QualityRequirement | None = Field(default=None, description="For completion claims")
    verified_completion: QualityRequirement | None = Field(
        default=None, description="For claims of verified completion"
    )
    must_reference_event_types: Annotated[tuple[EventType, ...], Field(max_length=16)] = Field(
        default=(), description="Event types the operator's notice must name"
    )
    must_reference_evidence_classes: Annotated[tuple[EvidenceClass, ...], Field(max_length=7)] = (
        Field(default=(), description="Only evidence of these classes counts")
    )


class NoticeOutput(PackModel):
    """The operator notice a rule demands; `channel` and `message` may hold variables."""

    required: bool = Field(description="Whether the notice is owed")
    channel: Label = Field(description="Where it is owed")
    urgency: Severity = Field(description="How urgent it is")
    message: Text | None = Field(
        default=None, description="Its text; null for the decision's template"
    )
    must_reference: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(), description="Event types or artifacts the text must name"
    )
    deadline: Literal["immediate"] | None = Field(default=None, description="When it is owed")

    @property
    def has_text(self) -> bool:
        """Whether it says anything: a text of its own, or the decision's template because it is owed."""
        return self.required or self.message is not None


class DecisionOutput(PackModel):
    """The decision a rule makes; without a severity it takes the pack's default."""

    decision: Disposition = Field(description="The disposition")
    severity: Severity | None = Field(
        default=None, description="How bad it is; null for the pack's default"
    )
    reason: Text = Field(description="Why, for humans; may hold variables")
    suggested_status: SuggestedStatus | None = Field(
        description="Status the task should take; null for no change"
    )
    required_actions: Annotated[tuple[RequiredAction, ...], Field(max_length=64)] = Field(
        description="What must be done, in order"
    )
    operator_notice: NoticeOutput | None = Field(description="What the operator must be told")


class MessageTemplates(PackModel):
    """Operator-facing texts, so that no runtime has to make up its own."""

    checkpoint_forced: Text | None = Field(default=None, description="A report is owed now")
    placeholder_rewrite: Text | None = Field(default=None, description="Said instead of a message")
    review_required: Text | None = Field(default=None, description="A human has to look")
    status_downgraded: Text | None = Field(default=None, description="The status was lowered")
    blocked: Text | None = Field(default=None, description="It must not happen")


class Rule(PackModel):
    """One governed behaviour."""

    EXTENDED = frozenset({"mode", "escalate_after"})

    id: Identifier = Field(description="The rule's id, unique over all packs")
    title: Label = Field(description="Its name for humans")
    intent: Text = Field(description="What it is meant to prevent")
    triggers: Triggers = Field(description="When it is looked at")
    conditions: Condition = Field(description="When it fires")
    evidence_requirements: EvidenceRequirements = Field(description="The evidence it asks for")
    decision_output: DecisionOutput = Field(description="What it decides")
    operator_message_templates: MessageTemplates = Field(description="Its texts")
    notes: Annotated[tuple[Text, ...], Field(max_length=64)] = Field(
        default=(), description="Remarks for maintainers"
    )
    mode: Mode | None = Field(default=None, description="How it runs; null for the pack's mode")
    escalate_after: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        default=None, description="From this match on in one task, it escalates"
    )


class Spec(PackModel):
    """How the rules are evaluated, and the rules."""

    EXTENDED = frozenset(
        {"extends", "rule_files", "template_files", "remove_rules", "envelopes", "gate_records"}
    )

    evaluation_mode: Literal["any_rule_match", "first_match"] = Field(
        description="Every rule that matches counts, or only the pack's first"
    )
    rules: Annotated[tuple[Rule, ...], Field(max_length=1000)] = Field(
        description="The rules; empty only when others are brought in, or for envelopes alone"
    )
    extends: Annotated[tuple[PackId, ...], Field(max_length=16)] = Field(
        default=(), description="Packs whose rules this one takes over, its own overriding them"
    )
    remove_rules: Annotated[tuple[Identifier, ...], Field(max_length=256)] = Field(
        default=(), description="Inherited rules it leaves out"
    )
    rule_files: Annotated[tuple[FilePath, ...], Field(max_length=256)] = Field(
        default=(), description="Files of kind RuleSet in the pack's folder"
    )
    template_files: Annotated[tuple[FilePath, ...], Field(max_length=256)] = Field(
        default=(), description="Files of kind TemplateSet in the pack's folder, or in `shared/`"
    )
    envelopes: Annotated[tuple[DTE, ...], Field(max_length=256)] = Field(
        default=(), description="Decision Timing Envelopes, one of each decision type"
    )
    gate_records: Literal["required"] | None = Field(
        default=None,
        description="`required`: the report and dispatch gates allow nothing that is not on record first",
    )

    @model_validator(mode="after")
    def _has_rules(self) -> Self:
        if not (self.rules or self.extends or self.rule_files or self.envelopes):
            raise PydanticCustomError("rules", "has no rules; give at least one")
        return self


_NULL = {"type": "null"}
_EMPTY = {"maxItems": 0}
_ONLY_DOCUMENTED: dict[str, Any] = {
    "if": {"properties": {"apiVersion": {"const": V1ALPHA1}}},
    "then": {
        "properties": {
            "metadata": {"properties": dict.fromkeys(sorted(Metadata.EXTENDED), _NULL)},
            "spec": {
                "properties": {
                    **dict.fromkeys(sorted(Spec.EXTENDED - {"gate_records"}), _EMPTY),
                    "gate_records": _NULL,
                    "rules": {"items": {"properties": dict.fromkeys(sorted(Rule.EXTENDED), _NULL)}},
                }
            },
        }
    },
}


class PolicyPack(PackModel):
    """A deployable bundle of rules about one reporting risk."""

    model_config = ConfigDict(json_schema_extra=_ONLY_DOCUMENTED)

    api_version: Literal["reporting-governance/v1alpha1", "lictor/v1"] = Field(
        validation_alias="apiVersion",
        serialization_alias="apiVersion",
        description="The documented format, or ours that holds more",
    )
    kind: Literal["PolicyPack"] = Field(description="What the file is")
    metadata: Metadata = Field(description="The pack as an artifact")
    spec: Spec = Field(description="What it does")

    @model_validator(mode="after")
    def _keeps_to_its_version(self) -> Self:
        if self.api_version == V1ALPHA1:
            paths = [list(path) for path in extended_fields(self)]
            if paths:
                raise PydanticCustomError(
                    NEEDS_LICTOR_V1,
                    "{fields} is not in apiVersion reporting-governance/v1alpha1;"
                    " write apiVersion: lictor/v1 to use it",
                    {"fields": ".".join(map(str, paths[0])), "paths": paths},
                )
        return self


class RuleSet(PackModel):
    """Rules of a pack in a file of their own."""

    api_version: Literal["lictor/v1"] = Field(
        validation_alias="apiVersion", serialization_alias="apiVersion", description="The format"
    )
    kind: Literal["RuleSet"] = Field(description="What the file is")
    rules: Annotated[tuple[Rule, ...], Field(min_length=1, max_length=1000)] = Field(
        description="The rules"
    )


class TemplateSet(PackModel):
    """Texts that several rules share; a text takes one in with `{{> name}}`."""

    api_version: Literal["lictor/v1"] = Field(
        validation_alias="apiVersion", serialization_alias="apiVersion", description="The format"
    )
    kind: Literal["TemplateSet"] = Field(description="What the file is")
    templates: Annotated[dict[TemplateName, Text], Field(min_length=1, max_length=1000)] = Field(
        description="Text by name; a text may hold variables, but takes in no other text"
    )


def extended_fields(
    part: PackModel, at: tuple[str | int, ...] = (), *, written: bool = False
) -> Iterator[tuple[str | int, ...]]:
    """The paths of the fields in use that only `lictor/v1` has; `written`: also those that say nothing."""
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        path = (*at, field.serialization_alias or name)
        if name in part.EXTENDED:
            if value not in (None, ()) or (written and name in part.model_fields_set):
                yield path
        elif isinstance(value, PackModel):
            yield from extended_fields(value, path, written=written)
        elif isinstance(value, tuple):
            members = cast("tuple[Any, ...]", value)
            for index, member in enumerate(members):
                if isinstance(member, PackModel):
                    yield from extended_fields(member, (*path, index), written=written)
