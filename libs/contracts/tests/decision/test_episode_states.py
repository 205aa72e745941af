"""The life of an episode, and the switch that halts all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.decision.episode_states import (
    AllowEpisodes,
    Authority,
    EpisodeEntry,
    EpisodeLives,
    HaltEpisodes,
    Moved,
    Opened,
    StepRefusal,
    fold,
    legal_next,
    step,
)
from lictor_schema.seals.episode import EpisodeState

PENDING, ACTIVE, FROZEN = EpisodeState.PENDING, EpisodeState.ACTIVE, EpisodeState.FROZEN
SEALED, ARCHIVED = EpisodeState.SEALED, EpisodeState.ARCHIVED
OPS = Authority("ops", "as agreed")


def opened(episode: str = "e-1", actor: str = "agent-7") -> Opened:
    return Opened(episode, actor, OPS)


def moved(to: EpisodeState, episode: str = "e-1", by: Authority = OPS) -> Moved:
    return Moved(episode, to, by)


def state(*entries: EpisodeEntry, episode: str = "e-1") -> EpisodeState | None:
    standing = fold(entries)[0].episodes.get(episode)
    return None if standing is None else standing.state


def refused(*entries: EpisodeEntry) -> StepRefusal:
    """The refusal of the last entry; those before it went through."""
    _, refusals = fold(entries)
    (refusal,) = refusals
    assert refusal.entry is entries[-1]
    return refusal


def test_an_episode_lives_from_pending_to_archived() -> None:
    entries = [
        opened(),
        moved(ACTIVE),
        moved(FROZEN),
        moved(ACTIVE),
        moved(SEALED),
        moved(ARCHIVED),
    ]
    states = [state(*entries[: count + 1]) for count in range(len(entries))]
    assert states == [PENDING, ACTIVE, FROZEN, ACTIVE, SEALED, ARCHIVED]


@pytest.mark.parametrize("to", list(EpisodeState))
def test_an_episode_nobody_knows_can_only_be_opened(to: EpisodeState) -> None:
    refusal = refused(moved(to))
    assert refusal.reason == "e-1 is not known"
    assert refusal.legal == (PENDING,)


WAYS: dict[EpisodeState, list[EpisodeEntry]] = {
    PENDING: [opened()],
    ACTIVE: [opened(), moved(ACTIVE)],
    FROZEN: [opened(), moved(ACTIVE), moved(FROZEN)],
    SEALED: [opened(), moved(ACTIVE), moved(SEALED)],
    ARCHIVED: [opened(), moved(ACTIVE), moved(SEALED), moved(ARCHIVED)],
}


@pytest.mark.parametrize("to", list(EpisodeState))
@pytest.mark.parametrize("start", list(EpisodeState))
def test_only_legal_moves_are_made_and_the_others_name_the_legal_ones(
    start: EpisodeState, to: EpisodeState
) -> None:
    entries = [*WAYS[start], moved(to)]
    if start.may_become(to):
        assert state(*entries) is to
    else:
        refusal = refused(*entries)
        assert refusal.legal == legal_next(start, halted=None)
        for each in refusal.legal:
            assert each.value in refusal.remedy
        assert state(*entries) is start


def test_an_episode_is_opened_once_with_an_id_and_an_actor() -> None:
    assert refused(opened(), opened()).reason == "e-1 is known already, as pending"
    assert refused(opened(" ")).remedy == "name both"
    assert refused(opened(actor="")).remedy == "name both"


@pytest.mark.parametrize(
    ("authority", "remedy"),
    [
        (Authority("", "because"), "say who orders it"),
        (Authority("\u200b", "because"), "say who orders it"),
        (Authority("ops", " "), "say why"),
    ],
)
def test_nothing_happens_without_somebody_who_says_so_and_why(
    authority: Authority, remedy: str
) -> None:
    """Contract scenario 61: the kill-switch."""
    assert refused(Opened("e-1", "agent-7", authority)).remedy == remedy
    assert refused(opened(), moved(ACTIVE, by=authority)).remedy == remedy
    assert refused(HaltEpisodes(authority)).remedy == remedy
    assert refused(HaltEpisodes(OPS), AllowEpisodes(authority)).remedy == remedy


HALT = HaltEpisodes(Authority("duty", "runaway agent"))


def test_the_kill_switch_freezes_every_active_episode_and_no_other() -> None:
    life, refusals = fold(
        [
            *(opened(f"e-{number}") for number in range(1, 5)),
            *(moved(ACTIVE, f"e-{number}") for number in range(2, 5)),
            moved(SEALED, "e-4"),
            HALT,
        ]
    )
    assert refusals == ()
    states = [life.episodes[f"e-{number}"].state for number in range(1, 5)]
    assert states == [PENDING, FROZEN, FROZEN, SEALED]
    assert life.episodes["e-2"].authority == Authority("duty", "runaway agent")


def test_while_halted_nothing_pending_starts_and_nothing_frozen_resumes() -> None:
    """Contract scenario 61: the kill-switch."""
    refusal = refused(opened(), HALT, moved(ACTIVE))
    assert refusal.reason == "the kill-switch is engaged by duty: runaway agent"
    assert refusal.legal == ()
    assert state(opened(), HALT, moved(ACTIVE)) is PENDING
    assert refused(opened(), moved(ACTIVE), HALT, moved(ACTIVE)).remedy == "have it released first"


def test_while_halted_episodes_are_opened_and_archived_still() -> None:
    assert state(HALT, opened()) is PENDING
    assert state(opened(), moved(ACTIVE), moved(SEALED), HALT, moved(ARCHIVED)) is ARCHIVED


def test_releasing_the_switch_resumes_nothing_by_itself() -> None:
    entries: list[EpisodeEntry] = [opened(), moved(ACTIVE), HALT, AllowEpisodes(OPS)]
    assert state(*entries) is FROZEN
    assert state(*entries, moved(ACTIVE)) is ACTIVE


@pytest.mark.parametrize("own", ["agent-7", "Agent-7", " agent-7"])
def test_who_is_frozen_can_not_resume_himself(own: str) -> None:
    """Contract scenario 61: the kill-switch."""
    myself = moved(ACTIVE, by=Authority(own, "I am fine"))
    entries: list[EpisodeEntry] = [opened(), moved(ACTIVE), HALT, AllowEpisodes(OPS)]
    refusal = refused(*entries, myself)
    assert refusal.remedy == "have somebody else resume it"
    assert state(*entries, myself) is FROZEN


def test_a_resumed_episode_keeps_on_record_who_resumed_it_and_why() -> None:
    authority = Authority("ada", "checked by hand")
    life, _ = fold([opened(), moved(ACTIVE), moved(FROZEN), moved(ACTIVE, by=authority)])
    assert life.episodes["e-1"].authority == authority


def test_the_first_to_engage_the_switch_stays_on_record_and_only_an_engaged_one_is_released() -> (
    None
):
    life, refusals = fold([HALT, HaltEpisodes(OPS)])
    assert (life.halted, refusals) == (HALT.authority, ())
    assert refused(AllowEpisodes(OPS)).reason == "the kill-switch is not engaged"


AUTHORITIES = st.builds(
    Authority, st.sampled_from(["ops", "agent-7", ""]), st.sampled_from(["because", ""])
)
EPISODES = st.sampled_from(["e-1", "e-2", "e-3"])
ENTRIES: st.SearchStrategy[EpisodeEntry] = st.one_of(
    st.builds(Opened, EPISODES, st.just("agent-7"), AUTHORITIES),
    st.builds(Moved, EPISODES, st.sampled_from(EpisodeState), AUTHORITIES),
    st.builds(HaltEpisodes, AUTHORITIES),
    st.builds(AllowEpisodes, AUTHORITIES),
)


@given(st.lists(ENTRIES, max_size=40))
def test_every_change_is_legal_and_nothing_is_active_while_halted(
    entries: list[EpisodeEntry],
) -> None:
    life = EpisodeLives()
    for entry in entries:
        before = life
        life, steps = step(life, entry)
        if any(isinstance(each, StepRefusal) for each in steps):
            assert life == before
        for name, standing in life.episodes.items():
            known = before.episodes.get(name)
            if known is None:
                assert standing.state is PENDING
            elif known != standing:
                assert known.state.may_become(standing.state)
                assert standing.authority.by
                assert standing.authority.reason
                if known.state is FROZEN:
                    assert standing.authority.by != standing.actor
            if life.halted is not None:
                assert standing.state is not ACTIVE
