"""What a replay puts away on disk comes back as it was."""

from pathlib import Path

from workload import story_events

from lictor.history.replay_spool import RecordedDecision, RecordShelf, TaskShelf
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import load_config
from lictor_policy.offline.replay import Refold
from lictor_schema.events.event import parse_event

PACKS = Path(__file__).parents[4] / "policy-packs"
START_US = 1_767_225_600_000_000


def test_tasks_that_were_put_away_are_judged_as_if_they_had_stayed() -> None:
    config = load_config(PACKS)
    events = [parse_event(body) for _, body in story_events(600, prefix="t")]
    # The same event again, long after its task was put away.
    events += events[:100]

    def fold(in_memory: int) -> list[bytes | None]:
        shelf = TaskShelf(in_memory)
        refold = Refold(shelf)
        outcomes = [
            refold.take(event, EventPosition(n, START_US + n, "sha256:" + "0" * 64), config)
            for n, event in enumerate(events, 1)
        ]
        shelf.close()
        return [outcome and outcome.record_json for outcome in outcomes]

    bounded = fold(4)
    assert bounded == fold(100_000)
    assert bounded[600:] == [None] * 100
    assert None not in bounded[:600]


def test_records_come_in_the_order_of_their_events() -> None:
    shelf = RecordShelf()
    shelf.add([RecordedDecision(9, 1, b"a"), RecordedDecision(3, 2, b"b")])
    shelf.add([RecordedDecision(3, 3, b"c"), RecordedDecision(1, 4, b"d")])
    assert [(each.event_sequence, each.sequence) for each in shelf.in_order()] == [
        (1, 4),
        (3, 2),
        (3, 3),
        (9, 1),
    ]
    shelf.close()
