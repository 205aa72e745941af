"""The configuration in force: packs in their documented order, indexed by event type."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lictor_policy.errors import PackError
from lictor_policy.facts import Predicate
from lictor_policy.history import HistoryPlan, Kept
from lictor_policy.packs import LoadedPack, load_pack
from lictor_policy.position import EventPosition
from lictor_policy.reading import claim_type_of
from lictor_policy.rules import CompiledRule, compile_rule, stamp_of
from lictor_policy.state import TaskState
from lictor_policy.temporal import memories
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.canonical import content_hash
from lictor_schema.decisions import PackStamp
from lictor_schema.event_types import EventType
from lictor_schema.events import Event
from lictor_schema.packs import ANY, AppliesTo

PACK_FILE = "policy.yaml"

PACK_ORDER = (
    "no-silence",
    "mandatory-checkpoint-structure",
    "no-fake-progress",
    "verified-completion-only",
)
"""Visibility first, then structure, then truth of progress, then closure; others by name after."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The tasks a pack governs; None takes any."""

    runtimes: frozenset[str] | None
    task_modes: frozenset[str] | None
    workflow_shapes: frozenset[str] | None
    channels: frozenset[str] | None

    def takes(self, state: TaskState) -> bool:
        return (
            (self.runtimes is None or state.runtime in self.runtimes)
            and (self.task_modes is None or state.mode in self.task_modes)
            and (self.workflow_shapes is None or state.workflow_shape in self.workflow_shapes)
            and (self.channels is None or state.channel in self.channels)
        )


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The rules of one pack that look at one event type."""

    scope: _Scope | None
    first_only: bool
    rules: tuple[tuple[Predicate | None, CompiledRule], ...]


@dataclass(frozen=True, slots=True)
class EvaluatorConfig:
    """Packs compiled and named by their content."""

    packs: tuple[PackStamp, ...]
    packs_json: str
    """The stamps as they stand in records."""
    config_hash: str
    index: dict[EventType, tuple[_Candidates, ...]]
    history: HistoryPlan
    """What the conditions need to have remembered."""

    def matches(
        self, state: TaskState, event: Event, position: EventPosition
    ) -> list[CompiledRule]:
        """Every rule that fires, in pack order."""
        matched: list[CompiledRule] = []
        looking = self.index.get(event.event_type)
        if looking is None:
            return matched
        claimed = claim_type_of(event)
        for candidates in looking:
            if candidates.scope is not None and not candidates.scope.takes(state):
                continue
            for gate, rule in candidates.rules:
                if gate is not None and not gate(state, event, position):
                    continue
                # An event that claims nothing isn't filtered by the type of its claim.
                if claimed is not None and claimed not in rule.claim_types:
                    continue
                if rule.condition(state, event, position):
                    matched.append(rule)
                    if candidates.first_only:
                        break
        return matched


def load_config(directory: Path, pack_ids: Sequence[str] | None = None) -> EvaluatorConfig:
    """Load the packs of a directory, or only those named."""
    if not directory.is_dir():
        raise PackError(f"{directory}: is not a directory; point it at the policy packs")
    present = sorted(path.parent.name for path in directory.glob(f"*/{PACK_FILE}"))
    wanted = present if pack_ids is None else list(pack_ids)
    if not wanted:
        raise PackError(f"{directory}: holds no <pack-id>/{PACK_FILE}; nothing would be governed")
    doubled = sorted({name for name in wanted if wanted.count(name) > 1})
    if doubled:
        raise PackError(f"{directory}: pack {doubled[0]} is named twice; name it once")
    for name in wanted:
        if name not in present:
            raise PackError(
                f"{directory}: has no pack {name}; there are: {', '.join(present) or 'none'}"
            )
    loaded: list[LoadedPack] = []
    for name in wanted:
        pack = load_pack(directory / name / PACK_FILE)
        if pack.pack.metadata.id != name:
            raise pack.error(
                ("metadata", "id"),
                f"is {pack.pack.metadata.id}, but the folder is {name}; make them equal",
            )
        loaded.append(pack)
    return build_config(loaded)


def build_config(loaded: Iterable[LoadedPack]) -> EvaluatorConfig:
    """Compile packs that were read."""
    packs = sorted(loaded, key=lambda each: _order(each.pack.metadata.id))
    _refuse_doubles(packs)
    index: dict[EventType, list[_Candidates]] = {}
    wanted: list[Kept] = []
    for pack in packs:
        rules = [compile_rule(pack, number) for number in range(len(pack.pack.spec.rules))]
        wanted.extend(kept for rule in rules for kept in memories(rule.rule.conditions))
        scope = _scope(pack)
        first_only = pack.pack.spec.evaluation_mode == "first_match"
        event_types: dict[EventType, None] = {}
        for rule in rules:
            event_types.update(dict.fromkeys(rule.triggers))
        for event_type in event_types:
            looking = tuple(
                (rule.triggers[event_type], rule) for rule in rules if event_type in rule.triggers
            )
            index.setdefault(event_type, []).append(_Candidates(scope, first_only, looking))
    return EvaluatorConfig(
        packs=(stamps := tuple(stamp_of(pack) for pack in packs)),
        packs_json="[" + ",".join(stamp.to_json().decode() for stamp in stamps) + "]",
        config_hash=content_hash(
            {"engine": ENGINE_VERSION, "packs": [pack.pack_hash for pack in packs]}
        ),
        index={event_type: tuple(each) for event_type, each in index.items()},
        history=HistoryPlan.of(wanted),
    )


def _order(pack_id: str) -> tuple[int, str]:
    known = PACK_ORDER.index(pack_id) if pack_id in PACK_ORDER else len(PACK_ORDER)
    return known, pack_id


def _refuse_doubles(packs: list[LoadedPack]) -> None:
    if not packs:
        raise PackError("no pack was given; nothing would be governed")
    packs_by_id: dict[str, LoadedPack] = {}
    packs_by_rule: dict[str, LoadedPack] = {}
    for pack in packs:
        pack_id = pack.pack.metadata.id
        if (other := packs_by_id.setdefault(pack_id, pack)) is not pack:
            raise pack.error(("metadata", "id"), f"{pack_id} is also the id of {other.source}")
        for number, rule in enumerate(pack.pack.spec.rules):
            if (other := packs_by_rule.setdefault(rule.id, pack)) is not pack:
                raise pack.error(
                    ("spec", "rules", number, "id"),
                    f"{rule.id} is also the id of a rule in {other.source}",
                )


def _scope(loaded: LoadedPack) -> _Scope | None:
    given = loaded.pack.metadata.applies_to
    scope = _Scope(*(_names(loaded, given, field) for field in AppliesTo.model_fields))
    return None if scope == _Scope(None, None, None, None) else scope


def _names(loaded: LoadedPack, given: AppliesTo, field: str) -> frozenset[str] | None:
    names: tuple[str, ...] | None = getattr(given, field)
    if names is None or names == (ANY,):
        return None
    if ANY in names:
        raise loaded.error(
            ("metadata", "applies_to", field), "has * beside names; * alone takes any"
        )
    return frozenset(names)
