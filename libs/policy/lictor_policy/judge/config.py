"""The configuration in force: packs in their documented order, indexed by event type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lictor_policy.conditions.compiled_condition import session_questions
from lictor_policy.conditions.session_conditions import SessionPlan
from lictor_policy.conditions.temporal_conditions import memories
from lictor_policy.decisions.capabilities import read_capabilities
from lictor_policy.errors import PackError, gathered
from lictor_policy.events.content import claim_type_of
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.rule_matching import Candidates, Lanes, lanes_of
from lictor_policy.packs.envelopes import Governed, governed_by
from lictor_policy.packs.files import PACK_FILE, DirectoryFiles, PackFiles
from lictor_policy.packs.overlays import apply_overlays, read_overlays
from lictor_policy.packs.pack import LoadedPack, PackReader
from lictor_policy.rules.compiled_rule import NO_CAPABILITIES, CompiledRule, compile_rule, stamp_of
from lictor_policy.rules.scope import TaskScope, scope_of
from lictor_policy.rules.suppression import CompiledWindow, compile_windows, read_windows
from lictor_policy.task.history import HistoryPlan
from lictor_policy.task.state import TaskState
from lictor_policy.version import ENGINE_VERSION
from lictor_schema.core.base_model import MAX_ITEMS
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.decisions.adapter_capabilities import AdapterCapabilities
from lictor_schema.decisions.decision import PackStamp, ProfileStamp
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType

__all__ = [
    "PACK_FILE",
    "PACK_ORDER",
    "EvaluatorConfig",
    "build_config",
    "compile_files",
    "load_config",
]

PACK_ORDER = (
    "no-silence",
    "mandatory-checkpoint-structure",
    "no-fake-progress",
    "verified-completion-only",
)
"""Visibility first, then structure, then truth of progress, then closure; others by name after."""


@dataclass(frozen=True, slots=True)
class EvaluatorConfig:
    """Packs compiled and named by their content."""

    packs: tuple[PackStamp, ...]
    packs_json: str
    """The stamps as they stand in records."""
    profiles: tuple[ProfileStamp, ...]
    """What changed the packs, in this order."""
    profiles_json: str
    config_hash: str
    rules: tuple[CompiledRule, ...]
    """Every rule, in the order of packs and then as written."""
    index: dict[EventType, tuple[Candidates, ...]]
    lanes: Lanes
    """The same, as an event is judged."""
    history: HistoryPlan
    """What the conditions need to have remembered."""
    sessions: SessionPlan
    """What they ask about whole sessions."""
    plain: bool
    """Whether every rule counts whenever it fires, and counts the same each time."""
    repeating: frozenset[str]
    """The rules whose matches are counted."""
    capabilities: Mapping[str, AdapterCapabilities]
    """What runtimes can do, by name; of one that isn't here nothing is known."""
    envelopes: Mapping[str, Governed]
    """What governs decisions, by their type."""
    records_first: bool
    """Whether a pack wants every answer of a gate on record before it is given."""

    def matches(
        self, state: TaskState, event: Event, position: EventPosition
    ) -> list[CompiledRule]:
        """Every rule that fires, in pack order; also those that only record."""
        looking = self.lanes.get(event.event_type)
        matched: list[CompiledRule] = []
        if looking is None:
            return matched
        for scope, first_only, rules in looking[claim_type_of(event)]:
            if scope is not None and not scope.takes(state):
                continue
            for holds, rule in rules:
                if holds(state, event, position):
                    matched.append(rule)
                    # A rule that doesn't count must not stand before one that does.
                    if first_only and not rule.is_quiet(state, position):
                        break
        return matched


def load_config(
    directory: Path, pack_ids: Sequence[str] | None = None, profiles: Sequence[str] = ()
) -> EvaluatorConfig:
    """Load the packs of a directory, or only those named, as the profiles want them."""
    if not directory.is_dir():
        raise PackError(f"{directory}: is not a directory; point it at the policy packs")
    return compile_files(DirectoryFiles(directory), pack_ids, profiles)


def compile_files(
    files: PackFiles, pack_ids: Sequence[str] | None = None, profiles: Sequence[str] = ()
) -> EvaluatorConfig:
    """Load packs from wherever they are."""
    present = files.pack_ids()
    wanted = present if pack_ids is None else list(pack_ids)
    root = files.said("").rstrip("/")
    if not wanted:
        raise PackError(f"{root}: holds no <pack-id>/{PACK_FILE}; nothing would be governed")
    doubled = sorted({name for name in wanted if wanted.count(name) > 1})
    if doubled:
        raise PackError(f"{root}: pack {doubled[0]} is named twice; name it once")
    for name in wanted:
        if name not in present:
            raise PackError(
                f"{root}: has no pack {name}; there are: {', '.join(present) or 'none'}"
            )
    reader = PackReader(files)
    overlays, windows = read_overlays(files, profiles), read_windows(files)
    runtimes = read_capabilities(files)
    capabilities = {each.model.runtime.name: each.model for each in runtimes}
    settings: dict[str, object] = {}
    if runtimes:
        settings["runtimes"] = [each.content_hash for each in runtimes]
    packs = gathered(wanted, reader.pack)
    if not overlays and not windows:
        return build_config(packs, settings=settings, capabilities=capabilities)
    # What isn't in force can be named all the same: a profile is written for all packs there are.
    known = {name: [rule.id for rule in reader.pack(name).pack.spec.rules] for name in present}
    changed = apply_overlays(packs, overlays, known)
    if _has_rules(packs) and not _has_rules(changed):
        raise PackError("every rule is switched off; leave at least one on")
    return build_config(
        changed,
        compile_windows(windows, known),
        {
            **settings,
            "profiles": [each.content_hash for each in overlays],
            "windows": [each.content_hash for each in windows],
        },
        capabilities,
        tuple(
            ProfileStamp(profile_id=each.model.metadata.id, profile_hash=each.content_hash)
            for each in overlays
        ),
    )


def build_config(
    loaded: Iterable[LoadedPack],
    windows: Sequence[CompiledWindow] = (),
    settings: Mapping[str, object] | None = None,
    capabilities: Mapping[str, AdapterCapabilities] = NO_CAPABILITIES,
    profiles: tuple[ProfileStamp, ...] = (),
) -> EvaluatorConfig:
    """Compile packs that were read; `settings` is what else the configuration's hash covers."""
    packs = sorted(loaded, key=lambda each: _order(each.pack.metadata.id))
    _refuse_doubles(packs)
    envelopes = governed_by(packs)
    if not envelopes and not _has_rules(packs):
        raise PackError("there is neither a rule nor an envelope; nothing would be governed")
    compiled = gathered(packs, lambda pack: _compile_pack(pack, windows, capabilities))
    index: dict[EventType, list[Candidates]] = {}
    for (scope, rules), pack in zip(compiled, packs, strict=True):
        first_only = pack.pack.spec.evaluation_mode == "first_match"
        event_types: dict[EventType, None] = {}
        for rule in rules:
            event_types.update(dict.fromkeys(rule.triggers))
        for event_type in event_types:
            looking = tuple(
                (rule.triggers[event_type], rule) for rule in rules if event_type in rule.triggers
            )
            index.setdefault(event_type, []).append(Candidates(scope, first_only, looking))
    _refuse_too_many(packs, index)
    everything = [rule for _, rules in compiled for rule in rules]
    return EvaluatorConfig(
        packs=(stamps := tuple(stamp_of(pack) for pack in packs)),
        packs_json=_array(stamps),
        profiles=profiles,
        profiles_json=_array(profiles),
        config_hash=content_hash(
            {
                "engine": ENGINE_VERSION,
                "packs": [pack.pack_hash for pack in packs],
                **(settings or {}),
            }
        ),
        rules=tuple(everything),
        index={event_type: tuple(each) for event_type, each in index.items()},
        lanes=lanes_of(index),
        history=HistoryPlan.of(
            kept for rule in everything for kept in memories(rule.rule.conditions)
        ),
        sessions=SessionPlan.of(
            each for rule in everything for each in session_questions(rule.rule.conditions)
        ),
        plain=not any(rule.shadow or rule.windows or rule.repeated for rule in everything),
        repeating=frozenset(rule.rule.id for rule in everything if rule.repeated),
        capabilities=capabilities,
        envelopes=envelopes,
        records_first=any(pack.pack.spec.gate_records == "required" for pack in packs),
    )


def _has_rules(packs: Iterable[LoadedPack]) -> bool:
    return any(pack.pack.spec.rules for pack in packs)


def _compile_pack(
    pack: LoadedPack,
    windows: Sequence[CompiledWindow],
    capabilities: Mapping[str, AdapterCapabilities],
) -> tuple[TaskScope | None, list[CompiledRule]]:
    def one(number: int) -> CompiledRule:
        rule_id = pack.pack.spec.rules[number].id
        about = tuple(each for each in windows if each.names(pack.pack.metadata.id, rule_id))
        return compile_rule(pack, number, about, capabilities)

    scope = scope_of(pack.pack.metadata.applies_to, ("metadata", "applies_to"), pack.error)
    return scope, gathered(range(len(pack.pack.spec.rules)), one)


def _array(stamps: Iterable[PackStamp | ProfileStamp]) -> str:
    return "[" + ",".join(stamp.to_json().decode() for stamp in stamps) + "]"


def _order(pack_id: str) -> tuple[int, str]:
    known = PACK_ORDER.index(pack_id) if pack_id in PACK_ORDER else len(PACK_ORDER)
    return known, pack_id


def _refuse_doubles(packs: list[LoadedPack]) -> None:
    if not packs:
        raise PackError("no pack was given; nothing would be governed")
    packs_by_id: dict[str, LoadedPack] = {}
    owners: dict[str, tuple[str, LoadedPack]] = {}
    for pack in packs:
        pack_id = pack.pack.metadata.id
        if (other := packs_by_id.setdefault(pack_id, pack)) is not pack:
            raise pack.error(("metadata", "id"), f"{pack_id} is also the id of {other.source}")
        for rule, origin in zip(pack.pack.spec.rules, pack.origins, strict=True):
            # A rule that one pack inherits from another stands in both; the strictest wins.
            owner, other = owners.setdefault(rule.id, (origin.owner, pack))
            if owner != origin.owner:
                raise origin.error(("id",), f"{rule.id} is also the id of a rule in {other.source}")


def _refuse_too_many(packs: list[LoadedPack], index: Mapping[EventType, list[Candidates]]) -> None:
    """A record lists every pack and every rule that fired, and its lists are bounded."""
    if len(packs) > MAX_ITEMS:
        raise PackError(f"there are {len(packs)} packs; the limit is {MAX_ITEMS}")
    for event_type, looking in index.items():
        count = sum(len(candidates.rules) for candidates in looking)
        if count > MAX_ITEMS:
            raise PackError(f"{count} rules look at {event_type}; the limit is {MAX_ITEMS}")
        # A decision lists the actions of every rule that fired, also those that the decision supersedes.
        actions = {
            act.to_json()
            for candidates in looking
            for _, rule in candidates.rules
            for each in (rule, rule.repeated or rule)
            for act in each.rule.decision_output.required_actions
        }
        if 2 * len(actions) > MAX_ITEMS:
            raise PackError(
                f"the rules that look at {event_type} require {len(actions)} different actions; the"
                f" limit is {MAX_ITEMS // 2}"
            )
