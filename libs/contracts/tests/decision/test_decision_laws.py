"""Laws that hold whatever is asked, in whatever order, by whatever clock."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from libs.contracts.tests.decision_play import SPREAD, Play
from libs.contracts.tests.strategies_contracts import DTE_FIELDS, action, dte
from lictor_contracts.decision.state import fold_all
from lictor_contracts.drift.sightings import sightings
from lictor_schema.contracts.decision_log import parse_decision_entry
from lictor_schema.contracts.drift import DriftEvent
from lictor_schema.seals.episode import EpisodeState

FORBIDDEN = [
    action(actionId="f-1", idempotencyKey="f-1", blastRadiusTier="large"),
    action(actionId="f-2", idempotencyKey="f-2", actionType="wire"),
    action(actionId="f-3", idempotencyKey="f-3", authorization={"mode": "blocked"}),
    action(
        actionId="f-4",
        idempotencyKey="f-4",
        preconditions=[{"fact": "open", "operator": "equals", "value": True}],
    ),
]
ALLOWED = [action(), action(actionId="a-2", idempotencyKey="k-2", blastRadiusTier="medium")]
ENVELOPE = dte(deadlineMs=400, safeAction={**DTE_FIELDS["safeAction"], "blastRadiusMax": "medium"})

Step = Callable[[Play], Any]


def _steps() -> st.SearchStrategy[Step]:
    actions = st.sampled_from([*ALLOWED, *FORBIDDEN])
    stages = st.sampled_from(["context", "plan", "act", "verify"])
    people = st.sampled_from(["ada", "bob", "agent-7", "head-of-ops", ""])

    def hashed(play: Play, by: str) -> Any:
        known = [] if play.state is None else list(play.state.actions.values())
        return play.approve(by, known[-1].action_hash if known else None)

    return st.one_of(
        st.integers(-50, 200).map(lambda ms: lambda play: play.wait(ms)),
        st.just(lambda play: play.begin()),
        st.just(lambda play: play.capture("priceFeed")),
        st.just(lambda play: play.tell(what="spread_counted", **SPREAD)),
        stages.map(lambda stage: lambda play: play.tell(what="stage_begun", stage=stage)),
        stages.map(lambda stage: lambda play: play.tell(what="stage_ended", stage=stage)),
        actions.map(lambda each: lambda play: play.judge(each)),
        actions.map(lambda each: lambda play: play.dispatched(each)),
        actions.map(lambda each: lambda play: play.finished(each)),
        people.map(lambda by: lambda play: hashed(play, by)),
        people.map(lambda by: lambda play: play.approve(by, None)),
        people.map(lambda by: lambda play: play.freeze(by)),
        people.map(lambda by: lambda play: play.resume(by)),
        people.map(lambda by: lambda play: play.halt(by)),
        people.map(lambda by: lambda play: play.release(by)),
        st.just(lambda play: play.verify()),
        st.just(lambda play: play.tick()),
        st.just(lambda play: play.tell(what="decision_ended")),
        st.just(lambda play: play.state and play.close()),
    )


STORIES = st.lists(_steps(), max_size=25)


def played(story: list[Step]) -> Play:
    play = Play(ENVELOPE).ready()
    for step in story:
        step(play)
    return play


@given(STORIES)
def test_replaying_a_log_gives_the_same_decision(story: list[Step]) -> None:
    play = played(story)
    stored = [(sequence, entry.to_json()) for sequence, entry in play.log]
    replayed = fold_all((sequence, parse_decision_entry(body)) for sequence, body in stored)
    assert replayed == play.state


@given(STORIES)
def test_no_order_of_things_allows_what_the_envelope_forbids(story: list[Step]) -> None:
    play = played(story)
    forbidden = {each.action_id for each in FORBIDDEN}
    for _, entry in play.log:
        if entry.kind == "action_judged" and entry.contract.action_id in forbidden:
            assert entry.decision == "refuse"


@given(STORIES)
def test_nothing_is_allowed_while_frozen_after_the_deadline_or_after_the_end(
    story: list[Step],
) -> None:
    play = Play(ENVELOPE).ready()
    for step in story:
        step(play)
        state = play.state
        assert state is not None
        frozen = state.life(play.switch).state is EpisodeState.FROZEN
        late = state.elapsed_ms(play.now_us) > ENVELOPE.deadline_ms
        if frozen or late or not state.is_open:
            probe = action(actionId=f"p-{play.asked}", idempotencyKey=f"p-{play.asked}")
            assert play.judge(probe).decision == "deny"


@given(STORIES)
def test_times_never_go_back_and_ids_are_never_used_twice(story: list[Step]) -> None:
    play = played(story)
    times = [entry.at_us for _, entry in play.log]
    assert times == sorted(times)
    ids = [entry.entry_id for _, entry in play.log]
    assert len(set(ids)) == len(ids)


@given(STORIES)
def test_every_drift_is_an_event_and_its_id_is_that_of_its_cause(story: list[Step]) -> None:
    causes: dict[str, tuple[str, str]] = {}
    for _, entry in played(story).log:
        for event in sightings(entry):
            assert DriftEvent.from_json(event.to_json()) == event
            cause = (event.fingerprint.key, event.cause)
            assert causes.setdefault(event.drift_id, cause) == cause
            assert event.evidence_refs == (f"lictor:actions:{entry.entry_id}",)


@given(STORIES)
def test_no_success_is_told_that_a_mandatory_verification_did_not_pass(story: list[Step]) -> None:
    play = played([*story, lambda play: play.close()])
    assert play.state is not None
    closed = play.state.closed
    if closed is not None and closed.outcome == "success":
        assert not closed.verification.required or closed.verification.result == "pass"
        # What is sent after the end is no part of what was sealed; it is told as a bypass.
        kinds = [entry.kind for _, entry in play.log]
        at_its_end = fold_all(play.log[: kinds.index("decision_closed")])
        assert at_its_end is not None
        sent = [each for each in at_its_end.actions.values() if each.dispatches]
        assert all(each.outcome == "success" for each in sent)
        late = [entry for _, entry in play.log[kinds.index("decision_closed") :]]
        assert all(entry.problem for entry in late if entry.kind == "action_dispatched")
