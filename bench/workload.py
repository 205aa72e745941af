"""A deterministic mixed stream of agent stories, as subjects and bytes."""

import json
import random

from lictor_bus.names import subjects

TASKS_AT_ONCE = 200
_TIME = "2026-01-01T00:00:00Z"
_FULL_CHECKPOINT = "task_checkpoint_sent:full"
_BARE_CHECKPOINT = "task_checkpoint_sent:bare"


def story_events(
    count: int, *, prefix: str, checkpoint_interval_s: int | None = 3600, seed: int = 7
) -> list[tuple[str, bytes]]:
    """``count`` events of interleaved tasks: starts, checkpoints, evidence, completion claims with and without proof.

    Three agents of four report as they should: evidence first, then a checkpoint that gives all five answers. The
    others send bare messages. With a checkpoint interval every task keeps a timer in the broker.
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
    tidy = pick.random() < 0.75
    segment = ["task_evidence_attached", _FULL_CHECKPOINT] if tidy else [_BARE_CHECKPOINT]
    plan = segment * pick.randint(1, 4)
    if pick.random() < 0.2:
        plan.append("task_claimed_complete")
    return [*plan, "task_evidence_attached", segment[-1], "task_claimed_complete"]


def _event(task: str, step: str, number: int, interval_s: int | None) -> tuple[str, bytes]:
    body = {
        "event_id": f"{task}-{number}",
        "event_type": step.partition(":")[0],
        "runtime": "bench",
        "adapter_version": "1.0.0",
        "agent_id": "agent-1",
        "task_id": task,
        "correlation_id": f"flow-{task}",
        "timestamp": _TIME,
        "payload": _payload(task, step, number, interval_s),
        "evidence_refs": [],
        "operator_context": {"operator_id": "ops", "channel": "telegram"},
    }
    return subjects.event("bench", task), json.dumps(body, separators=(",", ":")).encode()


def _payload(task: str, step: str, number: int, interval_s: int | None) -> dict[str, object]:
    match step:
        case "task_started":
            return {
                "title": "Migrate the importer",
                "mode": "interactive",
                "workflow_shape": "single-agent",
                "channel": "telegram",
                "checkpoint_interval_s": interval_s,
            }
        case "task_checkpoint_sent:full" | "task_checkpoint_sent:bare":
            report: dict[str, object] = {
                "message": f"Part {number} is done; the next one follows.",
                "operator_visible": True,
                "claim": {
                    "type": "progress",
                    "text": f"part {number} and its tests are done",
                    "next_step": "wire the CLI",
                },
                "reminder_only": False,
            }
            if step == _FULL_CHECKPOINT:
                report["structure"] = {
                    "current_status": "in progress",
                    "completed_this_segment": f"part {number} and its tests",
                    "next_step": "wire the CLI",
                    "next_report_condition": "when the CLI runs",
                    "operator_intervention_needed": "no",
                }
            return report
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
                        "supports": {"claim_types": ["progress", "completion"], "next_step": True},
                    }
                ]
            }
        case _:
            return {"claim": {"type": "completion", "text": "all done"}, "message": "All done."}
