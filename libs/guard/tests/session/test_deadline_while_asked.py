"""How long the deadline stands still, however many requests wait, and however late it is heard that they don't."""

from asked_play import MONEY, AskedPlay

from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import from_micros

DAY_S = 86_400


def test_requests_one_after_the_other_do_not_put_the_deadline_off_for_ever() -> None:
    play = AskedPlay({**MONEY, "max_waiting": 8}, deadline_s=3600)
    last = play.check("look")
    for day in range(10):
        play.pay(params={"amount": 1000 + day})
        play.passing(DAY_S - 60)
        last = play.check("look")
    assert last.denials[0].policy_id == "lictor.deadline"


def test_nor_does_asking_anew_after_a_request_is_cancelled() -> None:
    play = AskedPlay(deadline_s=3600)
    for _ in range(3):
        if play.pay().decision == "ask":
            play.passing(DAY_S - 60)
            play.cancel(play.requests[-1].request_id)
    # Together it has stood still for as long as people had for one request.
    play.passing(3600 - 3 * 60)
    assert play.check("look").policy_id == "lictor.deadline"


def test_the_deadline_stands_still_for_as_long_as_people_have_for_one_request() -> None:
    play = AskedPlay({**MONEY, "decide_within_s": 100}, deadline_s=200)
    play.pay(params={"amount": 1})
    play.passing(60)
    play.pay(params={"amount": 2})
    play.passing(239)
    assert play.check("look").decision == "allow"
    play.passing(1)
    assert play.check("look").policy_id == "lictor.deadline"


def test_a_request_made_later_does_not_hide_that_the_one_before_was_settled_long_ago() -> None:
    play = AskedPlay(deadline_s=3600)
    play.pay("c1")
    decided = utc_millis(from_micros(play.now_us + 1_000_000))
    play.approve(seconds=DAY_S, settled_at=decided)
    play.passing(50_000)
    play.pay(params={"amount": 2})
    play.cancel(play.requests[1].request_id)
    assert play.pay("c1").decision == "allow"
    assert play.check("look").policy_id == "lictor.deadline"
