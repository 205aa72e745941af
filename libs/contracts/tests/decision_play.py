"""A governed decision played through its questions: each is asked, and what it leads to is appended to a log."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lictor_contracts.action.gate import judge
from lictor_contracts.decision import kill_switch, progress, questions
from lictor_contracts.decision.question_stamp import Decided, QuestionStamp
from lictor_contracts.decision.questions import Governing
from lictor_contracts.decision.state import Deciding, Switch, fold, fold_switch
from lictor_contracts.drift.sightings import sightings
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.decision_log import AnyDecisionEntry
from lictor_schema.contracts.decision_questions import (
    ActionGateAnswer,
    ContractAnswer,
    DecisionReport,
)
from lictor_schema.contracts.drift import DriftEvent
from lictor_schema.contracts.envelope import DTE
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.seals.episode import OutcomeCode

from .strategies_contracts import MS, NOW, action, dte

HASH = "sha256:" + "a" * 64
PACK = PackStamp(pack_id="refunds", pack_version="1.0.0", pack_hash=HASH)
RECORD = "6f0d1c57-5e0d-5b8e-9d53-1c9b8a2f7e11"
SPREAD: dict[str, Any] = {"hops": 1, "fanout": 1, "tool_calls": 1, "chain_depth": 1}


@dataclass
class Play:
    """One task's log, the kill-switch beside it, and a clock that the test moves."""

    envelope: DTE = field(default_factory=dte)
    now_us: int = NOW
    state: Deciding | None = None
    switch: Switch = field(default_factory=Switch)
    log: list[tuple[int, AnyDecisionEntry]] = field(default_factory=list[Any])
    sequence: int = 0
    last: int = 0
    """Sequence of the last entry of the task."""
    asked: int = 0
    episode: str = "episode-1"

    def question(self, request_id: str | None = None, agent_id: str = "agent-7") -> QuestionStamp:
        self.asked += 1
        name = request_id or f"q-{self.asked}"
        return QuestionStamp(name, "rt", "task-1", agent_id, self.now_us, self.last)

    def wait(self, ms: float) -> "Play":
        self.now_us += round(ms * MS)
        return self

    def append(self, entry: AnyDecisionEntry | None) -> None:
        if entry is not None:
            self.sequence += 1
            self.last = self.sequence
            self.state = fold(self.state, entry, self.sequence)
            self.log.append((self.sequence, entry))

    def take(self, decided: Decided) -> ContractAnswer:
        self.append(decided.entry)
        return decided.answer

    def begin(self, **changes: Any) -> ContractAnswer:
        told = {
            "episode_id": self.episode,
            "decision_type": "refund",
            "runtime": "rt",
            "dte": self.envelope,
            "pack": PACK,
            **changes,
        }
        return self.take(
            questions.begin(self.state, self.switch, self.question(), Governing(**told))
        )

    def tell(self, request_id: str | None = None, **fields: Any) -> ContractAnswer:
        at_us = fields.pop("captured_at_us", None)
        if at_us is not None:
            fields["captured_at"] = datetime.fromtimestamp(at_us / 1e6, UTC).isoformat()
        said = report_of(fields)
        question = self.question(request_id)
        return self.take(progress.report(self.state, self.switch, question, said, at_us or 0))

    def capture(self, feature: str, age_ms: float = 0) -> ContractAnswer:
        at_us = self.now_us - round(age_ms * MS)
        return self.tell(what="context_captured", feature=feature, captured_at_us=at_us)

    def stage(self, stage: str, took_ms: float) -> ContractAnswer:
        self.tell(what="stage_begun", stage=stage)
        self.wait(took_ms)
        return self.tell(what="stage_ended", stage=stage)

    def ready(self) -> "Play":
        """Begun, with all that an action needs."""
        assert self.begin().ok
        assert self.capture("priceFeed").ok
        assert self.tell(what="spread_counted", **SPREAD).ok
        return self

    def judge(
        self,
        contract: SafeActionContract | None = None,
        *,
        request_id: str | None = None,
        agent_id: str = "agent-7",
        facts: dict[str, object] | None = None,
        calls_seen: int = 0,
    ) -> ActionGateAnswer:
        question = self.question(request_id, agent_id)
        contract = contract or action()
        judged = judge(self.state, self.switch, question, contract, facts or {}, calls_seen)
        self.append(judged.entry)
        return judged.answer

    def dispatched(
        self,
        contract: SafeActionContract | None = None,
        *,
        request_id: str | None = None,
        **more: Any,
    ) -> ContractAnswer:
        each = contract or action()
        return self.tell(
            request_id,
            what="action_dispatched",
            action_id=each.action_id,
            action_type=each.action_type,
            **more,
        )

    def finished(self, contract: SafeActionContract | None = None, **more: Any) -> ContractAnswer:
        fields = {"outcome": "success", "result_hash": HASH, **more}
        action_id = (contract or action()).action_id
        return self.tell(what="action_finished", action_id=action_id, **fields)

    def verify(self, request_id: str | None = None, **changes: Any) -> ContractAnswer:
        fields: dict[str, Any] = {
            "action_id": "a-1",
            "method": "read_after_write",
            "expectation": {"status": "refunded"},
            "observed": {"status": "refunded"},
            "took_ms": 1,
            **changes,
        }
        question = self.question(request_id)
        return self.take(progress.verify(self.state, self.switch, question, **fields))

    def approve(
        self, by: str, action_hash: str | None, request_id: str | None = None
    ) -> ContractAnswer:
        question = self.question(request_id)
        return self.take(
            questions.approve(
                self.state, question, by=by, reason="looked at", action_hash=action_hash
            )
        )

    def freeze(self, by: str = "ada", request_id: str | None = None) -> ContractAnswer:
        question = self.question(request_id)
        return self.take(questions.freeze(self.state, self.switch, question, by=by, reason="stop"))

    def resume(self, by: str = "ada", reason: str = "looked at") -> ContractAnswer:
        return self.take(
            questions.resume(self.state, self.switch, self.question(), by=by, reason=reason)
        )

    def tick(self) -> ContractAnswer:
        return self.take(questions.tick(self.state, self.question()))

    def close(
        self, claimed: OutcomeCode = OutcomeCode.SUCCESS, calls_seen: int = 0
    ) -> ContractAnswer:
        assert self.state is not None
        return self.take(
            questions.close(
                self.state,
                self.switch,
                self.question(),
                record_id=RECORD,
                claimed=claimed,
                calls_seen=calls_seen,
            )
        )

    def halt(self, by: str = "ada", reason: str = "fire") -> ContractAnswer:
        return self._switched(kill_switch.halt, by, reason)

    def release(self, by: str = "ada", reason: str = "out") -> ContractAnswer:
        return self._switched(kill_switch.release, by, reason)

    def _switched(self, order: Any, by: str, reason: str) -> ContractAnswer:
        name = self.question().request_id
        switched = order(
            self.switch,
            request_id=name,
            by=by,
            reason=reason,
            now_us=self.now_us,
            after=self.sequence,
        )
        if switched.entry is not None:
            self.sequence += 1
            self.switch = fold_switch(self.switch, switched.entry, self.sequence)
        return switched.answer

    @property
    def drift(self) -> list[DriftEvent]:
        return [event for _, entry in self.log for event in sightings(entry)]

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        return [(each.drift_type.value, each.cause, each.severity.value) for each in self.drift]


def report_of(fields: dict[str, Any]) -> Any:
    """A report as the wire brings it."""
    question = {
        "request_id": "q",
        "runtime": "rt",
        "agent_id": "agent-7",
        "task_id": "task-1",
        "requested_at": "2026-01-31T12:00:00Z",
        "report": fields,
    }
    return DecisionReport.from_json(canonical_json(question)).report
