"""Decision records, written straight to JSON.

A record is written for every event and most say the same: no rule matched. So the parts that repeat are
written once and kept as text, and a record is put together from such parts; building a model first and writing it
out takes three times as long. The text is, byte for byte, what ``DecisionRecord`` would write: the tests compare
them, and ``Outcome.record`` reads it back through the model.
"""

from collections.abc import Sequence
from functools import lru_cache
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from lictor_policy.decisions.json_text import optional, quoted_list, utc_micros, utc_millis
from lictor_policy.events.content import claim_of, message_of
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.rules.compiled_rule import CompiledRule
from lictor_policy.task.state import QUALITIES, TaskState, read_evidence
from lictor_schema.decisions.decision import Decision, Disposition, SuggestedStatus
from lictor_schema.decisions.receipt import DeliveryReceipt
from lictor_schema.events.event import Event

_NONE_QUIET = '"shadow_rules":[],"suppressed_rules":[]'


class EventVerdict(NamedTuple):
    """What the rules make of an event, and the parts of its record that say so."""

    disposition: Disposition
    policy_id: str
    suggested_status: SuggestedStatus | None
    missing: tuple[str, ...]
    matched: bool
    """Whether any rule fired, counting or not."""
    decision_json: str
    matched_json: str
    receipt_json: str
    quiet_json: str = _NONE_QUIET
    """The rules that didn't count: in shadow mode, or suppressed."""

    @property
    def decision(self) -> Decision:
        """The decision as its model."""
        return Decision.from_json(self.decision_json)

    def beside(self, shadow: Sequence[str], suppressed: Sequence[str]) -> "EventVerdict":
        """The same, beside rules that fired without counting."""
        quiet = f'"shadow_rules":{_array(shadow)},"suppressed_rules":{_array(suppressed)}'
        return self._replace(matched=True, quiet_json=quiet)


def decided(
    rule: CompiledRule,
    decision_json: str,
    lines: Sequence[str],
    missing: tuple[str, ...],
    receipt: str,
) -> EventVerdict:
    """The verdict of a rule that won."""
    output = rule.rule.decision_output
    return EventVerdict(
        output.decision,
        rule.policy_id,
        output.suggested_status,
        missing,
        True,
        decision_json,
        _array(lines),
        receipt,
    )


def _allowed(decision: Decision) -> EventVerdict:
    receipt = DeliveryReceipt.prepared().to_json().decode()
    text = decision.to_json().decode()
    return EventVerdict(decision.decision, decision.policy_id, None, (), False, text, "[]", receipt)


def _array(texts: Sequence[str]) -> str:
    return f"[{','.join(texts)}]"


NO_RULE = _allowed(Decision.allow())
ONLY_QUIET = _allowed(
    Decision.allow(
        reason="only rules in shadow mode or under a suppression window matched this event"
    )
)


_QUALITY_NAMES = tuple(quality.value for quality in QUALITIES)


def write_record(
    record_id: str,
    seen: TaskState,
    settled: TaskState,
    event: Event,
    happened: str,
    position: EventPosition,
    verdict: EventVerdict,
    config: EvaluatorConfig,
) -> bytes:
    """The decision record of one event."""
    claim = claim_of(event)
    original = message_of(event)
    if original is None and claim is not None:
        original = claim.text
    looked_at = verdict.matched or claim is not None or event.event_type == "task_evidence_attached"
    closes = settled.closed and not seen.closed
    stamped = closes or event.event_type == "task_started"
    event_id = quoted(event.event_id)
    return (
        f'{{"record_id":"{record_id}","recorded_at":"{utc_millis(position.stored_us)}",'
        f'"runtime":{quoted(event.runtime)},"task_id":{quoted(event.task_id)},'
        f'"agent_id":{quoted(event.agent_id)},"correlation_id":{quoted(event.correlation_id)},'
        f'"session_id":{quoted(seen.session_id or seen.correlation_id)},'
        f'"event_id":{event_id},"event_type":"{event.event_type}",'
        f'"event_timestamp":"{happened}","event_sequence":{position.sequence},'
        f'"event_sha256":"{position.sha256}","trigger_event_ids":{_triggers(seen, event, event_id)},'
        f'"decision":{verdict.decision_json},"matched_rules":{verdict.matched_json},'
        f"{verdict.quiet_json},"
        f'"config_hash":"{config.config_hash}","decision_type":{quoted(seen.decision_type)},'
        f'"original_claim":{optional(original)},'
        f'"evidence":{_evidence(seen, verdict.missing, looked_at)},"message_sent":null,'
        f'"receipt":{verdict.receipt_json},"task_closed":{"true" if closes else "false"},'
        f'"episode":{_episode(settled, config) if stamped else "null"}}}'
    ).encode()


def _triggers(state: TaskState, event: Event, event_id: str) -> str:
    """For a miss, the earlier misses of the same run too: together they made it worse."""
    if state.miss_event_ids and event.event_id in state.miss_event_ids:
        return quoted_list(tuple(dict.fromkeys(state.miss_event_ids)))
    return f"[{event_id}]"


def _evidence(state: TaskState, missing: tuple[str, ...], looked_at: bool) -> str:
    """What a decision looked at; only the counts where it looked at nothing."""
    if not looked_at:
        return (
            f'{{"attached":[],"best_quality":"{_QUALITY_NAMES[state.best_quality]}",'
            f'"new_since_last_checkpoint":{state.new_items},"missing":[]}}'
        )
    attached = ",".join(map(_attached, state.evidence))
    return (
        f'{{"attached":[{attached}],"best_quality":"{_QUALITY_NAMES[state.best_quality]}",'
        f'"new_since_last_checkpoint":{state.new_items},"missing":{quoted_list(missing)}}}'
    )


# A task's items stand in many of its records.
@lru_cache(maxsize=8192)
def _attached(note: str) -> str:
    evidence_id, evidence_class, quality = read_evidence(note)
    return (
        f'{{"evidence_id":{quoted(evidence_id)},"class":"{evidence_class.value}",'
        f'"quality":"{quality.value}"}}'
    )


def _episode(state: TaskState, config: EvaluatorConfig) -> str:
    """What the task's episode needs beyond the records."""
    status = f'"{state.status}"' if state.closed else "null"
    return (
        f'{{"title":{quoted(state.title)},"started_at":"{utc_micros(state.started_us)}",'
        f'"packs":{config.packs_json},"profiles":{config.profiles_json},"final_status":{status},'
        f'"session_id":{optional(state.session_id)},'
        f'"parent_task_id":{optional(state.parent_task_id)}}}'
    )
