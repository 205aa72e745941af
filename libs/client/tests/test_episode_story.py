"""What is told of an episode is what its messages say."""

import json

import pytest

from lictor.episode_story import EpisodeStory
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
