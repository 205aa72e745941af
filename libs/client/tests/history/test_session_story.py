"""What a session's log says about it, in short."""

from datetime import UTC, datetime
from typing import Any

from asked_play import AskedPlay

from lictor.history.session_story import Overview, told
from lictor_schema.core.base_model import utc_millis
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_log import FeedbackDelivered, FeedbackRaised

SHARED: dict[str, Any] = {
    "entry_id": "0b1c3a52-7f0b-4a7e-9a70-6f3f0f0f9a11",
    "at_us": 1_800_000_000_000_000,
    "runtime": "sdk",
    "session_id": "s",
    "task_id": "t",
    "agent_id": "a",
    "definition_hash": f"sha256:{'0' * 64}",
}


def said(summary: str, number: int) -> StampedFeedback:
    return StampedFeedback(
        provider="time",
        summary=summary,
        feedback_id=f"0b1c3a52-7f0b-4a7e-9a70-6f3f0f0f9a{number}",
        raised_at=utc_millis(datetime(2027, 1, 15, tzinfo=UTC)),
        call_index=0,
        trigger="seconds",
        definition="coder",
    )


def test_what_was_heard_in_other_words_or_withdrawn_waits_no_more() -> None:
    overview = Overview()
    for number, summary in enumerate(("17 seconds left", "12 seconds left"), 11):
        raised = FeedbackRaised(kind="feedback_raised", feedback=(said(summary, number),), **SHARED)
        overview.add(raised)
    assert [each.summary for each in overview.waiting.values()] == ["12 seconds left"]
    heard = FeedbackDelivered(
        kind="feedback_delivered",
        call_id="c",
        feedback=(said("6 seconds left", 13),),
        withdrawn=("progress",),
        **SHARED,
    )
    overview.add(heard)
    assert not overview.waiting
    assert told(heard) == "hears time: 6 seconds left; progress has nothing to say any more"


def test_a_call_waits_for_people_until_the_session_knows_what_they_said() -> None:
    play = AskedPlay()
    overview = Overview()
    play.pay()
    play.approve()
    play.check("pay", "other", params={"amount": 1})
    first, second = play.requests
    for _, entry in play.log:
        overview.add(entry)
    assert list(overview.asked) == [first.request_id, second.request_id]
    assert told(play.log[1][1]).startswith(
        f"waits for people to call pay (request {first.request_id}, until "
    )
    play.pay("c1")
    overview.add(play.log[-1][1])
    assert told(play.log[-1][1]) == f"may call pay, as people approved (request {first.request_id})"
    play.cancel(second.request_id)
    overview.add(play.log[-1][1])
    assert not overview.asked
    assert (
        told(play.log[-1][1]) == f"waits no more for request {second.request_id}: it is not needed"
    )
