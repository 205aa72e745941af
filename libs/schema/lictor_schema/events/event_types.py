"""The names of the sixteen canonical event types, in the order the event model lists them."""

from typing import Literal, get_args

EventType = Literal[
    "task_started",
    "task_checkpoint_due",
    "task_checkpoint_sent",
    "task_status_changed",
    "task_claimed_complete",
    "task_evidence_attached",
    "subagent_spawned",
    "subagent_spawn_failed",
    "subagent_completed",
    "subagent_result_forwarded",
    "subagent_result_not_forwarded",
    "silence_timeout",
    "watchdog_fired",
    "operator_review_requested",
    "report_anchor_missing",
    "forced_operator_update",
]

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
