"""A deterministic stream of agent tasks in which every reporting duty is met by some and missed by others."""

import random
from collections.abc import Iterator
from typing import Any

from lictor_policy.events.position import EventPosition
from lictor_policy.offline.stories import evidence_item, moment, usual_event
from lictor_schema.core.time import to_micros
from lictor_schema.events.event import Event, parse_event

TASKS_AT_ONCE = 100
_SECONDS_APART = 0.25
_NO_HASH = "sha256:" + "0" * 64

Happening = tuple[str, dict[str, Any]]
Placed = tuple[Event, EventPosition]


def mixed_stream(count: int, *, seed: int = 7) -> list[Placed]:
    """`count` events of interleaved tasks, with their places in the stream."""
    pick = random.Random(seed)
    begun = 0
    tasks: list[tuple[str, Iterator[Happening]]] = []
    placed: list[Placed] = []
    while len(placed) < count:
        while len(tasks) < TASKS_AT_ONCE:
            tasks.append((f"task-{begun}", _story(pick)))
            begun += 1
        at = pick.randrange(len(tasks))
        happening = next(tasks[at][1], None)
        if happening is None:
            tasks.pop(at)
        else:
            placed.append(place(tasks[at][0], *happening, number=len(placed) + 1))
    return placed


def long_task(count: int) -> Iterator[Placed]:
    """One task that goes on for `count` events: a round of ten, again and again."""
    for number in range(count):
        event_type, payload = _ROUND[number % len(_ROUND)] if number else ("task_started", _START)
        yield place("task-1", event_type, payload, number=number + 1)


def place(task_id: str, event_type: str, payload: dict[str, Any], *, number: int) -> Placed:
    """An event of a task at its place in the stream."""
    seconds = number * _SECONDS_APART
    if event_type == "task_evidence_attached":
        payload = {"items": [evidence_item(number, payload["quality"])]}
    usual = usual_event(event_type, seconds, number=number, **payload)
    event = parse_event(usual.to_json().replace(b'"task-1"', f'"{task_id}"'.encode()))
    return event, EventPosition(number, to_micros(moment(seconds)), _NO_HASH)


_START: dict[str, Any] = {"checkpoint_interval_s": 600, "silence_timeout_s": 900}
_PROGRESS = {"type": "progress", "text": "The first tables are migrated.", "next_step": "the rest"}
_PATH = {
    "first_forced_checkpoint_trigger": "in 20 minutes",
    "if_unfinished_report": "the tables done so far",
    "if_no_new_evidence": "paused",
    "externalized_trigger": "cron reminder",
    "final_handoff_path": "message to the owner",
}
_ANCHOR = {"channel": "telegram", "target": "ops"}


def _evidence(quality: str) -> Happening:
    return "task_evidence_attached", {"quality": quality}


def _completion(kind: str = "completion", next_step: str | None = None) -> Happening:
    claim = {"type": kind, "text": "All tables are migrated.", "next_step": next_step}
    return "task_claimed_complete", {"claim": claim}


_ROUND: list[Happening] = [
    _evidence("moderate"),
    ("task_checkpoint_sent", {"claim": _PROGRESS}),
    ("task_checkpoint_sent", {"claim": _PROGRESS, "structure": None}),
    ("task_status_changed", {"to_status": "blocked"}),
    ("subagent_spawned", {}),
    ("subagent_completed", {}),
    ("subagent_result_forwarded", {}),
    ("task_status_changed", {"to_status": "active"}),
    ("silence_timeout", {}),
    ("forced_operator_update", {}),
]


def _story(pick: random.Random) -> Iterator[Happening]:
    def maybe(chance: float, value: Any) -> Any:
        return value if pick.random() < chance else None

    silent = pick.random() < 0.15
    yield (
        "task_started",
        {
            **_START,
            "mode": "silent" if silent else "interactive",
            "workflow_shape": pick.choice(["single-agent", "parent-child"]),
            "externalized_path": maybe(0.7, _PATH) if silent else None,
            "report_anchor": maybe(0.8, _ANCHOR),
        },
    )
    for _ in range(pick.randint(1, 5)):
        yield from _segment(pick, maybe)
    if maybe(0.4, True):
        yield _completion()
    yield _evidence(pick.choice(["weak", "moderate", "strong"]))
    if maybe(0.1, True):
        yield "task_status_changed", {"to_status": "completed"}
    kind = pick.choice(["completion", "completion", "verified_completion"])
    yield _completion(kind, maybe(0.1, "tidy up"))


def _segment(pick: random.Random, maybe: Any) -> Iterator[Happening]:
    """A stretch of work and the report on it, or what comes in place of a report."""
    if maybe(0.6, True):
        yield _evidence(pick.choice(["weak", "moderate", "strong"]))
    match pick.choices(("report", "miss", "child", "child fails", "status"), (60, 12, 12, 4, 12))[
        0
    ]:
        case "report":
            report: dict[str, Any] = {
                "claim": maybe(0.6, _PROGRESS),
                "operator_visible": bool(maybe(0.95, True)),
                "reminder_only": bool(maybe(0.1, True)),
            }
            if maybe(0.2, True):
                report["structure"] = None
            if maybe(0.1, True):
                report["promised_followup"] = {"what": "the count of rows", "due_at": "t+999999"}
            yield "task_checkpoint_sent", report
        case "miss":
            for _ in range(pick.randint(1, 3)):
                yield pick.choice(["task_checkpoint_due", "silence_timeout", "watchdog_fired"]), {}
            yield "forced_operator_update", {}
        case "child":
            yield "subagent_spawned", {"report_anchor": maybe(0.8, _ANCHOR)}
            yield "subagent_completed", {}
            if maybe(0.8, True):
                yield "subagent_result_forwarded", {"operator_visible": bool(maybe(0.9, True))}
            else:
                yield "subagent_result_not_forwarded", {}
        case "child fails":
            yield "subagent_spawn_failed", {"operator_notified": bool(maybe(0.5, True))}
        case _:
            yield "task_status_changed", {"to_status": pick.choice(["blocked", "paused"])}
            yield "operator_review_requested", {}
            yield "task_status_changed", {"to_status": "active"}
