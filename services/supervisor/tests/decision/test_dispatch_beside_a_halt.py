"""Between what is read of a decision and what is answered: the kill-switch, and a replica that lags behind."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from governing_bus import CONTRACT, ENVELOPE, SPREAD

from lictor_bus.errors import SequenceConflict
from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.decision_log import Logged, key_of
from lictor_bus.logs.governed_decisions import Decisions
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing
from lictor_contracts.action.verification import METHODS
from lictor_contracts.decision import kill_switch
from lictor_contracts.decision.question_stamp import QuestionStamp
from lictor_contracts.decision.questions import Governing, begin
from lictor_contracts.decision.state import Switch
from lictor_schema.contracts.decision_log import (
    AnyDecisionEntry,
    SwitchEngaged,
    parse_decision_entry,
)
from lictor_schema.contracts.decision_questions import ActionGateRequest, DecisionReport
from lictor_schema.contracts.envelope import DTE
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.decisions.decision import PackStamp
from lictor_supervisor.decision.desk import FOLDS, ContractDesk

KEY = subjects.decision_key("openclaw", "task-1")
NOW_NS = 1_700_000_000_000_000_000
HASH = "sha256:" + "a" * 64


class MemoryLog:
    """The logs in memory; ``before_append`` runs once, right before an entry of a kind is stored."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, AnyDecisionEntry]] = []
        self.before_append: tuple[str, Callable[[], None]] | None = None

    def store(self, key: str, entry: AnyDecisionEntry) -> int:
        self.entries.append((key, entry))
        return len(self.entries)

    @property
    def appends(self) -> "MemoryLog":
        return self

    async def append(
        self,
        stream: str,
        message: Outgoing,
        after: int | None,
        *,
        log: str | None = None,
    ) -> int:
        assert (stream, log) == (streams.ACTIONS, None)
        entry = parse_decision_entry(message.body)
        key = key_of(entry)
        if self.before_append is not None and self.before_append[0] == entry.kind:
            (_, act), self.before_append = self.before_append, None
            act()
        if await self.last(key) != after:
            raise SequenceConflict("the log has grown")
        return self.store(key, entry)

    async def last(self, key: str) -> int:
        return max((at for at, (name, _) in enumerate(self.entries, 1) if name == key), default=0)

    async def read(self, key: str, after: int, until: int) -> list[Logged]:
        return [
            Logged(at, entry)
            for at, (name, entry) in enumerate(self.entries, 1)
            if name == key and after < at <= until
        ]


def question(request_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "runtime": "openclaw",
        "agent_id": "agent",
        "task_id": "task-1",
        "requested_at": "2026-01-31T12:00:00Z",
        **fields,
    }


def report(request_id: str, what: str, **fields: Any) -> DecisionReport:
    told = question(request_id, report={"what": what, **fields})
    return DecisionReport.from_json(canonical_json(told))


async def ready(log: MemoryLog) -> ContractDesk:
    """A desk with a decision that has begun, and has all that an action needs."""
    nobody: Any = None

    decisions = Decisions(log, FOLDS, now_ns=lambda: NOW_NS)  # pyright: ignore[reportArgumentType] -- as good as one
    desk = ContractDesk(nobody, decisions, nobody, METHODS, SeenCalls(nobody))
    dte = DTE.from_json(canonical_json(ENVELOPE))
    pack = PackStamp(pack_id="refunds", pack_version="1.0.0", pack_hash=HASH)
    governing = Governing("episode-1", dte.decision_type, "openclaw", dte, pack)
    asked = QuestionStamp("r-0", "openclaw", "task-1", "agent", NOW_NS // 1000, 0)
    begun = begin(None, Switch(), asked, governing).entry
    assert begun is not None
    log.store(KEY, begun)
    at = datetime.fromtimestamp(NOW_NS / 1e9, UTC).isoformat()
    told = [report("r-1", "spread_counted", **SPREAD)]
    for number, feature in enumerate(dte.freshness.feature_ttls):
        told.append(report(f"c-{number}", "context_captured", feature=feature, captured_at=at))
    for each in told:
        assert (await desk.report(each)).ok
    return desk


def engaged() -> SwitchEngaged:
    switched = kill_switch.halt(
        Switch(), request_id="halt", by="ada", reason="fire", now_us=NOW_NS // 1000, after=0
    )
    assert isinstance(switched.entry, SwitchEngaged)
    return switched.entry


def gate(request_id: str) -> ActionGateRequest:
    return ActionGateRequest.from_json(canonical_json(question(request_id, contract=CONTRACT)))


def dispatch(request_id: str) -> DecisionReport:
    told = {"action_id": CONTRACT["actionId"], "action_type": CONTRACT["actionType"]}
    return report(request_id, "action_dispatched", **told)


@pytest.mark.parametrize("kind", ["action_judged", "action_dispatched"])
async def test_a_halt_while_the_entry_is_written_is_not_too_late(kind: str) -> None:
    """Whoever was told that everything halts can rely on it: no later answer lets anything go."""
    log = MemoryLog()
    desk = await ready(log)

    def halt() -> None:
        log.store(subjects.SWITCH_KEY, engaged())

    log.before_append = (kind, halt)
    judged = await desk.gate(gate("r-2"))
    if kind == "action_judged":
        assert (judged.answer.decision, judged.answer.policy_id) == (
            "deny",
            "lictor.contract.frozen",
        )
        return
    assert judged.answer.decision == "allow"
    told = await desk.report(dispatch("r-3"))
    assert not told.ok
    assert "while frozen" in told.reason
