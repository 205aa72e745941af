"""Which answer of a leader is believed: one from a server that a majority has answered lately."""

import pytest

from lictor_bus.wire.stream_leader import _is_followed

SECOND = 1_000_000_000


def told(*active_s: float, offline: int = 0) -> dict[str, object]:
    """What a leader says about its followers: how long ago it heard from each."""
    replicas: list[dict[str, object]] = [
        {"name": f"n{number}", "current": True, "active": int(seconds * SECOND)}
        for number, seconds in enumerate(active_s)
    ]
    for each in replicas[:offline]:
        each["offline"] = True
    return {"cluster": {"leader": "me", "replicas": replicas}}


@pytest.mark.parametrize(
    ("answer", "believed"),
    [
        ({}, True),
        ({"cluster": {"leader": "me"}}, True),
        (told(0.2, 1.1), True),
        # One server of three is away.
        (told(600, 0.9, offline=1), True),
        # It was paused, or is cut off from both: they may have elected another.
        (told(3.5, 4.0), False),
        (told(0.2, 0.2, offline=2), False),
        (told(0.1, 0.1, 9, 9), True),
        (told(0.1, 9, 9, 9), False),
    ],
)
def test_a_leader_is_believed_while_a_majority_answers_it(answer, believed: bool) -> None:
    assert _is_followed(answer) is believed
