"""The questions fit the canonical models, and only an answer that says yes is a yes."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lictor.fast import broker_address, session_operations, verdicts, workspace
from lictor.fast.answer_reader import Silence
from lictor.fast.session_operations import Ask, SessionOperations
from lictor.fast.verdicts import StopVerdict, ToolVerdict
from lictor.fast.workspace import Workspace
from lictor_bus.names import subjects
from lictor_bus.service import settings
from lictor_guard.session import tool_gate
from lictor_guard.text import wording
from lictor_schema.core import base_model
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions import session_questions
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SessionBeginRequest,
    SnapshotRequest,
    StopGateRequest,
    ToolGateRequest,
    ToolResultReport,
    UsageReport,
)

MODELS: dict[str, type[GateRequest]] = {
    "lictor.session.begin.test": SessionBeginRequest,
    "lictor.session.show.test": GateRequest,
    "lictor.gate.tool.test": ToolGateRequest,
    "lictor.session.result.test": ToolResultReport,
    "lictor.session.collect.test": FeedbackRequest,
    "lictor.gate.stop.test": StopGateRequest,
    "lictor.session.usage.test": UsageReport,
    "lictor.session.snapshot.test": SnapshotRequest,
    "lictor.session.restore.test": RestoreRequest,
    "lictor.session.reset.test": ResetRequest,
    "lictor.session.cancel.test": CancelApprovalRequest,
}
KNOWN = {
    "ok": True,
    "reason": "it goes on",
    "resource_params": {"Write": ["file_path"], "fs_*": ["path"]},
    "mounts": ["/workspace"],
    "look_at": ["out.txt"],
}


class Service:
    """Answers questions after it has checked them against the models."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"show": KNOWN, **answers}
        self.asked: list[Any] = []

    def drive(self, operation: Generator[Ask, bytes | Silence, Any]) -> Any:
        try:
            ask = next(operation)
            while True:
                ask = operation.send(self.answer(ask))
        except StopIteration as done:
            return done.value

    def answer(self, ask: Ask) -> bytes | Silence:
        request = MODELS[ask.subject].from_json(ask.body)
        self.asked.append(request)
        answer = self.answers.get(ask.subject.split(".")[2], {"ok": True, "reason": "done"})
        if isinstance(answer, dict):
            return json.dumps({"request_id": request.request_id, **answer}).encode()
        return answer


@pytest.fixture
def session(tmp_path: Path) -> SessionOperations:
    return SessionOperations(runtime="test", session_id="s-1", workspace=Workspace(str(tmp_path)))


ALLOW = {"decision": "allow", "reason": "fine", "policy_id": "p"}


def check(service: Service, session: SessionOperations, params: Any = None) -> ToolVerdict:
    return service.drive(
        session.check("c-1", "Write", {"file_path": "a"} if params is None else params)
    )


def test_every_question_fits_its_model_and_its_subject(session: SessionOperations) -> None:
    service = Service(tool=ALLOW)
    usage = {"input_tokens": 1, "cost_usd": "0.5"}
    document = {"format": 1, "definition_hash": "sha256:" + "0" * 64, "facts": {"a/b": "c"}}
    for operation in (
        session.begin(prompted=True, deadline_at="2030-01-01T00:00:00Z"),
        session.show(),
        session.check("c", "Write", {"file_path": "x\ny"}),
        session.result(
            "c", "Write", {"file_path": "x"}, "ok", usage=usage, duration_ms=3, error=""
        ),
        session.collect("c", ["out.txt", "/workspace/z"]),
        session.stop("end_turn", final_message="done", claim={"type": "completion", "text": "x"}),
        session.usage("r", usage),
        session.snapshot("snap", with_document=True),
        session.restore("rolled back", snapshot_id="snap"),
        session.restore("rolled back", document=document),
        session.reset("a new start"),
        session.cancel("4e0cfb1e-6d8e-5d4c-9a59-0a6f3a1b2c3d", ""),
    ):
        service.drive(operation)
    assert {type(each) for each in service.asked} == set(MODELS.values()) - {GateRequest}
    assert {each.session for each in service.asked} == {"s-1"}


@given(st.text(min_size=1, max_size=80))
@example("a--b.c")
@example("-.-")
@example("x" * 65)
@example("ÿ")
def test_subjects_are_those_of_the_bus(raw: str) -> None:
    assert session_operations.token(raw) == subjects.token(raw)


def test_subject_names_are_those_of_the_bus() -> None:
    asked = session_operations.question_subject
    for gate in ("tool", "stop"):
        assert asked(f"gate.{gate}", "a b") == subjects.gate(gate, "a b")
    for operation in (
        "begin",
        "show",
        "result",
        "collect",
        "usage",
        "snapshot",
        "restore",
        "reset",
        "cancel",
    ):
        assert asked(f"session.{operation}", "a b") == subjects.session_request(operation, "a b")
    assert subjects.SESSION_REQUEST.at("result", "") == session_operations.RESULTS
    assert subjects.gate("tool", "test") in MODELS
    assert subjects.session_request("begin", "test") in MODELS


def test_what_the_hook_repeats_is_what_others_say() -> None:
    """It can't afford their imports."""
    assert verdicts.UNKNOWN_SESSION == tool_gate.UNKNOWN_SESSION
    assert verdicts.beyond_agent("wait") == wording.beyond_agent("wait")
    assert broker_address.DEFAULT_URL == settings.DEFAULT_NATS_URL
    assert workspace.MAX_RESOURCES == session_questions.MAX_RESOURCES
    assert session_operations.MAX_ID == base_model.MAX_ID_LENGTH
    assert session_operations.MAX_TEXT == base_model.MAX_TEXT_LENGTH


def test_a_call_is_asked_about_with_its_files(session: SessionOperations, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    service = Service(tool={**ALLOW, "definition_hash": "sha256:0"})
    assert check(service, session, {"file_path": "/workspace/a"}).allowed
    (resource,) = service.asked[-1].resources
    assert (resource.key, resource.state) == ("a", "file")
    assert service.drive(session.check("c-2", "fs_write", {"path": "b"})).allowed
    assert [each.key for each in service.asked[-1].resources] == ["b"]
    assert sum(type(each) is GateRequest for each in service.asked) == 1, "shown once"


def test_every_reason_reaches_the_agent_with_its_remedy(session: SessionOperations) -> None:
    denials = [
        {"policy_id": f"p{n}", "reason": f"reason {n}", "remedy": f"remedy {n}"} for n in range(3)
    ]
    record = "00000000-0000-4000-8000-000000000000"
    deny = {"decision": "deny", "reason": "r", "policy_id": "p0", "remedy": "m"}
    verdict = check(Service(tool={**deny, "denials": denials, "record_id": record}), session)
    assert not verdict.allowed
    assert [each.policy_id for each in verdict.denials] == ["p0", "p1", "p2"]
    assert all(f"reason {n}" in verdict.text and f"remedy {n}" in verdict.text for n in range(3))
    assert verdict.record_id == record


@pytest.mark.parametrize(
    "answer",
    [
        Silence(reason="nobody there"),
        b"",
        b"nonsense",
        b"[]",
        b"\xff",
        b'{"decision":"allow"}',
        b"[" * 100_000,
        {**ALLOW, "request_id": "another"},
        {**ALLOW, "decision": "Allow"},
        {**ALLOW, "decision": True},
        {**ALLOW, "decision": "wait", "remedy": "wait"},
        {**ALLOW, "decision": "rewrite", "message": "x"},
        {**ALLOW, "denials": [{"policy_id": "p", "reason": "r", "remedy": "m"}]},
        {**ALLOW, "denials": "none"},
        {"decision": "deny"},
        {},
    ],
)
def test_no_other_answer_than_allow_allows(session: SessionOperations, answer: Any) -> None:
    """Scenario 150: no answer denies, and so does every answer that can't be one."""
    verdict = check(Service(tool=answer), session)
    assert not verdict.allowed
    assert verdict.denials
    assert all(each.policy_id and each.reason and each.remedy for each in verdict.denials)
    assert verdict.text


def test_a_key_given_twice_is_no_answer(session: SessionOperations) -> None:
    class Twice(Service):
        def answer(self, ask: Ask) -> bytes | Silence:
            if "gate" not in ask.subject:
                return super().answer(ask)
            request_id = json.loads(ask.body)["request_id"]
            return (
                b'{"request_id":"%b","decision":"deny","reason":"r","policy_id":"p","decision":"allow"}'
                % request_id.encode()
            )

    assert not check(Twice(), session).allowed


def test_a_session_that_can_not_be_shown_is_still_asked_about_but_never_allowed(
    session: SessionOperations,
) -> None:
    """The gate keeps a record of the denial; an answer that would allow did not know the files."""
    unknown = {"ok": False, "reason": "unknown session", "remedy": "begin it"}
    service = Service(show=unknown, tool=ALLOW)
    assert not check(service, session).allowed
    assert isinstance(service.asked[-1], ToolGateRequest)


def test_silence_at_the_first_question_denies_without_asking_the_second(
    session: SessionOperations,
) -> None:
    service = Service(show=Silence(reason="the broker is away", remedy="start it"), tool=ALLOW)
    verdict = check(service, session)
    assert "the broker is away" in verdict.text
    assert "start it" in verdict.text
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([], "not an object"),
        ("x", "not an object"),
        (None, "not an object"),
        ({"a": "\ud800"}, "JSON"),
        ({"a": float("nan")}, "JSON"),
        ({"a": object()}, "JSON"),
        ({str(n): n for n in range(300)}, "300 parameters"),
    ],
)
def test_a_call_that_can_not_be_asked_about_is_denied(
    session: SessionOperations, params: Any, words: str
) -> None:
    verdict = Service(tool=ALLOW).drive(session.check("c", "t", params))
    assert not verdict.allowed
    assert words in verdict.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"session_id": "s" * 513}, "513 characters"),
        ({"session_id": "\ud800"}, "half a character"),
        ({"task_id": "t" * 513}, "the task id"),
        ({"agent_id": "a" * 513}, "the agent id"),
        ({"runtime": "r" * 257}, "the runtime's name"),
    ],
)
def test_an_identity_that_nobody_could_store_is_denied(change: dict[str, str], words: str) -> None:
    identity: dict[str, Any] = {"runtime": "test", "session_id": "s", **change}
    session = SessionOperations(**identity)
    assert words in check(Service(tool=ALLOW), session).text
    assert not Service().drive(session.begin()).ok
    assert not Service().drive(session.stop("end")).allowed
    assert Service().drive(session.collect("c")).text == ""


@pytest.mark.parametrize(
    ("tool", "call_id"), [("t" * 257, "c"), ("", "c"), ("t", ""), ("t", "c" * 513)]
)
def test_names_that_are_too_long_or_missing_are_denied(
    session: SessionOperations, tool: str, call_id: str
) -> None:
    assert not Service(tool=ALLOW).drive(session.check(call_id, tool, {})).allowed


def stop(service: Service, session: SessionOperations) -> StopVerdict:
    return service.drive(session.stop("end_turn"))


def test_a_stop_is_judged_with_the_files_that_matter(
    session: SessionOperations, tmp_path: Path
) -> None:
    (tmp_path / "out.txt").write_text("x")
    service = Service(stop={**ALLOW, "status": "complete", "attempt": 0})
    verdict = stop(service, session)
    assert (verdict.allowed, verdict.status, verdict.answered) == (True, "complete", True)
    assert [(each.path, each.state) for each in service.asked[-1].files] == [("out.txt", "file")]


def test_without_a_view_of_files_a_stop_says_so() -> None:
    """Scenario 112: finding the file system."""
    service = Service(stop={**ALLOW, "status": "unchecked"})
    stop(service, SessionOperations(runtime="test", session_id="s"))
    assert service.asked[-1].files is None


STORE_AWAY = {
    "decision": "deny",
    "reason": "the store of sessions does not answer",
    "remedy": "try again",
    "policy_id": "lictor.unavailable",
    "status": "incomplete",
    "attempt": 0,
}


@pytest.mark.parametrize("configured", ["block", "allow"])
@pytest.mark.parametrize(
    "answer",
    [Silence(reason="nobody"), b"nonsense", {**ALLOW}, {**ALLOW, "status": "sure"}, STORE_AWAY],
)
def test_a_stop_that_nobody_judged_is_as_configured(
    session: SessionOperations, configured: str, answer: Any
) -> None:
    service = Service(stop=answer, show={**KNOWN, "stop_on_silence": configured})
    verdict = stop(service, session)
    assert (verdict.allowed, verdict.status) == (configured == "allow", "unanswered")
    assert not verdict.answered


def test_a_blocked_stop_tells_what_is_left(session: SessionOperations) -> None:
    deny = {
        "decision": "deny",
        "reason": "out.txt is missing",
        "policy_id": "p",
        "remedy": "write it",
    }
    verdict = stop(Service(stop={**deny, "status": "incomplete", "attempt": 2}), session)
    assert (verdict.allowed, verdict.attempt) == (False, 2)
    assert "out.txt is missing" in verdict.text
    assert "write it" in verdict.text


def test_advice_is_passed_on_and_silence_is_none(session: SessionOperations) -> None:
    """Scenario 111: advice in the reply."""
    feedback = [{"provider": "Deadline", "summary": "hurry"}]
    answer = {"ok": True, "reason": "r", "text": "<feedback/>", "feedback": feedback}
    advice = Service(collect=answer).drive(session.collect("c", ["a"]))
    assert (advice.text, advice.feedback[0]["provider"]) == ("<feedback/>", "Deadline")
    for nothing in (Silence(reason="x"), b"?", {"ok": False, "reason": "unknown"}):
        assert Service(collect=nothing).drive(session.collect("c")).text == ""


def test_values_do_not_change_and_compare_by_content() -> None:
    verdict = ToolVerdict(allowed=False, text="no")
    assert verdict == ToolVerdict(allowed=False, text="no")
    assert verdict != ToolVerdict(allowed=True, text="no")
    assert hash(verdict) == hash(ToolVerdict(allowed=False, text="no"))
    with pytest.raises(AttributeError):
        verdict.allowed = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        ToolVerdict(allowed=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ToolVerdict(allowed=True, text="", more=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "change",
    [
        {"tool": "t" * 257},
        {"tool": ""},
        {"tool": "t\ud800"},
        {"call_id": ""},
        {"call_id": "c" * 513},
        {"call_id": "c\ud800"},
        {"params": None},
        {"params": {f"p{n}": n for n in range(257)}},
        {"params": {"p": "\ud800"}},
        {"params": {"p": object()}},
        {"outcome": "splendid", "params": None},
    ],
)
def test_a_call_that_was_made_is_reported_in_a_form_that_the_service_takes(
    session: SessionOperations, change: dict[str, Any]
) -> None:
    service = Service()
    made = {"call_id": "c", "tool": "t", "params": {}, "outcome": "ok", **change}
    assert service.drive(session.result(**made)).ok
    report = service.asked[-1]
    assert isinstance(report, ToolResultReport)
    assert report.params == {}
    assert report.outcome in ("ok", "crashed")


def test_a_call_with_an_impossible_id_counts_once_however_often_it_is_reported(
    session: SessionOperations,
) -> None:
    service = Service()
    for _ in range(2):
        service.drive(session.result("c" * 600, "t", {}, "ok"))
    ids = [each.call_id for each in service.asked if isinstance(each, ToolResultReport)]
    assert ids == [ids[0]] * 2
