"""Calls that people decide about, as the gate answers and as the client reads it: only `allow` allows anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor.fast.answer_reader import Silence, deny, read_check
from lictor.fast.call_wait import LONGEST_PAUSE_S, Patience, waited
from lictor.fast.nats_wire import NOT_WAITING
from lictor.fast.session_operations import Ask, Pause, approval_hints
from lictor.fast.verdicts import MALFORMED_ANSWER, UNANSWERED, ToolApproval, ToolVerdict
from lictor_bus.gates.history import APPROVAL_ENTRIES
from lictor_schema.gates.history import HistoryFilter
from lictor_schema.sessions import session_questions

REQUEST = "4e0cfb1e-6d8e-5d4c-9a59-0a6f3a1b2c3d"
WAITING = {
    "request_id": REQUEST,
    "standing": "waiting",
    "expires_at": "2030-01-01T00:00:00.000Z",
    "guidance": None,
    "decided_by": [],
    "params": None,
}
ASK = {
    "request_id": "q",
    "decision": "ask",
    "reason": "deploy needs somebody's yes",
    "remedy": "call it again when it is approved",
    "policy_id": "deploys",
    "approval": WAITING,
    "retry_after_ms": 2000,
}


def read(answer: dict[str, Any]) -> ToolVerdict:
    return read_check("deploy", "q", json.dumps(answer).encode())


def test_a_call_that_people_decide_about_is_neither_allowed_nor_denied() -> None:
    verdict = read(ASK)
    assert (verdict.allowed, verdict.asked, verdict.denials, verdict.recorded) == (
        False,
        True,
        (),
        False,
    )
    assert verdict.approval == ToolApproval(
        request_id=REQUEST, standing="waiting", expires_at="2030-01-01T00:00:00.000Z"
    )
    assert verdict.retry_after_ms == 2000
    assert verdict.text == (
        f"Request {REQUEST} is waiting for a person: deploy needs somebody's yes"
        " To do: call it again when it is approved"
    )


def test_it_is_no_recorded_denial_even_if_the_answer_names_a_record() -> None:
    assert not read({**ASK, "record_id": REQUEST}).recorded


@pytest.mark.parametrize(
    "change",
    [
        {"approval": None},
        {"approval": {}},
        {"approval": "yes"},
        {"approval": {**WAITING, "standing": "approved"}},
        {"approval": {**WAITING, "standing": "perhaps"}},
        {"approval": {**WAITING, "request_id": None}},
        {"approval": {**WAITING, "expires_at": 7}},
        {"approval": {**WAITING, "decided_by": "ann"}},
        {"approval": {**WAITING, "params": {}}},
        {"approval": {**WAITING, "standing": "edited"}},
        {"denials": [{"policy_id": "p", "reason": "no", "remedy": "don't"}]},
        {"retry_after_ms": -1},
        {"retry_after_ms": True},
        {"request_id": "another"},
        {"decision": "allow"},
        {"decision": "allow", "approval": {**WAITING, "standing": "rejected"}},
    ],
)
def test_what_says_less_or_contradicts_itself_is_denied(change: dict[str, Any]) -> None:
    verdict = read({**ASK, **change})
    assert (verdict.allowed, verdict.asked) == (False, False)
    assert [each.policy_id for each in verdict.denials] == [MALFORMED_ANSWER]


@pytest.mark.parametrize("decision", ["later", "wait", "rewrite", "ASK", "Allow", None, True, 1])
def test_a_decision_that_nobody_knows_is_a_denial(decision: object) -> None:
    """So a client of before `ask` denied: it read no decision but `allow`, and still doesn't."""
    verdict = read({**ASK, "decision": decision})
    assert (verdict.allowed, verdict.asked) == (False, False)
    assert [each.policy_id for each in verdict.denials] == ["deploys"]


def test_guidance_and_other_parameters_reach_the_agent() -> None:
    no = {"policy_id": "lictor.approval", "reason": "not on a Friday", "remedy": "wait"}
    edited = {**WAITING, "standing": "edited", "params": {"target": "staging"}}
    verdict = read({**ASK, "decision": "deny", "denials": [no], "approval": edited})
    assert "not on a Friday" in verdict.text
    assert '{"target":"staging"}' in verdict.text
    assert verdict.approval is not None
    assert verdict.approval.params == {"target": "staging"}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.sampled_from([*WAITING, "x"]), each),
)


@given(ANYTHING)
def test_no_approval_in_whatever_form_allows_or_asks_by_itself(approval: Any) -> None:
    assert not read({**ASK, "decision": "deny", "approval": approval}).allowed
    assert not read({**ASK, "approval": approval}).allowed


def test_the_names_are_those_of_the_schema() -> None:
    assert set(ToolApproval.__annotations__) <= set(session_questions.CallApproval.model_fields)
    sought = APPROVAL_ENTRIES.sought("a b", HistoryFilter(id=REQUEST))
    assert approval_hints("a b", REQUEST) == sought.live


class Gate:
    """Answers the questions of a wait, and lets time pass in its pauses."""

    def __init__(self, *verdicts: ToolVerdict) -> None:
        self.verdicts = list(verdicts)
        self.now = 0.0
        self.paused: list[float] = []
        self.heard: set[int] = set()
        """The pauses that end at once."""
        self.asked = 0

    def again(self) -> Generator[Ask, bytes | Silence, ToolVerdict]:
        self.asked += 1
        yield from ()
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]

    def wait(self, seconds: float, answer: Callable[[Pause], Any] = lambda _: b"") -> ToolVerdict:
        operation = waited(
            read(ASK), self.again, "test", Patience(seconds=seconds, now=lambda: self.now)
        )
        try:
            step = next(operation)
            while True:
                assert isinstance(step, Pause)
                self.paused.append(step.seconds)
                if len(self.paused) not in self.heard:
                    self.now += step.seconds
                step = operation.send(answer(step))
        except StopIteration as done:
            return done.value


ASKED = read({**ASK, "retry_after_ms": None})
ALLOWED = ToolVerdict(allowed=True, text="")
AWAY = deny(UNANSWERED, "nobody answers", "wait")
BUSY = deny("lictor.unavailable", "too many questions", "ask again")
NO = deny("lictor.approval", "not on a Friday", "wait")


def test_a_wait_that_ends_allows_nothing() -> None:
    gate = Gate(ASKED)
    verdict = gate.wait(60)
    assert (verdict.asked, verdict.allowed) == (True, False)
    assert gate.now == 60


def test_only_the_gates_answer_allows() -> None:
    gate = Gate(ASKED, ASKED, ALLOWED)
    assert gate.wait(60).allowed
    assert gate.asked == 3


def test_the_gate_is_asked_less_and_less_often_and_not_before_it_wants_to_be() -> None:
    gate = Gate(ASKED)
    gate.wait(100)
    # The first answer wanted two seconds.
    assert gate.paused[:6] == [2, 0.5, 1, 2, 4, LONGEST_PAUSE_S]


def test_what_is_heard_ends_a_pause_and_the_gate_decides() -> None:
    gate = Gate(ASKED, NO)
    gate.heard = {1, 2}
    assert gate.wait(60) == NO
    assert gate.now == 0


def test_a_gate_that_is_away_does_not_end_the_wait() -> None:
    gate = Gate(AWAY, BUSY, ALLOWED)
    assert gate.wait(60).allowed


def test_who_waits_longer_than_the_gate_is_there_hears_what_was_asked_for() -> None:
    verdict = Gate(AWAY).wait(60)
    assert verdict.asked
    assert verdict.approval is not None


def test_a_denial_ends_the_wait() -> None:
    gate = Gate(ASKED, NO)
    assert gate.wait(60) == NO


def test_who_can_not_wait_is_told_so_at_once() -> None:
    gate = Gate(ASKED)
    assert gate.wait(60, lambda _: NOT_WAITING).asked
    assert gate.asked == 0


def test_no_time_at_all_is_no_wait() -> None:
    gate = Gate(ASKED)
    assert gate.wait(0).asked
    assert gate.paused == []
