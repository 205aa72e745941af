"""A deterministic mixed stream of agent stories, as subjects and bytes."""

import json
import random

TASKS_AT_ONCE = 200
_TIME = "2026-01-01T00:00:00Z"


def story_events(
    count: int, *, prefix: str, checkpoint_interval_s: int | None = 3600, seed: int = 7
) -> list[tuple[str, bytes]]:
    """``count`` events of interleaved tasks: starts, checkpoints, evidence, completion claims with and without proof.

    With a checkpoint interval every task keeps a timer in the broker.
    """
    pick = random.Random(seed)
    open_tasks: list[tuple[str, list[str]]] = []
    events: list[tuple[str, bytes]] = []
    started = 0
    while len(events) < count:
        if len(open_tasks) < TASKS_AT_ONCE and (not open_tasks or pick.random() < 0.2):
            task = f"{prefix}-{started}"
            started += 1
            events.append(_event(task, "task_started", len(events), checkpoint_interval_s))
            open_tasks.append((task, _plan(pick)))
            continue
        at = pick.randrange(len(open_tasks))
        task, plan = open_tasks[at]
        events.append(_event(task, plan.pop(0), len(events), checkpoint_interval_s))
        if not plan:
            open_tasks.pop(at)
    return events


def _plan(pick: random.Random) -> list[str]:
    plan = ["task_checkpoint_sent"] * pick.randint(1, 4)
    if pick.random() < 0.4:
        plan.append("task_claimed_complete")
    return [*plan, "task_evidence_attached", "task_checkpoint_sent", "task_claimed_complete"]


def _event(task: str, event_type: str, number: int, interval_s: int | None) -> tuple[str, bytes]:
    body = {
        "event_id": f"{task}-{number}",
        "event_type": event_type,
        "runtime": "bench",
        "adapter_version": "1.0.0",
        "agent_id": "agent-1",
        "task_id": task,
        "correlation_id": f"flow-{task}",
        "timestamp": _TIME,
        "payload": _payload(task, event_type, number, interval_s),
        "evidence_refs": [],
        "operator_context": {"operator_id": "ops", "channel": "telegram"},
    }
    return f"lictor.ev.bench.{task}", json.dumps(body, separators=(",", ":")).encode()


def _payload(task: str, event_type: str, number: int, interval_s: int | None) -> dict[str, object]:
    claim = {"type": "progress", "text": "parser and tests are done", "next_step": "wire the CLI"}
    match event_type:
        case "task_started":
            return {
                "title": "Migrate the importer",
                "mode": "interactive",
                "workflow_shape": "single-agent",
                "channel": "telegram",
                "checkpoint_interval_s": interval_s,
            }
        case "task_checkpoint_sent":
            return {
                "message": "Parser done; wiring the CLI next.",
                "operator_visible": True,
                "claim": claim,
                "reminder_only": False,
            }
        case "task_evidence_attached":
            return {
                "items": [
                    {
                        "evidence_id": f"{task}-ev-{number}",
                        "task_id": task,
                        "correlation_id": f"flow-{task}",
                        "agent_id": "agent-1",
                        "class": "verification_output",
                        "quality": "strong",
                        "summary": "42 tests pass",
                        "captured_at": _TIME,
                        "refs": [{"kind": "log", "ref": "ci/run/42"}],
                        "supports": {"claim_types": ["completion"]},
                    }
                ]
            }
        case _:
            return {"claim": {"type": "completion", "text": "all done"}, "message": "All done."}
