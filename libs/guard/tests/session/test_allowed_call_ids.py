"""Call ids that people allowed a call under: each is one call, made once, counted once."""

import pytest
from asked_play import LARGE, MONEY, AskedPlay, file
from rehearsed_session import Scripted

from lictor_guard.plugins.tool_policy import PolicyDecision


@pytest.mark.parametrize(("good_for", "later"), [(600, 60), (30, 30)])
def test_a_lost_answer_is_given_again_only_for_a_minute_and_while_the_approval_is_good(
    good_for, later
) -> None:
    play = AskedPlay()
    play.pay("c1")
    play.approve(seconds=good_for)
    assert play.pay("c1").decision == "allow"
    play.passing(later - 1)
    assert play.pay("c1").decision == "allow"
    play.passing(1)
    late = play.pay("c1")
    assert late.policy_id == "lictor.call-id-used"
    assert "nobody has said whether that call was made" in late.reason
    assert play.kinds[-1] == "call_denied"
    # It may have been made: under another id it is another call.
    assert play.pay("c2").decision == "ask"
    play.result("pay", "c1", params=LARGE)
    assert getattr(play.log[-1][1], "approval_request", None) == play.requests[0].request_id


def test_a_later_use_of_an_approval_for_the_session_makes_no_earlier_one_good_again() -> None:
    play = AskedPlay({**MONEY, "remember": ["session"]})
    play.pay()
    play.approve(reusable=True)
    assert play.pay("c1").decision == "allow"
    play.passing(100)
    assert play.pay("c2").decision == "allow"
    assert play.pay("c1").policy_id == "lictor.call-id-used"


TOTAL = {"kind": "total", "name": "tot", "tools": ["pay"], "param": "amount", "limit": "600"}
RARE = {"kind": "rate-limit", "name": "rare", "tools": ["pay"], "limit": 1, "window_s": 600}


@pytest.mark.parametrize("counts", [TOTAL, RARE])
@pytest.mark.parametrize("other", [{"agent": "a2"}, {"resources": (file("2"),)}])
def test_each_call_that_people_allow_counts(counts, other) -> None:
    play = AskedPlay(MONEY, counts)
    first = {"resources": (file("1"),)}
    play.pay("c1", **first)
    play.approve()
    assert play.pay("c1", **first).decision == "allow"
    again = play.pay("c1", **{**first, **other})
    assert again.policy_id == "lictor.call-id-used"
    # Under an id of its own it is one call more.
    assert counts["name"] in [each.policy_id for each in play.pay("c2", **other).denials]
    assert play.kinds.count("call_reserved") == 1
    assert play.tally.running == 1


def test_a_call_of_another_agent_is_another_call_where_nobody_is_asked_too() -> None:
    play = AskedPlay(RARE)
    assert play.pay("c1").decision == "allow"
    assert play.pay("c1").decision == "allow"
    assert play.pay("c1", agent="a2").policy_id == "lictor.call-id-used"
    assert play.pay("c1").decision == "allow"


def test_people_are_not_asked_about_a_call_that_was_allowed_before() -> None:
    """It counted then: what they would allow under its id would not."""
    asking: list[str] = []

    def asks(_: object) -> PolicyDecision:
        return PolicyDecision.ask("look") if asking else PolicyDecision.allow()

    play = AskedPlay(RARE, policies=(Scripted("plug", asks),))
    assert play.pay("c1").decision == "allow"
    asking.append("now")
    assert play.pay("c1").policy_id == "lictor.call-id-used"
    assert play.requests == []
