"""The law for what is sealed: an episode's outcome is never better than its records, its sources and its log."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from governing_bus import CONTRACT, ENVELOPE, HASH, RESULT, SPREAD, record
from hypothesis import given
from hypothesis import strategies as st
from task_messages import MOMENT, uuid

from lictor_contracts.action import gate
from lictor_contracts.decision import progress, questions
from lictor_contracts.decision.question_stamp import QuestionStamp
from lictor_contracts.decision.questions import Governing
from lictor_contracts.decision.state import Deciding, Switch, fold
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.decision_questions import DecisionReport
from lictor_schema.contracts.envelope import DTE
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.ids import episode_id
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.seals.episode import DecisionEpisode, OutcomeCode, RecordDigest
from lictor_schema.seals.episode_sources import EpisodeSources, GateNote
from lictor_sealer.episode.assembly import assemble, claimed_outcome
from lictor_sealer.episode.task_records import RecordsSeen

SUCCESS, PARTIAL, FAIL, ABSTAIN, BYPASSED = OutcomeCode
RANK = {SUCCESS: 0, PARTIAL: 1, ABSTAIN: 2, FAIL: 2, BYPASSED: 3}
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW_US = int(BEGAN.timestamp() * 1e6)
RUNS = {
    "executed": SUCCESS,
    "failed": PARTIAL,
    "compensated": PARTIAL,
    "partial": PARTIAL,
    "in_doubt": PARTIAL,
    None: PARTIAL,
}
RECEIPTS = {"planned": SUCCESS, "acked": SUCCESS, "failed": PARTIAL}
SAID = {"completed": SUCCESS, "failed": FAIL}
DECISIONS = ["none", "done", "refused", "differs", "abstained", "bypassed", "unsent"]
SHOWN = {
    "done": SUCCESS,
    "refused": FAIL,
    "differs": FAIL,
    "abstained": ABSTAIN,
    "bypassed": BYPASSED,
    "unsent": FAIL,
}


def stored(status: str, spawned: int, completed: int) -> RecordsSeen:
    kinds = [
        "task_started",
        *["subagent_spawned"] * spawned,
        *["subagent_completed"] * completed,
    ]
    each = [
        record("task", f"e-{n}", event_type=kind, at=BEGAN + timedelta(seconds=n))
        for n, kind in enumerate(kinds)
    ]
    end = record("task", "end", closes=True, status=status, at=BEGAN + timedelta(hours=1))
    seen = RecordsSeen()
    for one in (*each, end):
        seen.take(one)
    return seen


def assembled(
    records: RecordsSeen, governed: Deciding | None = None, told: EpisodeSources | None = None
) -> DecisionEpisode:
    named = RecordDigest(record_id=records.first.record_id, record_hash=HASH)
    return assemble(records, [named], governed, told)


def sources(runs: list[str | None], receipts: list[str]) -> EpisodeSources:
    value: dict[str, Any] = {
        "coveredUntilUs": 1,
        "eventsRoot": HASH,
        "strands": [],
        "runs": [
            {
                "runId": uuid(n),
                "submissionId": f"s-{n}",
                **dict.fromkeys(("programHash", "irHash", "layerHash", "bindingHash"), HASH),
                "approvedBy": "ada",
                "signed": "a note",
                "outcome": outcome,
                "messageHash": HASH,
            }
            for n, outcome in enumerate(runs)
        ],
        "receipts": [
            {
                "reportId": f"r-{n}",
                "recordId": uuid(n),
                "status": status,
                "deliveryState": {"planned": "queued"}.get(status, status),
                "reportedAt": MOMENT,
                "messageHash": HASH,
            }
            for n, status in enumerate(receipts)
        ],
    }
    return EpisodeSources.from_json(canonical_json(value))


class Decision:
    """A governed decision without a bus."""

    def __init__(self, records: RecordsSeen) -> None:
        first = records.first
        self.records = records
        self.state: Deciding | None = None
        self.asked = 0
        dte = DTE.from_json(canonical_json(ENVELOPE))
        pack = PackStamp(pack_id="refunds", pack_version="1", pack_hash=HASH)
        episode = episode_id(first.task_id, first.event_id)
        governing = Governing(episode, "refund", "rt", dte, pack)
        self.take(questions.begin(None, Switch(), self.ask(), governing).entry)

    def ask(self, after_ms: int = 0) -> QuestionStamp:
        self.asked += 1
        return QuestionStamp(
            f"q-{self.asked}", "rt", "task", "agent", NOW_US + after_ms * 1000, self.asked
        )

    def take(self, entry: Any) -> None:
        if entry is not None:
            self.state = fold(self.state, entry, self.asked)

    def tell(self, **fields: Any) -> None:
        asked = self.ask()
        question = {
            "request_id": asked.request_id,
            "runtime": "rt",
            "agent_id": "agent",
            "task_id": "task",
            "requested_at": MOMENT,
            "report": fields,
        }
        said = DecisionReport.from_json(canonical_json(question)).report
        self.take(progress.report(self.state, Switch(), asked, said, NOW_US).entry)

    def judge(self, **changes: Any) -> None:
        contract = SafeActionContract.from_json(canonical_json({**CONTRACT, **changes}))
        self.take(gate.judge(self.state, Switch(), self.ask(), contract, {}).entry)

    def dispatch(self) -> None:
        self.tell(what="action_dispatched", action_id="a-1", action_type="refund")

    def closed(self, claimed: OutcomeCode) -> Deciding:
        assert self.state is not None
        last = self.records.last
        self.take(
            questions.close(
                self.state, Switch(), self.ask(), record_id=last.record_id, claimed=claimed
            ).entry
        )
        return self.state


def decided(how: str, records: RecordsSeen) -> Deciding | None:
    if how == "none":
        return None
    decision = Decision(records)
    if how != "abstained":
        decision.tell(what="context_captured", feature="balance", captured_at=MOMENT)
        decision.tell(what="spread_counted", **SPREAD)
    if how != "bypassed":
        decision.judge(**({"authorization": {"mode": "blocked"}} if how == "refused" else {}))
    if how in ("done", "differs", "bypassed"):
        decision.dispatch()
    if how in ("done", "differs"):
        observed = {"amount": 5 if how == "done" else 50}
        end = {"outcome": "success", "result_hash": RESULT, "expected": {"amount": 5}}
        decision.tell(what="action_finished", action_id="a-1", observed=observed, **end)
    return decision.closed(claimed_outcome(records))


@given(
    st.sampled_from(list(SAID)),
    st.integers(0, 2),
    st.integers(0, 2),
    st.lists(st.sampled_from(list(RUNS)), max_size=2),
    st.lists(st.sampled_from(list(RECEIPTS)), max_size=2),
    st.sampled_from(DECISIONS),
)
def test_an_episode_s_outcome_is_never_better_than_anything_that_it_covers(
    status: str, spawned: int, completed: int, runs: list[Any], receipts: list[str], how: str
) -> None:
    records = stored(status, spawned, completed)
    episode = assembled(records, decided(how, records), sources(runs, receipts))
    signs = {
        f"reported {status}": SAID[status],
        "children": PARTIAL if spawned > completed else SUCCESS,
        **{f"run {each}": RUNS[each] for each in runs},
        **{f"receipt {each}": RECEIPTS[each] for each in receipts},
        how: SHOWN.get(how, SUCCESS),
    }
    for what, best in signs.items():
        assert RANK[episode.outcome.code] >= RANK[best], (what, episode.outcome)
    if all(best is SUCCESS for best in signs.values()):
        assert episode.outcome.code is SUCCESS
    assert episode.outcome.reason
    assert DecisionEpisode.from_json(episode.to_json()) == episode


def test_a_log_that_an_older_sealer_closed_as_a_success_is_sealed_as_what_it_shows() -> None:
    records = stored("completed", 0, 0)
    state = decided("refused", records)
    assert state is not None
    assert state.closed is not None
    old = state.closed.model_copy(update={"outcome": SUCCESS})
    object.__setattr__(state, "closed", old)
    assert assembled(records, state).outcome.code is FAIL


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        (["failed"], FAIL),
        (["compensated"], FAIL),
        (["partial"], PARTIAL),
        (["failed", "executed"], PARTIAL),
        ([None], PARTIAL),
        (["executed"], SUCCESS),
    ],
)
def test_a_failed_run_is_no_success(runs: list[str | None], outcome: OutcomeCode) -> None:
    episode = assembled(stored("completed", 0, 0), None, sources(runs, []))
    assert episode.outcome.code is outcome


def test_an_action_that_was_denied_because_no_decision_began_is_no_success() -> None:
    note = GateNote(
        record_id=uuid(1),
        recorded_at=MOMENT,
        gate="action",
        decision="deny",
        policy_id="lictor.contract.not-begun",
        reason="no decision of task began",
        message_hash=HASH,
    )
    seen = sources([], []).model_copy(update={"gates": (note,)})
    records = stored("completed", 0, 0)
    assert assembled(records, None, seen).outcome.code is FAIL
    # Where one began after that, what it did is in its own log; but for what was asked after its end.
    assert assembled(records, decided("done", records), seen).outcome.code is SUCCESS
    late = note.model_copy(update={"policy_id": "lictor.contract.ended"})
    seen = seen.model_copy(update={"gates": (late,)})
    assert assembled(records, decided("done", records), seen).outcome.code is PARTIAL


@pytest.mark.parametrize(
    ("policy_id", "beside_what_was_done"),
    [
        ("sealer.malformed-request", PARTIAL),
        ("sealer.internal-error", SUCCESS),
        ("lictor.unavailable", SUCCESS),
        ("lictor.contract.not-begun", SUCCESS),
        ("lictor.contract.result-unknown", PARTIAL),
        ("lictor.contract.ended", PARTIAL),
    ],
)
def test_a_decision_whose_only_action_was_denied_outside_of_its_log_is_no_success(
    policy_id: str, beside_what_was_done: OutcomeCode
) -> None:
    note = GateNote(
        record_id=uuid(1),
        recorded_at=MOMENT,
        gate="action",
        decision="deny",
        policy_id=policy_id,
        reason="it could not be judged",
        message_hash=HASH,
    )
    seen = sources([], []).model_copy(update={"gates": (note,)})
    records = stored("completed", 0, 0)
    nothing = Decision(records).closed(claimed_outcome(records))
    episode = assembled(records, nothing, seen)
    assert episode.outcome.code is FAIL
    assert "nothing was done" in str(episode.outcome.reason)
    assert "an action was denied: it could not be judged" in str(episode.outcome.reason)
    assert assembled(records, decided("abstained", records), seen).outcome.code is ABSTAIN
    done = assembled(records, decided("done", records), seen)
    assert done.outcome.code is beside_what_was_done
    again = note.model_copy(update={"policy_id": "lictor.contract.already-done"})
    seen = seen.model_copy(update={"gates": (again,)})
    assert assembled(records, decided("done", records), seen).outcome.code is SUCCESS


def test_what_was_sent_without_asking_is_told_as_sent() -> None:
    records = stored("completed", 0, 0)
    episode = assembled(records, decided("bypassed", records))
    assert episode.outcome.code is BYPASSED
    assert str(episode.outcome.reason).startswith("1 sent: refund (a-1) without asking; ")
    assert "nothing was done" not in str(episode.outcome.reason)


def test_an_episode_of_the_longest_ids_and_reasons_still_fits_into_a_message() -> None:
    records = stored("completed", 0, 0)
    decision = Decision(records)
    long = "x" * 500
    for n in range(200):
        decision.tell(what="context_captured", feature=f"{n}{long[:250]}", captured_at=MOMENT)
    target = {"type": long[:256], "id": long}
    fact = {"fact": long[:256], "operator": "equals", "value": long}
    for n in range(90):
        decision.judge(
            actionId=f"{n}-{long}",
            actionType=long[:256],
            idempotencyKey=f"{n}-{long}",
            targetRefs=[target] * 20,
            preconditions=[fact] * 20,
        )
    state = decision.closed(SUCCESS)
    episode = assembled(records, state)
    assert len(episode.refused_actions) == 64
    assert "90 in all were asked for and not done" in str(episode.outcome.reason)
    assert len(episode.to_json()) < 512 * 1024


def test_the_plan_and_the_outcome_are_told_in_plain_words() -> None:
    episode = assembled(stored("completed", 0, 0))
    assert episode.plan.summary == "Work"
    assert episode.outcome.reason == (
        "the task was reported completed, and no rule stood against it"
    )
    lost = assembled(stored("completed", 2, 1))
    assert "1 of 2 child runs were never heard of" in str(lost.outcome.reason)
