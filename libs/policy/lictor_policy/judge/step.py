"""One event judged: state and event in, state and one decision record out."""

import json
from typing import NamedTuple

from lictor_policy.decisions.json_text import rfc3339, utc_millis, utc_second
from lictor_policy.decisions.records import EventVerdict, write_record
from lictor_policy.errors import UnacceptableEvent
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.resolution import NOTHING_FIRED, resolve
from lictor_policy.rules.compiled_rule import RuleUse
from lictor_policy.task.obligation_transitions import RUNTIME, unheard
from lictor_policy.task.state import TaskState
from lictor_policy.task.transitions import announce, begin, observe, settle
from lictor_schema.core.ids import decision_id
from lictor_schema.core.time import DAY_S, SECOND_US
from lictor_schema.decisions.decision import Decision, DecisionRecord, Disposition, SuggestedStatus
from lictor_schema.events.event import Event

__all__ = ["EventPosition", "PastDecision", "StepOutcome", "UnacceptableEvent", "observed", "step"]

_MAX_AHEAD_US = 5 * 60 * SECOND_US
"""How far an event's own time may lie after the broker's."""
_FROM_ANYONE = frozenset(
    (
        "task_checkpoint_due",
        "silence_timeout",
        "watchdog_fired",
        "report_anchor_missing",
        "subagent_result_not_forwarded",
        "operator_review_requested",
    )
)
"""What any runtime may say about a task: it can call for a report, and never meet or end a duty."""
MAX_INTERVAL_S = 10 * 366 * DAY_S


class PastDecision(NamedTuple):
    """What another engine decided about an event: it happened, whatever this one makes of it."""

    event_sha256: str
    disposition: Disposition
    suggested_status: SuggestedStatus | None


def decided_in(record: bytes) -> tuple[int, PastDecision] | None:
    """What a stored record decided, and the sequence of its event; None when that can't be read."""
    try:
        told = json.loads(record)
        decision = told["decision"]
        suggested = decision["suggested_status"]
        return int(told["event_sequence"]), PastDecision(
            str(told["event_sha256"]),
            Disposition(decision["decision"]),
            None if suggested is None else SuggestedStatus(suggested),
        )
    except (ValueError, KeyError, TypeError):
        return None


class StepOutcome(NamedTuple):
    """What one event led to."""

    state: TaskState
    record_id: str
    record_json: bytes
    uses: tuple[RuleUse, ...]
    """What became of each rule that fired."""
    verdict: EventVerdict

    @property
    def decision(self) -> Decision:
        """The decision as its model."""
        return self.verdict.decision

    @property
    def record(self) -> DecisionRecord:
        """The record as its model."""
        return DecisionRecord.from_json(self.record_json)


def step(
    state: TaskState | None,
    event: Event,
    position: EventPosition,
    config: EvaluatorConfig,
    decided: PastDecision | None = None,
) -> StepOutcome:
    """Judge one event; raises UnacceptableEvent, changing nothing, when it can't be judged.

    Where another engine has decided about it otherwise, the task goes on from what was decided then: what was closed
    stays closed.
    """
    happened = rfc3339(event.timestamp)
    seen = observed(state, event, happened, position, config)
    fired = config.matches(seen, event, position)
    verdict, uses, repeats, unheard_until = (
        resolve(fired, seen, event, position, config) if fired else NOTHING_FIRED
    )
    disposition, suggested = verdict.disposition, verdict.suggested_status
    if decided and decided.event_sha256 == position.sha256:
        if decided.disposition is not disposition:
            suggested = decided.suggested_status
        disposition = decided.disposition
    settled = settle(state, seen, event, disposition, suggested, position.stored_us)
    if unheard_until is not None and state is not None and seen.told_id == event.event_id:
        settled = unheard(state, settled, position.stored_us, unheard_until)
    if repeats is not None:
        settled = settled.changed(repeats=repeats)
    settled = config.history.note_decision(settled, event, disposition, position)
    record_id = decision_id(
        event.task_id, event.runtime, event.event_id, config.config_hash, verdict.policy_id
    )
    record = write_record(record_id, seen, settled, event, happened, position, verdict, config)
    return StepOutcome(settled, record_id, record, uses, verdict)


def observed(
    state: TaskState | None,
    event: Event,
    happened: str,
    position: EventPosition,
    config: EvaluatorConfig,
) -> TaskState:
    """The state that rules see: with everything the event adds, and nothing decided yet."""
    _refuse_future(event, happened, position)
    return config.history.note(_observe(state, event, position), event, position)


def _observe(state: TaskState | None, event: Event, position: EventPosition) -> TaskState:
    if event.event_type == "task_started":
        if state is not None and state.started:
            raise UnacceptableEvent(
                "task_id",
                f"task {event.task_id} has started already",
                "give every task an id of its own",
            )
        for field in ("checkpoint_interval_s", "silence_timeout_s"):
            if (getattr(event.payload, field) or 0) > MAX_INTERVAL_S:
                raise UnacceptableEvent(
                    f"payload.{field}",
                    "is longer than ten years",
                    "give the seconds until a report is owed, or null for none",
                )
        begun = begin(event, position)
        # What was reported before the start belongs to the task's past too.
        if state is None:
            return begun
        return begun.changed(history=state.history, repeats=state.repeats)
    if state is not None and state.started:
        if event.runtime != state.runtime:
            _refuse_stranger(state, event)
        return observe(state, event, position)
    if event.event_type == "report_anchor_missing":
        return state or announce(event, position)
    # A session's condition may be tipped by the task that was held back, and somebody has to be notified.
    if state is not None and event.event_type == "watchdog_fired" and event.runtime == RUNTIME:
        return state
    raise UnacceptableEvent(
        "task_id", f"task {event.task_id} never started", "publish its task_started first"
    )


def _refuse_stranger(state: TaskState, event: Event) -> None:
    """Any runtime that watches a task may report its obligations; everything else only its own runtime."""
    if event.runtime == RUNTIME or event.event_type in _FROM_ANYONE:
        return
    raise UnacceptableEvent(
        "runtime",
        f"task {event.task_id} belongs to {state.runtime}, so {event.runtime} can't publish"
        f" {event.event_type} for it",
        "publish it as the runtime that started the task, or start a task of your own",
    )


def _refuse_future(event: Event, happened: str, position: EventPosition) -> None:
    latest_us = position.stored_us + _MAX_AHEAD_US
    # Times in UTC compare as text, which is enough for all but those close to the limit.
    if happened.endswith("Z") and happened[:19] < utc_second(latest_us // SECOND_US):
        return
    if event.timestamp.timestamp() * 1e6 > latest_us:
        raise UnacceptableEvent(
            "timestamp",
            f"{happened} is more than 5 minutes after"
            f" {utc_millis(position.stored_us)}, when the event was stored",
            "correct the clock of the runtime",
        )


# Any NATS server takes this much, whatever its limit is set to above the default.
MAX_RECORD_BYTES = 900 * 1024
# A closed task is remembered this long, to recognise late duplicates of its events.
KEEP_CLOSED_TASKS_S = 30 * DAY_S


def fold_event(
    state: TaskState | None,
    event: Event,
    position: EventPosition,
    config: EvaluatorConfig,
    decided: PastDecision | None = None,
) -> StepOutcome:
    """Judge one event; raises UnacceptableEvent, changing nothing, when it can't be judged or recorded."""
    outcome = step(state, event, position, config, decided)
    if len(outcome.record_json) > MAX_RECORD_BYTES:
        raise UnacceptableEvent(
            "payload",
            f"the decision record would have {len(outcome.record_json)} bytes,"
            f" more than {MAX_RECORD_BYTES}",
            "shorten the message or the claim; name large content in evidence_refs",
        )
    return outcome
