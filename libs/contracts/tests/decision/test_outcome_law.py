"""The law: an episode's outcome is never better than its log; what that shows is read from its entries alone."""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from libs.contracts.tests.decision_play import SPREAD, Play
from libs.contracts.tests.strategies_contracts import DTE_FIELDS, action, dte
from lictor_contracts.decision.outcome import final_rung, not_done, why
from lictor_contracts.decision.state import fold_all
from lictor_schema.contracts.decision_log import ActionJudged, AnyDecisionEntry, DecisionClosed
from lictor_schema.seals.episode import OutcomeCode

SUCCESS, PARTIAL, FAIL, ABSTAIN, BYPASSED = OutcomeCode
# What failed and what abstained both did not do what was meant; the law does not order the two.
RANK = {SUCCESS: 0, PARTIAL: 1, ABSTAIN: 2, FAIL: 2, BYPASSED: 3}
ENVELOPE = dte(
    deadlineMs=400,
    safeAction={
        **DTE_FIELDS["safeAction"],
        "blastRadiusMax": "medium",
        "requireIdempotency": False,
    },
)
ACTIONS = [
    action(),
    action(actionId="a-2"),
    action(actionId="a-3", idempotencyKey="k-3", blastRadiusTier="medium"),
    action(actionId="a-4", idempotencyKey=None),
    action(actionId="a-5", idempotencyKey="k-5", authorization={"mode": "hitl"}),
    action(actionId="a-6", idempotencyKey="k-1", actionType="note"),
    action(actionId="f-1", idempotencyKey="f-1", blastRadiusTier="large"),
    action(actionId="f-2", idempotencyKey="f-2", actionType="wire"),
    action(actionId="f-3", idempotencyKey="f-3", authorization={"mode": "blocked"}),
    action(
        actionId="f-4",
        idempotencyKey="f-4",
        preconditions=[{"fact": "open", "operator": "equals", "value": True}],
    ),
    action(
        actionId="f-5",
        idempotencyKey="f-5",
        blastRadiusTier="medium",
        rollbackPlan={"type": "none"},
    ),
]
_MOST_CALLS = ENVELOPE.limits.max_tool_calls
Step = Callable[[Play], Any]


def _approve(play: Play) -> Any:
    known = [] if play.state is None else list(play.state.actions.values())
    return known and play.approve("ada", known[-1].action_hash)


def _stories() -> st.SearchStrategy[list[Step]]:
    """Actions that are carried out, mostly well, and then whatever else may happen."""
    actions = st.sampled_from(ACTIONS)
    ends = st.sampled_from(["success", "success", "partial", "fail"])
    effects = st.dictionaries(st.sampled_from(["amount", "status"]), st.integers(0, 2), max_size=2)
    values = st.sampled_from([1, 1, 2, None])

    def finish(each: Any, outcome: str, expected: Any, observed: Any) -> Step:
        fields = {"outcome": outcome, "expected": expected, "observed": observed}
        return lambda play: play.finished(each, **fields)

    def verify(each: Any, name: str, value: Any, took_ms: int) -> Step:
        state = None if value is None else {name: value}
        return lambda play: play.verify(
            action_id=each.action_id, expectation={name: 1}, observed=state, took_ms=took_ms
        )

    checks = st.tuples(st.sampled_from(["a", "b"]), values, st.sampled_from([1, 1, 9]))

    def carry_out(each: Any, outcome: str, expected: Any, observed: Any, found: Any) -> Step:
        def steps(play: Play) -> None:
            play.judge(each)
            play.dispatched(each)
            finish(each, outcome, expected, observed)(play)
            for name, value, took_ms in found:
                verify(each, name, value, took_ms)(play)

        return steps

    carried_out = st.builds(
        carry_out,
        st.sampled_from(ACTIONS[:4]),
        st.sampled_from(["success"] * 4 + ["partial"]),
        effects,
        effects,
        st.lists(checks, max_size=3),
    )
    anything = st.one_of(
        st.integers(0, 60).map(lambda ms: lambda play: play.wait(ms)),
        st.just(lambda play: play.capture("priceFeed")),
        st.sampled_from(["context", "plan", "act", "verify"]).map(
            lambda stage: lambda play: play.stage(stage, 11)
        ),
        st.integers(2, 5).map(
            lambda hops: lambda play: play.tell(what="spread_counted", **{**SPREAD, "hops": hops})
        ),
        actions.map(lambda each: lambda play: play.judge(each)),
        actions.map(lambda each: lambda play: play.judge(each, calls_seen=11)),
        actions.map(lambda each: lambda play: (play.judge(each), play.dispatched(each))),
        actions.map(lambda each: lambda play: play.dispatched(each)),
        st.builds(finish, actions, ends, effects, effects),
        st.builds(verify, actions, st.sampled_from(["a", "b"]), values, st.sampled_from([1, 9])),
        st.just(_approve),
        st.just(lambda play: play.approve("head-of-ops", None)),
        st.just(lambda play: play.tick()),
    )
    return st.builds(
        list.__add__, st.lists(carried_out, max_size=2), st.lists(anything, max_size=4)
    ) | st.lists(anything, max_size=8)


STORIES = _stories()


def played(
    story: list[Step], claimed: OutcomeCode, calls_seen: int = 0
) -> tuple[Play, DecisionClosed]:
    play = Play(ENVELOPE)
    play.begin()
    play.capture("priceFeed")
    play.tell(what="spread_counted", **SPREAD)
    for step in story:
        step(play)
    assert play.close(claimed, calls_seen=calls_seen).ok
    end = play.log[-1][1]
    assert isinstance(end, DecisionClosed)
    return play, end


def shown(entries: list[AnyDecisionEntry]) -> Iterator[tuple[str, OutcomeCode]]:
    """What entries show, and the best that each leaves: nothing here is taken from the fold that decides."""
    judged = {e.contract.action_id: e for e in entries if e.kind == "action_judged"}
    sent = {e.action_id for e in entries if e.kind == "action_dispatched" and e.action_id in judged}
    keys = {judged[name].contract.idempotency_key for name in sent}
    found = {
        (e.action_id, e.check_hash): e.verification.result
        for e in entries
        if e.kind == "action_verified"
    }
    for e in entries:
        if e.kind == "action_dispatched" and e.problem is not None:
            yield "sent without an allowance", BYPASSED
        if e.kind == "stage_ended" and e.took_ms > e.budget_ms:
            yield "a stage over its budget", PARTIAL
        if e.kind == "spread_counted" and e.violations:
            yield "a limit exceeded", PARTIAL
        if isinstance(e, ActionJudged | DecisionClosed) and e.calls_seen > _MOST_CALLS:
            yield "more tool calls than allowed", PARTIAL
        if e.kind == "deadline_passed":
            yield "late", ABSTAIN
        if e.kind == "action_finished":
            if e.outcome != "success":
                yield "ended badly", OutcomeCode(e.outcome)
            if any(name in e.observed and e.observed[name] != v for name, v in e.expected.items()):
                yield "observed is not expected", FAIL
            if any(name not in e.observed for name in e.expected):
                yield "expected and not observed", PARTIAL
    for result in found.values():
        if result == "fail":
            yield "a verification failed", FAIL
        elif result == "inconclusive":
            yield "a verification was inconclusive", PARTIAL
    finished = {e.action_id for e in entries if e.kind == "action_finished"}
    verified = {name for name, _ in found}
    for name in sent:
        if name not in finished:
            yield "sent and never heard of", PARTIAL
        if judged[name].contract.blast_radius_tier == "medium" and name not in verified:
            yield "not verified", PARTIAL
    for name, e in judged.items():
        key = e.contract.idempotency_key
        if name not in sent and (e.standing == "conflict" or key is None or key not in keys):
            yield "asked for and not done", PARTIAL if sent else ABSTAIN


@settings(max_examples=300)
@given(STORIES, st.sampled_from([SUCCESS, *OutcomeCode]), st.sampled_from([0, 10, 11]))
def test_an_episode_s_outcome_is_never_better_than_its_log(
    story: list[Step], claimed: OutcomeCode, calls_seen: int
) -> None:
    play, end = played(story, claimed, calls_seen)
    signs = [*shown([entry for _, entry in play.log]), ("what the records claim", claimed)]
    for what, best in signs:
        assert RANK[end.outcome] >= RANK[best], (what, best, end.outcome)


@given(STORIES, st.sampled_from([SUCCESS, FAIL]))
def test_what_failed_after_it_was_sent_is_never_told_as_abstained(
    story: list[Step], claimed: OutcomeCode
) -> None:
    play, end = played(story, claimed)
    kinds = {"ended badly", "observed is not expected", "a verification failed"}
    seen = [best for what, best in shown([entry for _, entry in play.log]) if what in kinds]
    if FAIL in seen:
        assert end.outcome in (FAIL, BYPASSED)


@given(STORIES)
def test_every_action_that_was_asked_for_was_sent_or_is_told_with_its_reason(
    story: list[Step],
) -> None:
    play, end = played(story, SUCCESS)
    state = fold_all(play.log)
    assert state is not None
    keys = {each.contract.idempotency_key for each in state.actions.values() if each.dispatches}
    missing = not_done(state)
    told = {each.action.contract.action_id for each in missing}
    for _, entry in play.log:
        if entry.kind != "action_judged" or entry.contract.action_id in told:
            continue
        known = state.actions[entry.contract.action_id]
        assert known.dispatches or entry.contract.idempotency_key in keys
    words = why(state, final_rung(state, end.at_us), end.verification, end.at_us)
    dispatched = any(entry.kind == "action_dispatched" for _, entry in play.log)
    assert words.startswith("nothing was done") is not dispatched
    assert all(each.reason in words for each in missing[:8])
