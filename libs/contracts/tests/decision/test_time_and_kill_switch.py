"""Time that runs out by itself, decisions that are stopped, and the switch that stops all of them."""

import pytest

from libs.contracts.tests.decision_play import Play
from libs.contracts.tests.strategies_contracts import MS, NOW, action, dte
from lictor_contracts.decision import kill_switch
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.seals.episode import EpisodeState, OutcomeCode


def test_the_timer_is_set_for_the_first_moment_over_the_deadline() -> None:
    play = Play()
    play.begin()
    assert play.log[-1][1].next_due_us == NOW + 120 * MS + 1  # type: ignore[union-attr]


def test_the_deadline_is_told_once_and_then_abstains() -> None:
    play = Play().ready()
    play.wait(120)
    play.tick()
    assert all(entry.kind != "deadline_passed" for _, entry in play.log)
    play.wait(0.001)
    play.tick()
    play.tick()
    told = [entry for _, entry in play.log if entry.kind == "deadline_passed"]
    assert len(told) == 1
    assert told[0].next_due_us is None  # type: ignore[union-attr]
    assert ("time", "deadline exceeded", "red") in play.causes
    assert play.judge().decision == "deny"
    play.close()
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.ABSTAIN


def test_a_late_end_abstains_also_when_no_timer_rang() -> None:
    play = Play().ready()
    play.wait(121)
    play.tell(what="decision_ended")
    play.close()
    assert play.state is not None
    assert play.state.closed is not None
    assert play.state.closed.outcome is OutcomeCode.ABSTAIN
    assert {cause for kind, cause, _ in play.causes if kind == "time"} == {"deadline exceeded"}
    assert len({each.drift_id for each in play.drift if each.drift_type == "time"}) == 1


def test_a_stage_over_its_budget_is_told_once_and_the_deadline_comes_after_it() -> None:
    play = Play().ready()
    play.tell(what="stage_begun", stage="plan")
    began = play.now_us
    assert play.state is not None
    assert play.state.due_us() == began + 40 * MS + 1
    play.wait(40)
    play.tick()
    assert play.log[-1][1].kind == "stage_begun"
    play.wait(0.001)
    play.tick()
    play.tick()
    entry = play.log[-1][1]
    assert entry.kind == "stage_overrun"
    assert entry.rung.step is DegradeStep.CACHE_BUNDLE
    assert entry.next_due_us == NOW + 120 * MS + 1
    assert ("time", "stage plan over its budget", "yellow") in play.causes
    play.tell(what="stage_ended", stage="plan")
    assert len({each.drift_id for each in play.drift if "plan" in each.cause}) == 1


def test_an_early_tick_and_one_after_the_end_change_nothing() -> None:
    play = Play()
    play.tick()
    play.ready()
    before = len(play.log)
    play.tick()
    play.tell(what="decision_ended")
    play.wait(1000)
    play.tick()
    assert len(play.log) == before + 1


def test_a_clock_that_goes_back_gives_no_time_back() -> None:
    play = Play().ready()
    play.wait(121)
    play.tell(what="spread_counted", hops=1, fanout=1, tool_calls=1, chain_depth=1)
    play.wait(-100)
    answer = play.judge()
    assert answer.decision == "deny"
    times = [entry.at_us for _, entry in play.log]
    assert times == sorted(times)


def test_a_frozen_decision_may_do_nothing_and_what_it_does_is_a_bypass() -> None:
    play = Play().ready()
    play.judge()
    assert play.freeze("ada").ok
    other = play.judge(action(actionId="a-2", idempotencyKey="k-2"))
    assert (other.decision, other.policy_id) == ("deny", "lictor.contract.frozen")
    assert not play.tell(what="stage_begun", stage="act").ok
    assert not play.capture("priceFeed").ok
    assert "while frozen" in play.dispatched().reason
    assert play.judge(request_id="q-4").decision == "deny", "also the answer that was an allowance"
    assert not play.close().ok


def test_resuming_needs_an_authority_that_is_not_the_actor() -> None:
    play = Play().ready()
    play.freeze()
    for by, reason in (("agent-7", "mine"), (" Agent-7", "mine"), ("", "x"), ("ada", " ")):
        assert not play.resume(by, reason).ok
    assert play.resume("ada", "looked at").ok
    resumed = play.log[-1][1]
    assert (resumed.kind, resumed.by, resumed.reason) == ("decision_resumed", "ada", "looked at")  # type: ignore[union-attr]
    assert play.judge().decision == "allow"
    assert not play.resume().ok


def test_the_switch_freezes_what_is_active_and_nothing_begins() -> None:
    play = Play().ready()
    assert play.halt().ok
    assert play.state is not None
    assert play.state.life(play.switch).state is EpisodeState.FROZEN
    assert play.judge().policy_id == "lictor.contract.frozen"
    assert not play.resume("bob").ok
    assert not play.close().ok
    pending = Play(switch=play.switch)
    assert pending.begin().policy_id == "lictor.contract.halted"
    assert play.release("bob").ok
    assert pending.state is None
    pending.switch = play.switch
    assert pending.begin().ok
    assert play.judge().policy_id == "lictor.contract.frozen", "a release resumes nobody"
    assert play.resume("bob").ok
    assert play.judge().decision == "allow"


def test_a_decision_that_began_after_the_switch_was_released_is_not_frozen() -> None:
    play = Play()
    play.halt()
    play.release()
    play.ready()
    assert play.judge().decision == "allow"


def test_what_began_in_the_moment_the_switch_was_engaged_is_frozen_too() -> None:
    play = Play()
    unaware = play.switch
    play.halt()
    engaged, play.switch = play.switch, unaware
    play.ready()
    play.switch = engaged
    assert play.judge().policy_id == "lictor.contract.frozen"
    play.release()
    assert play.judge().policy_id == "lictor.contract.frozen"
    play.resume("bob")
    assert play.judge().decision == "allow"


def test_the_switch_engaged_again_freezes_what_was_resumed() -> None:
    play = Play().ready()
    play.halt()
    play.release()
    play.resume("bob")
    play.halt("cy", "again")
    assert play.judge().policy_id == "lictor.contract.frozen"
    assert play.switch.halted is not None
    assert play.switch.halted.by == "cy"


@pytest.mark.parametrize(("by", "reason"), [("", "x"), ("  ", "x"), ("ada", ""), ("ada", "  ")])
def test_nobody_and_no_reason_move_nothing(by: str, reason: str) -> None:
    play = Play()
    assert not play.halt(by, reason).ok
    play.halt()
    assert not play.release(by, reason).ok
    assert play.switch.halted is not None


def test_a_switch_that_is_not_engaged_can_t_be_released() -> None:
    assert not Play().release().ok


def test_an_envelope_of_many_lifetimes_sets_no_timer() -> None:
    play = Play(dte(deadlineMs=2**53 - 1))
    answer = play.begin()
    assert answer.ok
    assert play.log[-1][1].next_due_us is None  # type: ignore[union-attr]


def test_the_id_of_a_release_engages_nothing_and_is_not_taken_for_done() -> None:
    """Who is told that everything halts must be able to rely on it."""
    play = Play().ready()
    play.halt()
    play.release()
    used = f"q-{play.asked}"
    again = kill_switch.halt(
        play.switch, request_id=used, by="ada", reason="fire", now_us=play.now_us, after=9
    )
    assert (again.entry, again.answer.ok) == (None, False)


def test_an_order_of_nobody_who_can_be_seen_is_refused() -> None:
    play = Play().ready()
    assert not play.halt("\u200b").ok
    allowed = play.judge(action(authorization={"mode": "hitl"}))
    assert play.approve("\u200b", allowed.action_hash).policy_id == "lictor.contract.nobody"
