"""A task and an event of which given facts are true, so that the evaluator itself can be asked about them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from pydantic import ValidationError

from lictor_policy.conditions.evidence_requirements import named_fact, stated_in
from lictor_policy.conditions.facts import FACTS, FactType
from lictor_policy.conditions.partial_evaluation import CLAIMING
from lictor_policy.conditions.temporal_conditions import NEVER
from lictor_policy.events.content import CHECKPOINT_ANSWERS
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.resolution import NOTHING_FIRED, resolve
from lictor_policy.offline.stories import evidence_item, moment, usual_event
from lictor_policy.task.history import (
    Amounts,
    Latest,
    MemoryKind,
    Order,
    PreviousMoment,
    Times,
    kept_since,
)
from lictor_policy.task.obligation_transitions import RUNTIME as OURS
from lictor_policy.task.obligations import MAX_OWED, Owed, note_shown
from lictor_policy.task.state import NO_CLASSES, QUALITIES, History, TaskState
from lictor_prove.packs.fact_symbols import (
    CHANNEL,
    CHILD_FAILED,
    NO_SESSION,
    RUNTIME,
    SESSION,
    WATCHED,
    MemorySymbol,
    Symbols,
)
from lictor_schema.core.time import SECOND_US, to_micros
from lictor_schema.decisions.decision import Disposition, Severity
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType

_AT_S = 3_600
_MINUTE = 60 * SECOND_US
_HOUR = 60 * _MINUTE
_MOST_KEPT = 10_000
_RANKS = {each.value: each.rank for each in QUALITIES}
_WAITING = ("waiting_user", "awaiting_review")
_REPORTS = ("task_checkpoint_sent", "forced_operator_update")

Values = Mapping[str, Any]
"""The value of every symbol, by its name."""


class NoSuchScene(Exception):
    """No state was found of which the values are true."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A task, as rules see it, and an event of it."""

    state: TaskState
    event: Event
    position: EventPosition


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the evaluator makes of a scene."""

    decision: Disposition
    severity: Severity
    policy_id: str
    decider: tuple[str, str] | None
    """Pack and rule that decide; None when nothing does."""
    matched: tuple[tuple[str, str], ...]
    """Pack and rule of all that match, in pack order."""

    @property
    def rule_id(self) -> str | None:
        """The rule that decides."""
        return None if self.decider is None else self.decider[1]

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        others = [rule for _, rule in self.matched if rule != self.rule_id]
        return {
            "decision": self.decision.value,
            "severity": self.severity.value,
            "policy_id": self.policy_id,
            "rule_id": self.rule_id,
            "also": list(dict.fromkeys(others)),
        }


def judge(config: EvaluatorConfig, scene: Scene) -> Judgement:
    """Ask the evaluator."""
    at = scene.state, scene.event, scene.position
    fired = config.matches(*at)
    resolution = resolve(fired, *at, config) if fired else NOTHING_FIRED
    decision = resolution.verdict.decision
    return Judgement(
        decision.decision,
        decision.severity,
        decision.policy_id,
        next(((use.pack_id, use.rule_id) for use in resolution.uses if use.fate == "fired"), None),
        tuple((rule.stamp.pack_id, rule.rule.id) for rule in fired),
    )


def stage(
    event_type: EventType, values: Values, symbols: Symbols, configs: Iterable[EvaluatorConfig]
) -> Scene:
    """The scene of some values, outside every suppression window; raises NoSuchScene when there is none."""
    now = _quiet_moment(configs)
    try:
        event = _event(event_type, values)
    except ValidationError as error:
        raise NoSuchScene(f"no event says so: {error.errors()[0]['msg']}") from error
    position = EventPosition(2, now, "sha256:" + hashlib.sha256(event.to_json()).hexdigest())
    bare = _state(event, values, now).changed(
        history=_history(symbols, values, now), repeats=_repeats(values)
    )
    state = _of_classes(bare, event, position, values)
    for name, fact in FACTS.items():
        found = fact.compute(state, event, position)
        wanted = _RANKS[values[name]] if fact.type is FactType.QUALITY else values[name]
        if found != wanted:
            raise NoSuchScene(f"{name} is {found!r} in the nearest state, not {wanted!r}")
    return Scene(state, event, position)


def _of_classes(
    state: TaskState, event: Event, position: EventPosition, values: Values
) -> TaskState:
    """The state with its evidence of such classes that the requirements of rules are met or not, as wanted."""
    asked = [(name, named_fact(name)) for name in values if stated_in(name) is not None]
    for new, offered, other in product(range(len(NO_CLASSES)), repeat=3):
        mask = (1 << new) * (state.new_items > 0) | (1 << offered) * (state.completion_quality > 0)
        if state.best_quality:
            mask |= 1 << other
        staged = state.changed(
            new_counts=_at(new, state.new_items),
            new_bests=_at(new, state.new_best),
            completion_bests=_at(offered, state.completion_quality),
            class_mask=mask,
        )
        if all(
            fact and fact.compute(staged, event, position) == values[name] for name, fact in asked
        ):
            return staged
    raise NoSuchScene("no classes of the evidence meet and miss the requirements of the rules so")


def _at(place: int, value: int) -> tuple[int, ...]:
    return tuple(value if each == place else 0 for each in range(len(NO_CLASSES)))


def _quiet_moment(configs: Iterable[EvaluatorConfig]) -> int:
    windows = {window for config in configs for rule in config.rules for window in rule.windows}
    now = to_micros(moment(_AT_S))
    for window in sorted(windows, key=lambda each: each.starts_us):
        if window.starts_us <= now < window.ends_us:
            now = window.ends_us
    return now


_REPEATS = "earlier matches of "


def _repeats(values: Values) -> dict[str, int]:
    return {
        name.removeprefix(_REPEATS): value
        for name, value in values.items()
        if name.startswith(_REPEATS) and value
    }


# The event.


def _event(event_type: EventType, values: Values) -> Event:
    told: dict[str, Any] = {}
    if event_type in CLAIMING:
        told["claim"] = _claim(values)
    if event_type in _REPORTS:
        told["structure"] = _answers(values)
    match event_type:
        case "task_checkpoint_sent":
            told["reminder_only"] = values["message.reminder_only"]
            if values["claim.makes_promise"]:
                told["promised_followup"] = {"what": "more", "due_at": f"t+{2 * _AT_S}"}
        case "task_status_changed":
            told["to_status"] = values["status.target"]
            told["decided_by"] = "ops" if values["status.decided_by_operator"] else None
        case "task_evidence_attached":
            told["items"] = [evidence_item(1)]
        case "subagent_spawned":
            anchor = {"channel": "telegram", "target": "thread-1"}
            told["report_anchor"] = anchor if values["dispatch.has_report_anchor"] else None
        case "subagent_completed":
            told["outcome"] = "failure" if values[CHILD_FAILED] else "success"
        case "subagent_result_forwarded":
            passed_on = "placeholder" if values["forwarding.is_placeholder"] else "relayed"
            told["presentation"] = passed_on
        case "watchdog_fired":
            told |= {"condition": values[WATCHED], "run_id": "run-1"}
        case "report_anchor_missing":
            told["run_id"] = "run-1"
        case _:
            pass
    if values[SESSION] != NO_SESSION:
        told["watchdog"] = values[SESSION]
        return usual_event(event_type, _AT_S, runtime=OURS, **told)
    return usual_event(event_type, _AT_S, **told)


def _claim(values: Values) -> dict[str, Any] | None:
    if not values["claim.type"]:
        return None
    step = "the second half" if values["claim.announces_next_step"] else None
    return {"type": values["claim.type"], "text": "It goes well.", "next_step": step}


def _answers(values: Values) -> dict[str, str | None]:
    given = {
        name: "an answer" if values[f"message.{name}_present"] else None
        for name in CHECKPOINT_ANSWERS
    }
    if given["completed_this_segment"] and not values["claim.is_progress_bearing"]:
        given["completed_this_segment"] = "nothing"
    return given


# The task.


def _state(event: Event, values: Values, now: int) -> TaskState:
    name = event.event_id
    held, overdue = values["task.is_held"], values["checkpoint.is_overdue"]
    missed = values["checkpoint.missed_in_a_row"]
    silences = values["checkpoint.silences_in_a_row"]
    quiet = bool(missed or silences)
    # An escalated task must still give its reports; one that was blocked, or asked its operator, does not.
    stopped = Disposition.ESCALATE if overdue or not quiet else Disposition.BLOCK
    results, untracked = _results(values, now)
    fields: dict[str, Any] = {
        "status": values["task.status"],
        "closed": values["task.is_closed"],
        "held_by": stopped.value if held else "",
        "operator_asked": quiet and not overdue and values["task.status"] in _WAITING,
        "checkpoint_due_us": now - _MINUTE if overdue and not quiet else None,
        "update_seen": values["checkpoint.operator_visible_update_sent"],
        "missed_in_a_row": missed,
        "silences_in_a_row": silences,
        "miss_event_ids": (name,) if values["checkpoint.newly_missed"] else (),
        "new_items": values["evidence.new_items_since_last_checkpoint"],
        "new_best": _RANKS[values["evidence.new_best_quality"]],
        "best_quality": _RANKS[values["evidence.best_quality"]],
        "completion_quality": _RANKS[values["evidence.completion_min_quality"]],
        "next_step_backed": values["claim.next_step_has_supporting_evidence"],
        "status_only_in_a_row": values["message.status_only_in_a_row"],
        **_promised(values, now),
        "results": results,
        "results_untracked": untracked,
        "promises_untracked": values["obligation.untracked"] - untracked,
        "untracked_after": 1 if _is_unanswered(values) else 0,
        "reports": 1,
        "forwarded": (
            () if values["forwarding.named_result_unforwarded"] else (note_shown("run-1", False),)
        ),
        "runs": _overdue("child", values["subagents.overdue"], now, 0),
        "spawn_failures": values["subagents.unreported_failures"],
        "told_id": name if values["obligation.newly_told"] else "",
        "times_told": values["obligation.times_told"],
    }
    return _begun(event, values, now).changed(**fields)


def _begun(event: Event, values: Values, now: int) -> TaskState:
    return TaskState(
        task_id=event.task_id,
        started=True,
        runtime=values[RUNTIME],
        agent_id=event.agent_id,
        correlation_id=event.correlation_id,
        operator=("ops", values[CHANNEL], None, None, None),
        title="An example",
        mode=values["task.mode"],
        workflow_shape=values["task.workflow_shape"],
        channel=values[CHANNEL],
        decision_type="task_completion",
        session_id=None,
        parent_task_id=None,
        started_us=now - _HOUR,
        opened_us=now - _HOUR,
        checkpoint_interval_s=None,
        silence_timeout_s=None,
        has_report_anchor=values["task.has_report_anchor"],
        externalized_path_valid=values["checkpoint.externalized_path_valid"],
    )


def _promised(values: Values, now: int) -> dict[str, Any]:
    if not values["claim.promised_followup_open"]:
        return {}
    due = values["claim.promised_followup_due"]
    made = now - _HOUR
    promise = Owed.new("more", now - _MINUTE if due else now + _HOUR, made)
    return {
        "promises": (promise.note(),),
        "last_report_us": now - _MINUTE if values["claim.promised_followup_seen"] else 0,
        "items_total": 1 if values["claim.promised_followup_has_evidence"] else 0,
    }


def _is_unanswered(values: Values) -> bool:
    return values["forwarding.result_available_without_visible_followup"]


def _results(values: Values, now: int) -> tuple[tuple[str, ...], int]:
    """Children's results that wait, those that are watched one by one and how many there are beyond."""
    waiting, overdue = (
        values["forwarding.unforwarded_results"],
        values["forwarding.overdue_results"],
    )
    watched = min(waiting, MAX_OWED)
    after = 1 if _is_unanswered(values) else 0
    late = _overdue("result", overdue, now, after)
    later = tuple(
        Owed.new(f"later-{number}", now + _HOUR, now - _HOUR, after=after).note()
        for number in range(watched - overdue)
    )
    notes = late + later
    if values["forwarding.named_result_unforwarded"] and notes:
        due = now - _MINUTE if overdue else now + _HOUR
        notes = (Owed.new("run-1", due, now - _HOUR, after=after).note(), *notes[1:])
    return notes, waiting - watched


def _overdue(name: str, number: int, now: int, after: int) -> tuple[str, ...]:
    return tuple(
        Owed.new(f"{name}-{each}", now - _MINUTE, now - _HOUR, after=after).note()
        for each in range(number)
    )


# The past.


def _history(symbols: Symbols, values: Values, now: int) -> History:
    history: History = {}
    windows: dict[str, list[tuple[int, int, MemoryKind]]] = {}
    for each in symbols.past.values():
        value = values[each.symbol.name]
        if each.span_us is not None:
            known = windows.setdefault(each.kept.name, [])
            known.append((each.span_us, value, each.kept))
        elif (memory := _memory(each, value, now)) is not None:
            history[each.kept.name] = memory
    for name, looked_at in windows.items():
        history[name] = _in_windows(sorted(looked_at, key=lambda each: each[0]), now)
    for name, symbol in symbols.reaches.items():
        if values[symbol.name] != NEVER:
            history[kept_since(name)] = [now - values[symbol.name]]
    return history


def _memory(asked: MemorySymbol, value: int, now: int) -> list[int] | None:
    match asked.kept:
        case Latest():
            return None if value == NEVER else [now - value]
        case Order():
            return [now if value >= 0 else -1, value]
        case PreviousMoment():
            return [now - value if value >= 0 else -1, -1]
        case _:
            return [value]


def _in_windows(looked_at: list[tuple[int, int, MemoryKind]], now: int) -> list[int]:
    """The moments, or amounts after their times, that fill windows of growing length with what each holds."""
    memory: list[int] = []
    so_far, shorter = 0, -1
    for span, value, kept in looked_at:
        more = value - so_far
        # Just longer ago than the window before reaches.
        at = now - shorter - 1
        if isinstance(kept, Amounts):
            memory = [at, more, *memory] if more else memory
        elif isinstance(kept, Times):
            if more > _MOST_KEPT:
                raise NoSuchScene(f"{more} moments are more than an example can hold")
            memory = [at] * more + memory
        so_far, shorter = value, span
    return memory
