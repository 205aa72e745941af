"""The policy-pack format `reporting-governance/v1alpha1`, and how a pack file is read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from lictor_policy.errors import PackError
from lictor_policy.strict_yaml import YamlDocument, YamlError, read_yaml
from lictor_schema.canonical import content_hash
from lictor_schema.claims import ClaimType
from lictor_schema.decisions import Disposition, RequiredAction, Severity, SuggestedStatus
from lictor_schema.errors import WHOLE_DOCUMENT, describe_validation_error
from lictor_schema.event_types import EventType
from lictor_schema.evidence import EvidenceClass, Quality
from lictor_schema.model import Count, Identifier, Label, Model, Text

API_VERSION = "reporting-governance/v1alpha1"
ANY = "*"
"""In `applies_to`: any value. A list left out means the same."""

Names = Annotated[tuple[Label, ...], Field(min_length=1, max_length=64)]
Value = Annotated[bool | int | str, Field(union_mode="smart")]


class AppliesTo(Model):
    """Which tasks a pack governs; a list left out, or `*`, takes any."""

    runtimes: Names | None = None
    task_modes: Names | None = None
    workflow_shapes: Names | None = None
    channels: Names | None = None


class Metadata(Model):
    """The pack as a versioned artifact."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=128)]
    title: Label
    version: Label
    summary: Text
    owner: Label
    severity_default: Severity
    applies_to: AppliesTo
    tags: Annotated[tuple[Label, ...], Field(max_length=64)]


class Triggers(Model):
    """When a rule is looked at: on an event type, or on a derived signal."""

    event_types: Annotated[tuple[EventType, ...], Field(max_length=16)] = ()
    derived_signals: Annotated[tuple[Label, ...], Field(max_length=16)] = ()
    claim_types: Annotated[tuple[ClaimType, ...], Field(max_length=3)] = ()

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.event_types and not self.derived_signals:
            raise PydanticCustomError("trigger", "must name an event type or a derived signal")
        return self


COMPARATORS = ("equals", "not_equals", "greater_than", "less_than", "in", "contains")


class Condition(Model):
    """A group (`all`, `any`, `not`) or a leaf: a fact and exactly one comparator."""

    all_of: Annotated[tuple["Condition", ...], Field(min_length=1, max_length=256)] | None = Field(
        default=None, validation_alias="all", serialization_alias="all"
    )
    any_of: Annotated[tuple["Condition", ...], Field(min_length=1, max_length=256)] | None = Field(
        default=None, validation_alias="any", serialization_alias="any"
    )
    negated: "Condition | None" = Field(
        default=None, validation_alias="not", serialization_alias="not"
    )
    fact: Label | None = None
    equals: Value | None = None
    not_equals: Value | None = None
    greater_than: Value | None = None
    less_than: Value | None = None
    one_of: Annotated[tuple[Value, ...], Field(min_length=1, max_length=256)] | None = Field(
        default=None, validation_alias="in", serialization_alias="in"
    )
    contains: Value | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        forms = (self.all_of, self.any_of, self.negated, self.fact)
        if sum(form is not None for form in forms) != 1:
            raise PydanticCustomError("condition", "must be exactly one of all, any, not, fact")
        if len(self.comparisons()) != (self.fact is not None):
            raise PydanticCustomError(
                "comparator",
                "must have exactly one comparator beside a fact ({names}), and none beside a group",
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


class ProgressRequirement(Model):
    """What a progress-bearing report needs."""

    min_new_items_since_last_checkpoint: Count | None = None
    allowed_quality_floor: Quality | None = None


class QualityRequirement(Model):
    """How strong the evidence for a completion must be."""

    min_quality: Quality


class EvidenceRequirements(Model):
    """The evidence a rule asks for; what is missing is told in the record."""

    progress: ProgressRequirement | None = None
    completion: QualityRequirement | None = None
    verified_completion: QualityRequirement | None = None
    must_reference_event_types: Annotated[tuple[EventType, ...], Field(max_length=16)] = ()
    must_reference_evidence_classes: Annotated[tuple[EvidenceClass, ...], Field(max_length=7)] = ()


class NoticeOutput(Model):
    """The operator notice a rule demands; `channel` and `message` may hold variables."""

    required: bool
    channel: Label
    urgency: Severity
    message: Text | None = None
    must_reference: Annotated[tuple[Label, ...], Field(max_length=64)] = ()
    deadline: Literal["immediate"] | None = None


class DecisionOutput(Model):
    """The decision a rule makes; without a severity it takes the pack's default."""

    decision: Disposition
    severity: Severity | None = None
    reason: Text
    suggested_status: SuggestedStatus | None
    required_actions: Annotated[tuple[RequiredAction, ...], Field(max_length=64)]
    operator_notice: NoticeOutput | None


class MessageTemplates(Model):
    """Operator-facing texts, so that no runtime has to make up its own."""

    checkpoint_forced: Text | None = None
    placeholder_rewrite: Text | None = None
    review_required: Text | None = None
    status_downgraded: Text | None = None
    blocked: Text | None = None


class Rule(Model):
    """One governed behaviour."""

    id: Identifier
    title: Label
    intent: Text
    triggers: Triggers
    conditions: Condition
    evidence_requirements: EvidenceRequirements
    decision_output: DecisionOutput
    operator_message_templates: MessageTemplates
    notes: Annotated[tuple[Text, ...], Field(max_length=64)] = ()


class Spec(Model):
    """How the rules are evaluated, and the rules."""

    evaluation_mode: Literal["any_rule_match", "first_match"]
    rules: Annotated[tuple[Rule, ...], Field(min_length=1, max_length=1000)]


class PolicyPack(Model):
    """A deployable bundle of rules about one reporting risk."""

    api_version: Literal["reporting-governance/v1alpha1"] = Field(
        validation_alias="apiVersion", serialization_alias="apiVersion"
    )
    kind: Literal["PolicyPack"]
    metadata: Metadata
    spec: Spec


@dataclass(frozen=True, slots=True)
class LoadedPack:
    """A pack as read: its model, the hash of its JSON form, and where its parts stand."""

    pack: PolicyPack
    pack_hash: str
    source: str
    document: YamlDocument

    def error(self, path: tuple[str | int, ...], problem: str) -> PackError:
        """An error that names file, line, rule and field."""
        return _error(self.source, self.document, path, problem)


def load_pack(path: Path) -> LoadedPack:
    """Read one pack file."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise PackError(f"{path}: can't be read: {error.strerror}") from error
    return read_pack(source, str(path))


def read_pack(source: bytes, name: str) -> LoadedPack:
    """Read a pack from YAML text; `name` stands for the file in errors."""
    try:
        document = read_yaml(source)
    except YamlError as error:
        where = name if error.line is None else f"{name}:{error.line}"
        raise PackError(f"{where}: {error.problem}") from error
    try:
        # Through JSON: strict models take enumerations and arrays only from there.
        pack = PolicyPack.model_validate_json(
            json.dumps(document.data), by_name=False, by_alias=True
        )
    except ValidationError as error:
        lines = (
            str(_error(name, document, _spelled(told.path, document), told.problem))
            for told in describe_validation_error(error)
        )
        raise PackError("\n".join(dict.fromkeys(lines))) from error
    loaded = LoadedPack(pack, content_hash(document.data), name, document)
    _refuse_doubled_rules(loaded)
    return loaded


def _refuse_doubled_rules(loaded: LoadedPack) -> None:
    seen: set[str] = set()
    for index, rule in enumerate(loaded.pack.spec.rules):
        if rule.id in seen:
            raise loaded.error(
                ("spec", "rules", index, "id"), f"the id {rule.id} is used twice; ids are unique"
            )
        seen.add(rule.id)


def _spelled(dotted: str, document: YamlDocument) -> tuple[str | int, ...]:
    """The path of a problem as the author wrote it, without the members of a union."""
    if dotted == WHOLE_DOCUMENT:
        return ()
    parts = [int(part) if part.isdigit() else part for part in dotted.split(".")]
    path: tuple[str | int, ...] = ()
    for index, part in enumerate(parts):
        here = (*path, part)
        # A missing field stands last and on no line.
        missing = index == len(parts) - 1 and part not in ("bool", "int", "str")
        if here in document.lines or missing:
            path = here
    return path


def _error(
    source: str, document: YamlDocument, path: tuple[str | int, ...], problem: str
) -> PackError:
    line = document.line_of(path)
    where = source if line is None else f"{source}:{line}"
    rule = ""
    if path[:2] == ("spec", "rules") and len(path) > 2:
        given: Any = document.data["spec"]["rules"][path[2]]
        name = cast("dict[str, Any]", given).get("id") if isinstance(given, dict) else None
        rule = f"rule {name or '#' + str(path[2])}: "
    field = ".".join(str(part) for part in path) or "the document"
    return PackError(f"{where}: {rule}{field}: {problem}")
