"""The life of an episode: pending, active, frozen or sealed, archived; and the switch that halts all of them.

Nothing changes without somebody who says so and why. Engaging the kill-switch freezes every active episode, and until
it is released none can start or resume. Releasing it resumes none: each frozen episode is resumed by itself, by an
authority that is not its own actor.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lictor_contracts.action.judgement import is_somebody, one_person
from lictor_schema.seals.episode import EpisodeState


@dataclass(frozen=True, slots=True)
class Authority:
    """Who makes an entry, and why."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Opened:
    """An episode becomes known; it can only enter as pending."""

    episode_id: str
    actor: str
    """Whose decision it records."""
    authority: Authority


@dataclass(frozen=True, slots=True)
class Moved:
    """An episode should take another state."""

    episode_id: str
    to: EpisodeState
    authority: Authority


@dataclass(frozen=True, slots=True)
class HaltEpisodes:
    """Everything should halt."""

    authority: Authority


@dataclass(frozen=True, slots=True)
class AllowEpisodes:
    """Episodes may start and resume again."""

    authority: Authority


EpisodeEntry = Opened | Moved | HaltEpisodes | AllowEpisodes


@dataclass(frozen=True, slots=True)
class EpisodeStanding:
    """Where an episode stands, and who brought it there."""

    episode_id: str
    actor: str
    state: EpisodeState
    authority: Authority


@dataclass(frozen=True, slots=True)
class StepRefusal:
    """An entry that changed nothing."""

    entry: EpisodeEntry
    reason: str
    remedy: str
    legal: tuple[EpisodeState, ...] = ()
    """The states the episode could take instead."""


Step = EpisodeStanding | StepRefusal


@dataclass(frozen=True, slots=True)
class EpisodeLives:
    """All episodes, and the kill-switch.

    A step copies the map: for many episodes, keep the standings apart and use `advance`, which needs just one.
    """

    episodes: Mapping[str, EpisodeStanding] = field(default_factory=dict[str, EpisodeStanding])
    halted: Authority | None = None
    """Who engaged the kill-switch, while it is."""


def step(life: EpisodeLives, entry: EpisodeEntry) -> tuple[EpisodeLives, tuple[Step, ...]]:
    """The lives after one entry, and what it changed or why it did not."""
    if isinstance(entry, HaltEpisodes | AllowEpisodes):
        return _switched(life, entry)
    found = advance(life.episodes.get(entry.episode_id), entry, halted=life.halted)
    return (life if isinstance(found, StepRefusal) else _with(life, (found,))), (found,)


def fold(entries: Iterable[EpisodeEntry]) -> tuple[EpisodeLives, tuple[StepRefusal, ...]]:
    """The lives after all entries, and those that were refused."""
    life, refused = EpisodeLives(), list[StepRefusal]()
    for entry in entries:
        life, steps = step(life, entry)
        refused += (each for each in steps if isinstance(each, StepRefusal))
    return life, tuple(refused)


def advance(
    standing: EpisodeStanding | None, entry: Opened | Moved, *, halted: Authority | None
) -> EpisodeStanding | StepRefusal:
    """One episode after one entry; `standing` is None for an episode nobody knows."""
    refusal = _unsaid(entry)
    if refusal is not None:
        return refusal
    if isinstance(entry, Opened):
        return _opened(standing, entry)
    if standing is None:
        return StepRefusal(
            entry,
            f"{entry.episode_id} is not known",
            "open it first; it enters as pending",
            (EpisodeState.PENDING,),
        )
    legal = legal_next(standing.state, halted=halted)
    if not standing.state.may_become(entry.to):
        ways = ", ".join(each.value for each in legal) or "nothing"
        return StepRefusal(
            entry,
            f"{entry.episode_id} is {standing.state.value} and can't become {entry.to.value}",
            f"from there it can become {ways}",
            legal,
        )
    if entry.to not in legal and halted is not None:
        return StepRefusal(
            entry,
            f"the kill-switch is engaged by {halted.by}: {halted.reason}",
            "have it released first",
            legal,
        )
    if standing.state is EpisodeState.FROZEN and one_person(entry.authority.by, standing.actor):
        return StepRefusal(
            entry,
            f"{entry.authority.by} is the actor of {entry.episode_id}, and can't resume it",
            "have somebody else resume it",
            legal,
        )
    return replace(standing, state=entry.to, authority=entry.authority)


def legal_next(state: EpisodeState, *, halted: Authority | None) -> tuple[EpisodeState, ...]:
    """The states that may follow; while halted, none becomes active."""
    following = (each for each in EpisodeState if state.may_become(each))
    return tuple(each for each in following if halted is None or each is not EpisodeState.ACTIVE)


def _opened(standing: EpisodeStanding | None, entry: Opened) -> EpisodeStanding | StepRefusal:
    if not entry.episode_id.strip() or not is_somebody(entry.actor):
        return StepRefusal(entry, "the episode's id or actor is blank", "name both")
    if standing is not None:
        return StepRefusal(
            entry,
            f"{entry.episode_id} is known already, as {standing.state.value}",
            "open another, or move this one",
        )
    return EpisodeStanding(entry.episode_id, entry.actor, EpisodeState.PENDING, entry.authority)


def _switched(
    life: EpisodeLives, entry: HaltEpisodes | AllowEpisodes
) -> tuple[EpisodeLives, tuple[Step, ...]]:
    refusal = _unsaid(entry)
    if refusal is None and isinstance(entry, AllowEpisodes) and life.halted is None:
        refusal = StepRefusal(
            entry, "the kill-switch is not engaged", "there is nothing to release"
        )
    if refusal is not None:
        return life, (refusal,)
    if isinstance(entry, AllowEpisodes):
        return replace(life, halted=None), ()
    # Engaged again: the first to halt stays on record, and nothing is active that could be frozen.
    frozen = tuple(
        replace(each, state=EpisodeState.FROZEN, authority=entry.authority)
        for each in life.episodes.values()
        if each.state is EpisodeState.ACTIVE
    )
    return replace(_with(life, frozen), halted=life.halted or entry.authority), frozen


def _unsaid(entry: EpisodeEntry) -> StepRefusal | None:
    if not is_somebody(entry.authority.by):
        return StepRefusal(entry, "nobody stands for it", "say who orders it")
    if not entry.authority.reason.strip():
        return StepRefusal(entry, "no reason is given", "say why")
    return None


def _with(life: EpisodeLives, changed: Iterable[EpisodeStanding]) -> EpisodeLives:
    episodes = {**life.episodes, **{each.episode_id: each for each in changed}}
    return replace(life, episodes=MappingProxyType(episodes))
