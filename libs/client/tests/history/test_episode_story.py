"""What is told of an episode is what its messages say."""

import json

import pytest

from lictor.history.episode_story import EpisodeStory, told_once
from lictor_seal import Message


@pytest.mark.parametrize("verdict", ["proved", "refuted", "unknown", "rejected"])
def test_a_verdict_is_not_worded_as_a_proof(verdict: str) -> None:
    story = EpisodeStory()
    body = json.dumps({"program_hash": "sha256:1", "verdict": verdict}).encode()
    story.take(Message("proofs", 1, 1, "lictor.proof.x.t", body))
    [line] = story.sections["verified"]
    assert line.text == f"the prover's verdict on program sha256:1: {verdict}"


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, b'{"event_type":' + b"[" * 200_000, b"9" * 10_000, b"\xff", b"{}"],
)
def test_a_message_that_can_t_be_read_is_counted_whatever_it_is(body: bytes) -> None:
    story = EpisodeStory()
    story.take(Message("events", 1, 1, "lictor.ev.0.sdk.t", body))
    assert (story.unreadable, story.counts) == (1, {"events": 1})


def judged(decision: str, *reasons: str, action: str = "a-1") -> bytes:
    """An entry of a decision's log about one action."""
    contract = {
        "actionType": "refund",
        "actionId": action,
        "targetRefs": [{"type": "order", "id": "o-1"}],
        "blastRadiusTier": "small",
    }
    told = [{"message": each, "code": "limit"} for each in reasons]
    entry = {"kind": "action_judged", "contract": contract, "decision": decision}
    bounds = [{"message": each} for each in dict.fromkeys(reasons)]
    return json.dumps({**entry, "reasons": told, "violations": bounds}).encode()


def test_refusals_stand_apart_from_what_was_allowed() -> None:
    story = EpisodeStory()
    for at, decision in enumerate(("refuse", "wait", "allow"), 1):
        story.take(Message("decision", at, at, "lictor.act.t", judged(decision)))
    assert [line.sequence for line in story.sections["refused"]] == [1]
    assert [line.sequence for line in story.sections["asked"]] == [2, 3]


def test_a_reason_that_is_repeated_is_told_once_with_a_count() -> None:
    story = EpisodeStory()
    body = judged("refuse", "too many calls", "too many calls", "too late")
    for at in (1, 2):
        story.take(Message("decision", at, at * 1_000_000, "lictor.act.t", body))
    [(first, text)] = told_once(story.sections["refused"])
    assert first == "1970-01-01T00:00:01.000Z"
    assert text.endswith(
        "refuse, because too many calls (limit) (2 times); too late (limit)"
        " (2 times, last 1970-01-01T00:00:02.000Z)"
    )
    # A machine gets each.
    assert len(story.sections["refused"]) == 2
