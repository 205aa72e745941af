"""What Claude Code is answered at each event, for every verdict. Numbers are the reference's scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lictor.fast.answer_reader import Silence
from lictor.fast.claude_events import (
    EVENTS,
    IGNORED,
    HookEvent,
    HookReply,
    keep_first,
    reply,
    session_of,
    workspace_root,
)
from lictor.fast.session_operations import Ask, Pause
from lictor.fast.unsent_results import Unsent

KNOWN: dict[str, Any] = {
    "ok": True,
    "reason": "it goes on",
    "resource_params": {
        **{tool: ["file_path"] for tool in ("Read", "Write", "Edit", "MultiEdit")},
        "NotebookEdit": ["notebook_path"],
    },
    "look_at": ["out.txt"],
}
ALLOW: dict[str, Any] = {"decision": "allow", "reason": "fine", "policy_id": "p"}
DENY: dict[str, Any] = {
    **ALLOW,
    "decision": "deny",
    "remedy": "read it first",
    "denials": [
        {"policy_id": "rbw", "reason": "it was not read", "remedy": "read it"},
        {"policy_id": "rate", "reason": "too many", "remedy": "wait"},
    ],
}
DONE: dict[str, Any] = {"ok": True, "reason": "done"}
BLOCKED: dict[str, Any] = {
    **ALLOW,
    "decision": "deny",
    "reason": "out.txt is missing",
    "remedy": "write it",
    "status": "incomplete",
    "attempt": 1,
}


class Guard:
    """Stands for the service: answers by operation, and keeps what it was asked."""

    def __init__(self, workspace: Path, **answers: Any) -> None:
        self.answers = {"show": KNOWN, "begin": KNOWN, "tool": ALLOW, **answers}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.environment = {"CLAUDE_PROJECT_DIR": str(workspace)}
        self.unsent = Unsent(str(workspace / ".state"), "claude-code", "s-1")

    def hook(self, name: str, **fields: Any) -> dict[str, Any]:
        answered = self.reply(name, **fields)
        assert answered.exit_code == 0
        assert answered.output is not None
        json.dumps(answered.output)
        return dict(answered.output)

    def reply(self, name: str, **fields: Any) -> HookReply:
        told = {"hook_event_name": name, "session_id": "s-1", **fields}
        event = HookEvent(fields=told, spare_id="spare")
        session = session_of(event, self.environment, "/", None)
        operation = reply(event, session, self.unsent, keep_first(event, self.unsent))
        try:
            ask = next(operation)
            while True:
                ask = operation.send(self._answer(ask))
        except StopIteration as done:
            return done.value

    def _answer(self, ask: Ask | Pause) -> bytes | Silence:
        assert isinstance(ask, Ask)
        operation, request = ask.subject.split(".")[2], json.loads(ask.body)
        self.asked.append((operation, request))
        answer = self.answers.get(operation, DONE)
        if isinstance(answer, dict):
            return json.dumps({"request_id": request["request_id"], **answer}).encode()
        return answer

    def last(self, operation: str) -> dict[str, Any]:
        return [request for asked, request in self.asked if asked == operation][-1]

    def count(self, operation: str) -> int:
        return sum(asked == operation for asked, _ in self.asked)


def call(tool: str = "Write", **params: Any) -> dict[str, Any]:
    return {"tool_name": tool, "tool_input": params, "tool_use_id": "toolu_1"}


def test_an_allowed_call_is_left_to_the_users_own_permissions(tmp_path: Path) -> None:
    """92: `allow` would skip the prompt that the user may have set up for this tool."""
    assert Guard(tmp_path).hook("PreToolUse", **call("Bash", command="ls")) == {}


def test_a_denied_call_tells_every_reason_and_remedy(tmp_path: Path) -> None:
    """Scenario 92: before a call: limits."""
    output = Guard(tmp_path, tool=DENY).hook("PreToolUse", **call(file_path="a"))
    specific = output["hookSpecificOutput"]
    assert specific["hookEventName"] == "PreToolUse"
    assert specific["permissionDecision"] == "deny"
    for words in ("it was not read", "read it", "too many", "wait"):
        assert words in specific["permissionDecisionReason"]


def test_an_agent_that_is_only_denied_hears_advice_with_the_denial(tmp_path: Path) -> None:
    """No other event comes after a denied call: whoever goes round in circles would hear nothing."""
    denied = {**DENY, "record_id": "0b1c3a52-7f0b-4a7e-9a70-6f3f0f0f9a11"}
    said = '<feedback provider="loops" severity="warning">\nStop that.\n</feedback>'
    guard = Guard(tmp_path, tool=denied, collect={**DONE, "text": said})
    output = guard.hook("PreToolUse", **call(file_path="a"))
    reason = output["hookSpecificOutput"]["permissionDecisionReason"]
    assert "it was not read" in reason
    assert reason.endswith(said)
    assert guard.last("collect")["call_id"] == "toolu_1"
    silent = Guard(tmp_path, tool=denied, collect=Silence(reason="nobody"))
    assert silent.hook("PreToolUse", **call(file_path="a"))["hookSpecificOutput"][
        "permissionDecisionReason"
    ].endswith("wait")


@pytest.mark.parametrize(
    "answer", [Silence(reason="nobody"), b"nonsense", {**ALLOW, "decision": 1}]
)
def test_a_call_that_nobody_judged_is_denied(tmp_path: Path, answer: Any) -> None:
    """Scenario 106: an error inside the hook."""
    for answers in ({"tool": answer}, {"show": answer}):
        output = Guard(tmp_path, **answers).hook("PreToolUse", **call(file_path="a"))
        assert output["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ("Read", "file_path"),
        ("Write", "file_path"),
        ("Edit", "file_path"),
        ("MultiEdit", "file_path"),
        ("NotebookEdit", "notebook_path"),
    ],
)
def test_native_tools_are_asked_about_with_their_files(
    tmp_path: Path, tool: str, param: str
) -> None:
    """Scenarios 93 and 120: the gate sees the runtime's own tools, under the call's id, with the file it names."""
    (tmp_path / "a.txt").write_text("x")
    guard = Guard(tmp_path)
    guard.hook("PreToolUse", cwd=str(tmp_path), **call(tool, **{param: "./a.txt"}))
    asked = guard.last("tool")
    assert (asked["call_id"], asked["tool"]) == ("toolu_1", tool)
    assert [(each["param"], each["key"]) for each in asked["resources"]] == [(param, "a.txt")]


def test_a_relative_path_is_read_from_where_the_agent_is(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    guard = Guard(tmp_path)
    guard.hook("PreToolUse", cwd=str(tmp_path / "d"), **call(file_path="a.txt"))
    assert guard.last("tool")["resources"][0]["key"] == "d/a.txt"


@pytest.mark.parametrize("tool_input", [None, [], "x", 7])
def test_parameters_that_are_no_object_are_denied(tmp_path: Path, tool_input: Any) -> None:
    """Scenario 118: invalid parameters."""
    guard = Guard(tmp_path)
    output = guard.hook("PreToolUse", **{**call(), "tool_input": tool_input})
    assert output["hookSpecificOutput"]["permissionDecision"] == "deny"
    ((_, told),) = guard.asked
    assert told["refused"]["policy_id"] == "lictor.client.malformed-question", "it is on the record"


@pytest.mark.parametrize("harm", ["a directory that is none", "a result that can't be read"])
def test_a_denial_for_what_waits_on_this_machine_is_on_the_record(
    tmp_path: Path, harm: str
) -> None:
    guard = Guard(tmp_path)
    if harm == "a directory that is none":
        (tmp_path / ".state").write_text("")
    else:
        (tmp_path / ".state/claude-code.s-1").mkdir(parents=True)
        (tmp_path / ".state/claude-code.s-1/1.json").write_text("")
    output = guard.hook("PreToolUse", **call("Bash", command="ls"))
    assert output["hookSpecificOutput"]["permissionDecision"] == "deny"
    told = guard.last("tool")
    assert (told["call_id"], told["tool"], told["params"]) == ("toolu_1", "Bash", {})
    assert told["refused"]["policy_id"] == "lictor.client.results-unknown"
    assert str(tmp_path / ".state") in told["refused"]["reason"]


def test_a_result_is_reported_with_its_call_and_advice_comes_back(tmp_path: Path) -> None:
    """Scenarios 94, 96 and 120: after a call; advice after a call; events of native tools."""
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "watched").write_text("")
    guard = Guard(
        tmp_path,
        result={**DONE, "look_at": ["watched"]},
        collect={**DONE, "text": "<feedback>hurry</feedback>"},
    )
    output = guard.hook("PostToolUse", **call(file_path="a.txt"), tool_response={"ok": 1})
    assert output["hookSpecificOutput"] == {
        "hookEventName": "PostToolUse",
        "additionalContext": "<feedback>hurry</feedback>",
    }
    report = guard.last("result")
    assert (report["call_id"], report["tool"], report["outcome"]) == ("toolu_1", "Write", "ok")
    assert report["runtime"] == "claude-code"
    assert report["resources"][0]["key"] == "a.txt"
    assert guard.last("collect")["files"] == [{"path": "watched", "state": "file", "size": 0}]


def test_without_advice_there_is_nothing_to_say(tmp_path: Path) -> None:
    """Scenario 96: advice after a call."""
    assert Guard(tmp_path).hook("PostToolUse", **call(file_path="a")) == {}
    guard = Guard(tmp_path, collect=Silence(reason="slow"))
    assert guard.hook("PostToolUse", **call(file_path="a")) == {}


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        ({"is_error": True}, "failed"),
        ({"isError": True, "content": []}, "failed"),
        ({"is_error": False, "stderr": "warning: unused"}, "ok"),
        ({"stderr": "error: this is only a warning", "stdout": ""}, "ok"),
        ({"is_error": "true"}, "ok"),
        ("error: what the tool printed", "ok"),
        ([{"type": "text", "text": "error: x"}], "ok"),
        (None, "ok"),
    ],
)
def test_only_an_explicit_flag_makes_a_finished_call_a_failure(
    tmp_path: Path, response: Any, outcome: str
) -> None:
    """Scenario 100: only a flag makes an error; what a tool prints never decides (weak spot a)."""
    guard = Guard(tmp_path)
    guard.hook("PostToolUse", **call("Bash", command="make"), tool_response=response)
    assert guard.last("result")["outcome"] == outcome


def test_a_structured_output_is_answered_with_what_its_completion_lacks(tmp_path: Path) -> None:
    """Scenario 98: PostToolUse on StructuredOutput adds feedback context, and blocks nothing."""
    (tmp_path / "out.txt").write_text("done")
    said = '<feedback provider="lictor.completion" severity="warning">\nx\n</feedback>'
    guard = Guard(tmp_path, collect={**DONE, "text": said})
    output = guard.hook(
        "PostToolUse", **call("StructuredOutput", answer=42), tool_response="ok", agent_id="helper"
    )
    assert output["hookSpecificOutput"]["additionalContext"] == said
    assert "decision" not in output
    handed_over = guard.last("collect")["output"]
    assert (handed_over["value"], handed_over["subagent"]) == ({"answer": 42}, True)
    (seen,) = handed_over["files"]
    assert (seen["path"], seen["state"]) == ("out.txt", "file")
    guard.hook("PostToolUse", **call("Bash", command="ls"), tool_response="ok")
    assert "output" not in guard.last("collect")
    guard.hook("PostToolUseFailure", **call("StructuredOutput", answer=1), error="invalid")
    assert "output" not in guard.last("collect")


def test_what_a_call_returned_is_told_only_where_a_provider_looks_at_it(tmp_path: Path) -> None:
    """Scenario 94: the output goes with the result, cut, and only where it is asked for."""
    response = {"stdout": "x" * 5000}
    guard = Guard(tmp_path)
    guard.hook("PostToolUse", **call("Bash", command="ls"), tool_response=response)
    assert "output" not in guard.last("result")
    asking = Guard(tmp_path, show={**KNOWN, "tell_output": True})
    asking.hook("PostToolUse", **call("Bash", command="ls"), tool_response=response)
    assert asking.last("result")["output"].startswith('{"stdout":"xxx')
    assert len(asking.last("result")["output"]) == 1001


@pytest.mark.parametrize(("interrupt", "outcome"), [(True, "interrupted"), (False, "failed")])
def test_a_call_that_failed_is_reported_and_advised_on_too(
    tmp_path: Path, interrupt: bool, outcome: str
) -> None:
    """Scenarios 94 and 99: failures come by an event of their own (weak spot b)."""
    guard = Guard(tmp_path, collect={**DONE, "text": "try less"})
    output = guard.hook("PostToolUseFailure", **call(), error="boom", is_interrupt=interrupt)
    assert (guard.last("result")["outcome"], guard.last("result")["error"]) == (outcome, "boom")
    assert output["hookSpecificOutput"] == {
        "hookEventName": "PostToolUseFailure",
        "additionalContext": "try less",
    }


def test_a_stop_is_judged_with_the_files_that_it_depends_on(tmp_path: Path) -> None:
    """Scenarios 101 and 102: the files go with the stop, and why the agent stops."""
    (tmp_path / "out.txt").write_text("x")
    guard = Guard(tmp_path, stop={**ALLOW, "status": "complete"})
    assert guard.hook("Stop", stop_hook_active=False, last_assistant_message="done") == {}
    asked = guard.last("stop")
    assert asked["files"] == [{"path": "out.txt", "state": "file", "size": 1}]
    assert (asked["final_message"], asked["subagent"]) == ("done", False)


@pytest.mark.parametrize("active", [False, True])
def test_an_early_stop_is_blocked_with_what_is_left_to_do(tmp_path: Path, active: bool) -> None:
    """Scenario 101: as often as the service counts it."""
    output = Guard(tmp_path, stop=BLOCKED).hook("Stop", stop_hook_active=active)
    assert output["decision"] == "block"
    assert "out.txt is missing" in output["reason"]
    assert "write it" in output["reason"]


@pytest.mark.parametrize(
    "change",
    [
        {"status": "bypassed", "bypass": "deadline"},
        {"status": "bypassed", "bypass": "budget"},
        {"status": "incomplete", "escalated": True, "attempt": 3},
    ],
)
def test_a_stop_without_complete_work_is_told_to_the_user(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """Scenarios 103, 108 and 152: a stop with nothing left; the final check; blocked again and again."""
    answer = {**ALLOW, "reason": "its time is up", **change}
    output = Guard(tmp_path, stop=answer).hook("Stop")
    assert "decision" not in output
    assert "its time is up" in output["systemMessage"]


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
@pytest.mark.parametrize(
    "answers",
    [
        {"stop": Silence(reason="nobody")},
        {"show": Silence(reason="nobody")},
        {"stop": b"nonsense"},
        {"stop": {**BLOCKED, "attempt": 0, "policy_id": "lictor.unavailable"}},
    ],
)
def test_a_stop_that_nobody_counts_is_blocked_once_and_never_for_ever(
    tmp_path: Path, event: str, answers: dict[str, Any]
) -> None:
    guard = Guard(tmp_path, **answers)
    assert guard.hook(event, stop_hook_active=False)["decision"] == "block"
    second = guard.hook(event, stop_hook_active=True)
    assert "decision" not in second
    assert "unjudged" in second["systemMessage"]


def test_silence_lets_the_agent_stop_where_that_is_configured(tmp_path: Path) -> None:
    guard = Guard(tmp_path, stop=Silence(reason="x"), show={**KNOWN, "stop_on_silence": "allow"})
    assert "decision" not in guard.hook("Stop")
    guard = Guard(tmp_path, show=Silence(reason="x"))
    guard.environment["LICTOR_STOP_ON_SILENCE"] = "allow"
    assert "systemMessage" in guard.hook("Stop")


@pytest.mark.parametrize("chosen", ["allow", "block"])
def test_a_stop_behind_an_unreported_result_is_as_configured_like_any_other_silence(
    tmp_path: Path, chosen: str
) -> None:
    """150: what waits to be reported keeps the stop from being judged, no more."""
    guard = Guard(tmp_path, result=Silence(reason="nobody"), stop=BLOCKED)
    guard.environment["LICTOR_STOP_ON_SILENCE"] = chosen
    guard.hook("PostToolUse", **call(file_path="a"))
    output = guard.hook("Stop", stop_hook_active=False)
    assert ("decision" in output) == (chosen == "block")
    assert "nobody" in output["reason" if chosen == "block" else "systemMessage"]
    assert guard.count("stop") == 0
    assert "decision" not in guard.hook("Stop", stop_hook_active=True), "never for ever"


def test_a_stop_behind_an_unreported_result_is_as_the_definition_says(tmp_path: Path) -> None:
    known = {**KNOWN, "stop_on_silence": "allow"}
    guard = Guard(tmp_path, show=known, result=Silence(reason="nobody"), stop=BLOCKED)
    guard.hook("PostToolUse", **call(file_path="a"))
    assert "nobody" in guard.hook("Stop", stop_hook_active=False)["systemMessage"]


def test_a_subagent_is_known_by_its_own_id(tmp_path: Path) -> None:
    """Scenario 105: two subagents side by side are told apart (weak spot c)."""
    guard = Guard(tmp_path, stop={**ALLOW, "status": "unchecked"})
    guard.hook("PreToolUse", **call(), agent_id="agent-7", agent_type="Explore")
    guard.hook("PreToolUse", **call())
    guard.hook("SubagentStop", agent_id="agent-7")
    agents = [request["agent_id"] for asked, request in guard.asked if asked in ("tool", "stop")]
    assert agents == ["agent-7", "claude-code", "agent-7"]
    assert guard.last("stop")["subagent"] is True


@pytest.mark.parametrize(
    ("event", "prompted"), [("SessionStart", False), ("UserPromptSubmit", True)]
)
def test_a_session_begins_and_hears_what_waited(tmp_path: Path, event: str, prompted: bool) -> None:
    """Scenario 105: subagents, prompts, compaction."""
    guard = Guard(tmp_path, collect={**DONE, "text": "two minutes left"})
    guard.environment |= {"LICTOR_DEFINITION": "coder", "LICTOR_TASK_ID": "task-9"}
    output = guard.hook(event, prompt="go", source="startup")
    asked = guard.last("begin")
    assert (asked["prompted"], asked["definition"], asked["task_id"]) == (
        prompted,
        "coder",
        "task-9",
    )
    assert output["hookSpecificOutput"] == {
        "hookEventName": event,
        "additionalContext": "two minutes left",
    }


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
@pytest.mark.parametrize(
    "answer", [Silence(reason="the broker is away"), {"ok": False, "reason": "the broker is away"}]
)
def test_a_session_that_can_not_begin_is_told_to_agent_and_user(
    tmp_path: Path, event: str, answer: Any
) -> None:
    output = Guard(tmp_path, begin=answer).hook(event)
    assert "the broker is away" in output["systemMessage"]
    assert "the broker is away" in output["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("event", IGNORED)
def test_events_that_nobody_judges_are_passed_without_a_question(
    tmp_path: Path, event: str
) -> None:
    """Scenario 105: subagents, prompts, compaction."""
    guard = Guard(tmp_path)
    assert guard.hook(event) == {}
    assert not guard.asked


@pytest.mark.parametrize("event", ["", "pretooluse", "PreToolUse ", "PermissionRequest", "x" * 500])
def test_an_event_that_nobody_knows_blocks(tmp_path: Path, event: str) -> None:
    """Scenario 104: a wrong event name blocks, where `{}` would allow (weak spot f)."""
    answered = Guard(tmp_path).reply(event)
    assert (answered.exit_code, answered.output) == (2, None)
    assert answered.error


@pytest.mark.parametrize(
    "answer", [Silence(reason="away"), {"ok": False, "reason": "the log can't be written"}]
)
def test_a_result_that_nobody_took_is_reported_before_anything_else(
    tmp_path: Path, answer: Any
) -> None:
    guard = Guard(tmp_path, result=answer)
    told = guard.hook("PostToolUse", **call("Edit", file_path="a"))
    assert "will be reported" in told["systemMessage"]
    denied = guard.hook("PreToolUse", **call("Bash", command="deploy"))
    assert "not reported yet" in denied["hookSpecificOutput"]["permissionDecisionReason"]
    assert guard.hook("Stop")["decision"] == "block"
    assert guard.count("tool") == guard.count("stop") == 0

    guard.answers["result"] = DONE
    assert guard.hook("PreToolUse", **call("Bash", command="deploy")) == {}
    late = guard.last("result")
    assert (late["tool"], late["outcome"], late["resources"]) == ("Edit", "ok", [])
    assert not guard.unsent.waiting()


def test_waiting_results_are_reported_in_their_order_after_a_begin(tmp_path: Path) -> None:
    guard = Guard(tmp_path, result=Silence(reason="away"))
    for name in ("first", "second", "third"):
        guard.hook("PostToolUse", **{**call(), "tool_use_id": name})
    guard.answers["result"] = DONE
    guard.hook("UserPromptSubmit")
    operations = [asked for asked, _ in guard.asked]
    assert operations[-5:] == ["begin", "result", "result", "result", "collect"]
    ids = [request["call_id"] for asked, request in guard.asked if asked == "result"][-3:]
    assert ids == ["first", "second", "third"]


def test_a_result_waits_behind_those_that_wait_already(tmp_path: Path) -> None:
    """Else a test that passed before an edit could be counted after it."""
    guard = Guard(tmp_path, result=Silence(reason="away"))
    guard.hook("PostToolUse", **{**call("Bash"), "tool_use_id": "test"})
    asked = guard.count("result")
    guard.hook("PostToolUse", **{**call("Edit"), "tool_use_id": "edit"})
    assert guard.count("result") == asked + 1, "only the one that waits is tried"
    guard.answers["result"] = DONE
    guard.hook("PreToolUse", **call("Bash"))
    reported = [request["call_id"] for name, request in guard.asked if name == "result"]
    assert reported[-2:] == ["test", "edit"]


def test_a_result_of_a_session_that_never_began_is_not_kept(tmp_path: Path) -> None:
    unknown = {"ok": False, "reason": "it never began", "policy_id": "lictor.unknown-session"}
    guard = Guard(tmp_path, result=unknown, show=unknown)
    assert "it never began" in guard.hook("PostToolUse", **call())["systemMessage"]
    assert not guard.unsent.waiting()


@pytest.mark.parametrize("policy_id", ["lictor.unavailable", "lictor.unusable-definition", None])
def test_a_service_that_can_not_work_is_no_reason_to_forget_a_result(
    tmp_path: Path, policy_id: str | None
) -> None:
    sick = {"ok": False, "reason": "the log can't be read", "policy_id": policy_id}
    guard = Guard(tmp_path, result=sick, show=sick)
    guard.hook("PostToolUse", **call("Edit", file_path="a"))
    assert guard.hook("PreToolUse", **call("Bash", command="deploy"))
    assert len(guard.unsent.waiting()) == 1

    guard.answers |= {"result": DONE, "show": KNOWN}
    assert guard.hook("PreToolUse", **call("Bash", command="deploy")) == {}
    assert guard.last("result")["tool"] == "Edit"


def test_a_result_that_is_refused_for_good_is_reported_with_less(tmp_path: Path) -> None:
    class Strict(Guard):
        def _answer(self, ask: Ask | Pause) -> bytes | Silence:
            assert isinstance(ask, Ask)
            told = super()._answer(ask)
            if "result" in ask.subject and self.last("result")["resources"]:
                no = {"ok": False, "reason": "malformed", "policy_id": "feedback.malformed-request"}
                return json.dumps({"request_id": "unknown", **no}).encode()
            return told

    guard = Strict(tmp_path)
    assert guard.hook("PostToolUse", **call("Edit", file_path="a")) == {}
    counted = guard.last("result")
    assert (counted["call_id"], counted["tool"]) == ("toolu_1", "Edit")
    assert (counted["params"], counted["resources"]) == ({}, [])
    assert not guard.unsent.waiting()


def test_a_result_that_can_not_be_kept_ends_the_agents_work_and_nothing_is_allowed_after_it(
    tmp_path: Path,
) -> None:
    guard = Guard(tmp_path, result=Silence(reason="away"))
    (tmp_path / ".state").write_text("not a directory")
    told = guard.hook("PostToolUse", **call())
    assert told["continue"] is False
    assert "could not be kept" in told["stopReason"]

    guard.answers["result"] = DONE
    denied = guard.hook("PreToolUse", **call("Bash", command="deploy"))
    assert "XDG_STATE_HOME" in denied["hookSpecificOutput"]["permissionDecisionReason"]
    assert guard.hook("Stop")["decision"] == "block"
    assert "XDG_STATE_HOME" in guard.hook("UserPromptSubmit")["systemMessage"]
    assert guard.count("stop") == 0
    assert [request["refused"] is None for asked, request in guard.asked if asked == "tool"] == [
        False
    ]


@pytest.mark.parametrize("content", ["", "{trunc", "[]"])
def test_a_kept_result_that_can_not_be_read_allows_nothing_until_somebody_removes_it(
    tmp_path: Path, content: str
) -> None:
    guard = Guard(tmp_path, result=Silence(reason="away"))
    guard.hook("PostToolUse", **call("Edit", file_path="a"))
    (kept,) = (tmp_path / ".state").rglob("*.json")
    kept.write_text(content)
    guard.answers["result"] = DONE
    for _ in range(2):
        denied = guard.hook("PreToolUse", **call("Bash", command="deploy"))
        assert str(kept) in denied["hookSpecificOutput"]["permissionDecisionReason"]
        assert guard.hook("Stop")["decision"] == "block"
    kept.unlink()
    assert guard.hook("PreToolUse", **call("Bash", command="deploy")) == {}


@pytest.mark.parametrize(
    "broken",
    [{"error": "bad \ud800 byte"}, {"tool_input": {"text": "\ud800"}}, {"tool_name": "E\ud800"}],
)
def test_a_result_with_half_a_character_is_kept_and_counts(
    tmp_path: Path, broken: dict[str, Any]
) -> None:
    guard = Guard(tmp_path, result=Silence(reason="away"))
    told = guard.hook("PostToolUseFailure", **{**call("Edit", file_path="a"), **broken})
    assert "will be reported" in told["systemMessage"]
    guard.answers["result"] = DONE
    assert guard.hook("PreToolUse", **call("Bash", command="deploy")) == {}
    assert guard.last("result")["outcome"] == "failed"
    assert not guard.unsent.waiting()


def test_a_call_without_an_id_counts_once(tmp_path: Path) -> None:
    guard = Guard(tmp_path, result=Silence(reason="away"))
    guard.hook("PostToolUse", **{**call(), "tool_use_id": ""})
    guard.answers["result"] = DONE
    guard.hook("UserPromptSubmit")
    ids = {request["call_id"] for asked, request in guard.asked if asked == "result"}
    assert ids == {"spare"}


def test_a_result_that_is_being_reported_is_left_to_the_hook_that_does_it(tmp_path: Path) -> None:
    guard = Guard(tmp_path)
    kept = guard.unsent.keep({"call_id": "c", "tool": "Edit", "params": {}, "outcome": "ok"})
    assert guard.hook("PreToolUse", **call()) == {}
    assert guard.count("result") == 0
    # It ends, and could not report it.
    kept.stay()
    assert guard.hook("PreToolUse", **call()) == {}
    assert guard.last("result")["call_id"] == "c"


def test_a_report_that_is_too_large_still_counts(tmp_path: Path) -> None:
    """5 MB of parameters: the call was made, so the service has to know of it."""

    class Small(Guard):
        def _answer(self, ask: Ask | Pause) -> bytes | Silence:
            assert isinstance(ask, Ask)
            if len(ask.body) > 1_000_000:
                return Silence(reason="too large", too_large=True)
            return super()._answer(ask)

    guard = Small(tmp_path)
    big = call("Bash", command="x" * 5_000_000)
    assert guard.hook("PostToolUse", **big) == {}
    assert (guard.last("result")["tool"], guard.last("result")["params"]) == ("Bash", {})
    denied = guard.hook("PreToolUse", **big)
    assert "too large" in denied["hookSpecificOutput"]["permissionDecisionReason"]


def test_the_root_stays_the_same_wherever_the_agent_goes() -> None:
    event = HookEvent(fields={"cwd": "/elsewhere"})
    assert (
        workspace_root(event, {"LICTOR_WORKSPACE": "/w", "CLAUDE_PROJECT_DIR": "/p"}, "/h") == "/w"
    )
    assert workspace_root(event, {"CLAUDE_PROJECT_DIR": "/p"}, "/h") == "/p"
    assert workspace_root(event, {}, "/h") == "/elsewhere"
    assert workspace_root(HookEvent(fields={"cwd": 7}), {}, "/h") == "/h"


def test_every_event_that_is_installed_has_an_answer(tmp_path: Path) -> None:
    for event in EVENTS:
        guard = Guard(tmp_path, stop={**ALLOW, "status": "unchecked"})
        assert guard.hook(event, **call()) == {}
