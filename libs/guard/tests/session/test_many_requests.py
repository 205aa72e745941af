"""How many requests of one session people are shown."""

from asked_play import MONEY, AskedPlay, file

from lictor_schema.sessions.session_log import CallAsked

WRITES = {"kind": "require-approval", "name": "writes", "tools": ["write"]}


def test_a_call_whose_file_changes_fills_nobodys_inbox() -> None:
    play = AskedPlay({**WRITES, "max_waiting": 2})
    answers = [
        play.check("write", params={"path": "a.txt"}, resources=(file(str(each)),))
        for each in range(50)
    ]
    # Eight were taken back, and one waits.
    assert len(play.requests) == 9
    assert {each.policy_id for each in answers[9:]} == {"lictor.approval.too-many-taken-back"}
    replaced = [entry.replaces for _, entry in play.log if isinstance(entry, CallAsked)]
    assert replaced[1:] == [each.request_id for each in play.requests[:-1]]
    # The one that waits may be decided, and made.
    play.approve()
    made = play.check("write", params={"path": "a.txt"}, resources=(file("8"),))
    assert made.decision == "allow"


def test_asking_and_cancelling_in_turn_is_bounded_and_goes_on_when_the_time_is_over() -> None:
    play = AskedPlay({**MONEY, "max_waiting": 2, "decide_within_s": 100})
    for _ in range(2):
        before = len(play.requests)
        for _ in range(50):
            if play.pay().decision == "ask":
                play.cancel(play.requests[-1].request_id)
        assert len(play.requests) - before == 8
        play.passing(100)


def test_what_people_decided_counts_as_no_request_that_was_taken_back() -> None:
    play = AskedPlay({**MONEY, "max_waiting": 1})
    for each in range(20):
        asked = play.pay(params={"amount": each})
        assert asked.decision == "ask"
        play.approve() if each % 2 else play.reject()
        assert play.pay(params={"amount": each}).decision == ("allow" if each % 2 else "deny")
