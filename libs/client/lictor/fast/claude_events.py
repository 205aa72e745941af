"""Claude Code's hooks: from the event that a hook is given to what it has to answer.

A call is denied with `permissionDecision: deny`. An allowed one is answered with `{}`, never with `allow`, which would
skip the permissions that the user has set up. A hook that crashes, or answers with something else, lets the call
through, so `lictor.fast.hook` turns whatever goes wrong here into a denial.
"""

from lictor.fast.answer_reader import deny
from lictor.fast.frozen_values import Value
from lictor.fast.session_operations import HandedOver, SessionOperations, clip, unique_id
from lictor.fast.unsent_results import KeptResult, Unsent, send_waiting, unsent_folder
from lictor.fast.verdicts import RESULTS_UNKNOWN, beyond_agent
from lictor.fast.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from lictor.fast.session_operations import Operation, Waiting
    from lictor.fast.verdicts import StopVerdict, ToolVerdict

RUNTIME = "claude-code"
IGNORED = ("Notification", "PreCompact", "PostCompact", "SessionEnd", "SubagentStart")
"""Events that a hook may be registered for, and that nobody has to judge or hear of."""

STRUCTURED_OUTPUT = "StructuredOutput"
"""The tool by which the agent hands over a structured output; its parameters are the output."""
BLOCK = 2
"""The exit code that blocks; what then stands on stderr is the reason, and stdout is not read."""


class HookReply(Value):
    """What the hook process does: its JSON, or an exit code with a reason."""

    output: "Mapping[str, Any] | None"
    error: str = ""

    @property
    def exit_code(self) -> int:
        """0 with JSON on stdout, else the code that blocks."""
        return BLOCK if self.output is None else 0


class HookEvent(Value):
    """An event as Claude Code tells it, read with care: any field may be missing or of another kind."""

    fields: "Mapping[str, Any]"
    spare_id: str = ""
    """The call's id where the event has none: one for everything that is told of it."""

    @property
    def name(self) -> str:
        """The event's name; empty when it has none."""
        return self.text("hook_event_name")

    @property
    def continued(self) -> bool:
        """Whether the agent works on only because a stop was blocked."""
        return self.fields.get("stop_hook_active") is True

    def text(self, name: str) -> str:
        """A text field; empty when it is not there."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


def workspace_root(event: HookEvent, environment: "Mapping[str, str]", here: str) -> str:
    """The directory that file names are relative to: it must be the same for the whole session."""
    for root in (
        environment.get("LICTOR_WORKSPACE"),
        environment.get("CLAUDE_PROJECT_DIR"),
        event.text("cwd"),
    ):
        if root and root.startswith("/"):
            return root
    return here


def session_of(
    event: HookEvent, environment: "Mapping[str, str]", here: str, definition: "str | None"
) -> SessionOperations:
    """The session that an event belongs to."""
    runtime = runtime_of(environment)
    session_id = event.text("session_id")
    return SessionOperations(
        runtime=runtime,
        session_id=session_id,
        task_id=environment.get("LICTOR_TASK_ID") or session_id,
        agent_id=event.text("agent_id") or environment.get("LICTOR_AGENT_ID") or runtime,
        definition=definition or environment.get("LICTOR_DEFINITION") or None,
        workspace=Workspace(workspace_root(event, environment, here)),
        stop_on_silence=_chosen(environment.get("LICTOR_STOP_ON_SILENCE")),
    )


def unsent_of(event: HookEvent, environment: "Mapping[str, str]") -> Unsent:
    """Where the results of the event's session wait."""
    return Unsent(unsent_folder(environment), runtime_of(environment), event.text("session_id"))


def keep_first(event: HookEvent, unsent: Unsent) -> "KeptResult | None":
    """Keep a result before anything else is done: whatever ends this process, it is not lost."""
    if event.name not in _ENDED:
        return None
    report = dict(zip(("call_id", "tool", "params"), _call(event), strict=True))
    return unsent.keep({**report, "outcome": _outcome(event), "error": _error(event)})


def reply(
    event: HookEvent,
    session: SessionOperations,
    unsent: Unsent,
    kept: "KeptResult | None",
    ask_s: float = 0.0,
) -> "Waiting[HookReply]":
    """What to answer to an event, of which `kept` was kept first. A call waits `ask_s` for a person, if one decides."""
    if event.name in _BEGINNINGS:
        return (yield from _begins(event, session, unsent))
    handler = _HANDLERS.get(event.name)
    if handler is not None:
        but = frozenset(() if kept is None else (kept.name,))
        obstacle = yield from send_waiting(session, unsent, but=but, need_room=True)
        # A result waits behind the others: a check that was made before an edit must not be counted after it.
        if obstacle is None and handler is _pre_tool_use:
            return (yield from _pre_tool_use(event, session, kept, ask_s))
        if obstacle is None:
            return (yield from handler(event, session, kept))
        if handler is _stop:
            return _stop_reply(event, (yield from session.stop_unjudged(obstacle.text)))
        if handler is _pre_tool_use and obstacle.here:
            call_id, tool, _ = _call(event)
            own = deny(RESULTS_UNKNOWN, obstacle.text, beyond_agent("do that"))
            verdict = yield from session.refuse(call_id, tool, own)
            return (yield from _denied(session, call_id, verdict))
        return unjudged(event, obstacle.text, kept)
    if event.name in IGNORED:
        return HookReply(output={})
    return unjudged(event, f"the event {event.name[:80]!r} is not one that Lictor knows")


def unjudged(
    event: "HookEvent | None", problem: str, kept: "KeptResult | None" = None
) -> HookReply:
    """The answer when something went wrong: nothing is allowed by it, and no stop is blocked for ever."""
    name = "" if event is None else event.name
    text = f"Lictor could not judge this: {problem}"
    if name == "PreToolUse":
        return HookReply(output=_denial(text))
    if name in ("Stop", "SubagentStop"):
        if event is not None and event.continued:
            return HookReply(output={"systemMessage": f"{text}. The agent stops unjudged."})
        return HookReply(output={"decision": "block", "reason": text})
    if name in _ENDED:
        return _later(kept, problem)
    if name in _BEGINNINGS:
        return HookReply(output={"systemMessage": text})
    return HookReply(output=None, error=text)


def _pre_tool_use(
    event: HookEvent, session: SessionOperations, _: "KeptResult | None", ask_s: float = 0.0
) -> "Waiting[HookReply]":
    call = _call(event)

    def check() -> "Operation[ToolVerdict]":
        return session.check(*call, cwd=event.text("cwd"))

    verdict = yield from check()
    if verdict.asked and ask_s > 0:
        from lictor.fast.call_wait import Patience, waited

        verdict = yield from waited(verdict, check, session.runtime, Patience(seconds=ask_s))
    if verdict.allowed:
        return HookReply(output={})
    return (yield from _denied(session, call[0], verdict))


def _denied(
    session: SessionOperations, call_id: str, verdict: "ToolVerdict"
) -> "Operation[HookReply]":
    """A denied call has ended, and no other event will tell of it: what the agent should hear comes with the denial."""
    advice = ""
    if verdict.recorded:
        advice = (yield from session.collect(call_id)).text
    return HookReply(output=_denial(f"{verdict.text}\n\n{advice}" if advice else verdict.text))


def _post_tool_use(
    event: HookEvent, session: SessionOperations, kept: "KeptResult | None"
) -> "Operation[HookReply]":
    call = _call(event)
    recorded = yield from session.result(
        *call,
        _outcome(event),
        error=_error(event),
        output=event.fields.get("tool_response"),
        cwd=event.text("cwd"),
    )
    if not recorded.ok and not recorded.unknown:
        return _later(kept, recorded.text)
    if kept is not None:
        kept.forget()
    if not recorded.ok:
        # Nobody will ever take the results of a session that never began, nor allow it anything.
        return HookReply(
            output={"systemMessage": f"Lictor did not record this call: {recorded.text}"}
        )
    advice = yield from session.collect(call[0], recorded.look_at, output=_handed_over(event))
    return HookReply(output=_context(event, advice.text))


def _handed_over(event: HookEvent) -> "HandedOver | None":
    """The output that a call hands over, if that is what it did: the agent hears what is missing before it stops."""
    _, tool, params = _call(event)
    if tool != STRUCTURED_OUTPUT or _outcome(event) != "ok":
        return None
    return HandedOver(value=params, subagent=bool(event.text("agent_id")))


def _outcome(event: HookEvent) -> str:
    if event.name == "PostToolUseFailure":
        return "interrupted" if event.fields.get("is_interrupt") is True else "failed"
    response = event.fields.get("tool_response")
    # PostToolUse tells of calls that succeeded; only an explicit flag says otherwise, never what was printed.
    failed = isinstance(response, dict) and True in (
        response.get("is_error"),  # pyright: ignore[reportUnknownMemberType]
        response.get("isError"),  # pyright: ignore[reportUnknownMemberType]
    )
    return "failed" if failed else "ok"


def _error(event: HookEvent) -> "str | None":
    return clip(event.text("error")) or None


def _later(kept: "KeptResult | None", problem: str) -> HookReply:
    """A result can't be reported now. One that could not be kept either ends the agent's work: it stays unknown."""
    text = f"Lictor could not be told of this call: {problem}."
    if kept is not None:
        kept.stay()
        if kept.whole:
            return HookReply(
                output={"systemMessage": f"{text} It will be reported before the next one."}
            )
    text = f"{text} It could not be kept either: what was checked before it may be stale."
    return HookReply(output={"continue": False, "stopReason": text, "systemMessage": text})


def _begins(event: HookEvent, session: SessionOperations, unsent: Unsent) -> "Operation[HookReply]":
    standing = yield from session.begin(prompted=event.name == "UserPromptSubmit")
    if not standing.ok:
        text = f"Lictor does not guard this session yet, and denies its tool calls: {standing.text}"
        return HookReply(output={"systemMessage": text, **_context(event, text)})
    obstacle = yield from send_waiting(session, unsent, need_room=True)
    advice = yield from session.collect(unique_id(), ())
    told: dict[str, Any] = {}
    if obstacle is not None:
        told = {"systemMessage": f"Lictor denies tool calls now: {obstacle.text}"}
    return HookReply(output={**told, **_context(event, advice.text)})


def _stop(
    event: HookEvent, session: SessionOperations, _: "KeptResult | None"
) -> "Operation[HookReply]":
    verdict = yield from session.stop(
        "the agent ends its turn",
        final_message=event.text("last_assistant_message") or None,
        subagent=event.name == "SubagentStop",
    )
    return _stop_reply(event, verdict)


def _stop_reply(event: HookEvent, verdict: "StopVerdict") -> HookReply:
    if not verdict.allowed:
        # The service ends what it counts; a block that nobody counts is made once.
        if verdict.counted or not event.continued:
            return HookReply(output={"decision": "block", "reason": verdict.text})
        return HookReply(output={"systemMessage": f"The agent stops unjudged: {verdict.text}"})
    if verdict.escalated or verdict.bypass or not verdict.answered:
        return HookReply(output={"systemMessage": f"Lictor lets the agent stop: {verdict.text}"})
    return HookReply(output={})


_HANDLERS: "dict[str, Callable[[HookEvent, SessionOperations, KeptResult | None], Waiting[HookReply]]]" = {
    "PreToolUse": _pre_tool_use,
    "PostToolUse": _post_tool_use,
    "PostToolUseFailure": _post_tool_use,
    "Stop": _stop,
    "SubagentStop": _stop,
}

_BEGINNINGS = ("UserPromptSubmit", "SessionStart")
_ENDED = ("PostToolUse", "PostToolUseFailure")
EVENTS = (*_HANDLERS, *_BEGINNINGS)
"""The events that have to be registered."""


def _call(event: HookEvent) -> "tuple[str, str, Any]":
    """Call id, tool and parameters."""
    call_id = event.text("tool_use_id") or event.spare_id
    return call_id, event.text("tool_name"), event.fields.get("tool_input")


def _denial(reason: str) -> "dict[str, Any]":
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


def _context(event: HookEvent, text: str) -> "dict[str, Any]":
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def runtime_of(environment: "Mapping[str, str]") -> str:
    """The runtime in whose name a hook asks."""
    return environment.get("LICTOR_RUNTIME") or RUNTIME


def _chosen(value: "str | None") -> "str | None":
    return value if value in ("block", "allow") else None
