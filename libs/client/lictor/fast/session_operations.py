"""The questions of a guarded session, without the network: each is a generator that yields what to ask.

Whoever drives one sends `Ask.body` to `Ask.subject` and hands back the answer's bytes, or `Silence` with the reason
why there are none. It ends with a plain verdict, whatever happened: a call that nobody allowed is denied, advice that
nobody gave is empty, a stop that nobody judged is as configured. Nothing here raises for what an agent, a server or
a file system does.
"""

import os
import time

from lictor.fast import jsontext
from lictor.fast.answer_reader import (
    Answer,
    Silence,
    deny,
    read_advice,
    read_check,
    read_recorded,
    read_standing,
    read_state,
    read_stop,
)
from lictor.fast.frozen_values import Value
from lictor.fast.verdicts import MALFORMED_QUESTION, ReportVerdict, SessionStanding, ToolVerdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import Any, TypeVar

    from lictor.fast.verdicts import Advice, StateChange, StopVerdict
    from lictor.fast.workspace import Workspace

    T = TypeVar("T")

TIMEOUT_S = 2.0
# A snapshot, a restore and a reset concern everything a session knows, and nobody waits to act.
STATE_TIMEOUT_S = 10.0
_STATE_OPERATIONS = frozenset({"session.snapshot", "session.restore", "session.reset"})
MAX_ID = 512
MAX_LABEL = 256
MAX_TEXT = 64 * 1024
MAX_PARAMS = 256
MAX_OUTPUT = 1001
"""Characters of an output that are reported: one more than the service keeps, so that it says where it was cut."""
RESULTS = "lictor.session.result."
"""How the subjects begin on which results are reported."""
OUTCOMES = ("ok", "failed", "denied", "invalid", "crashed", "interrupted")


class Ask(Value):
    """A question to send, and how long to wait for its answer."""

    subject: str
    body: bytes
    timeout_s: float


class HandedOver(Value):
    """What an agent hands over as its output before it stops."""

    value: "Any"
    subagent: bool = False
    files: "list[dict[str, Any]] | None" = None
    """The files to look at before a stop, where somebody else has looked at them."""


class Pause(Value):
    """Somebody else decides: go on after so long, or as soon as something is heard that may tell of it."""

    seconds: float
    heard_on: str
    """The subject on which the broker repeats what is stored about the request: a hint, and nothing more."""
    verdict: ToolVerdict
    """What is waited for."""


if TYPE_CHECKING:
    Operation = Generator[Ask, Answer, T]
    Waiting = Generator[Ask | Pause, Answer, T]
    """An operation that may pause. Who answers a pause with Silence can't wait: then it is over."""


class Unaskable(Exception):
    """A question can't be written down; the message says why."""


class SessionOperations:
    """The questions of one session; remembers what the service told about it."""

    def __init__(
        self,
        *,
        runtime: str,
        session_id: str,
        workspace: "Workspace | None" = None,
        task_id: "str | None" = None,
        agent_id: "str | None" = None,
        definition: "str | None" = None,
        definition_hash: "str | None" = None,
        stop_on_silence: "str | None" = None,
        timeout_s: float = TIMEOUT_S,
        now_ns: "Callable[[], int]" = time.time_ns,
        new_id: "Callable[[], str] | None" = None,
    ) -> None:
        self.runtime = runtime
        self.session_id = session_id
        self.task_id = task_id or session_id
        self.agent_id = agent_id or runtime
        self._definition = definition
        self._definition_hash = definition_hash
        self._workspace = workspace
        self._stop_on_silence = stop_on_silence
        self._timeout_s = timeout_s
        self._now_ns = now_ns
        self._new_id = new_id or unique_id
        self._standing: SessionStanding | None = None

    def begin(
        self, *, prompted: bool = False, deadline_at: "str | None" = None
    ) -> "Operation[SessionStanding]":
        """Begin the session, or go on with it."""
        asked = self._ask(
            "session.begin",
            definition=self._definition,
            definition_hash=self._definition_hash,
            deadline_at=deadline_at,
            prompted=prompted,
        )
        return self._remember((yield from asked))

    def show(self) -> "Operation[SessionStanding]":
        """How the session stands; asked once, and remembered when it is known."""
        if self._standing is not None:
            return self._standing
        return self._remember((yield from self._ask("session.show")))

    def check(
        self,
        call_id: str,
        tool: str,
        params: "Any",
        *,
        cwd: "str | None" = None,
        resources: "list[dict[str, Any]] | None" = None,
    ) -> "Operation[ToolVerdict]":
        """May this tool be called? Only an answer that says so allows it.

        `resources` are the files that the call names, where somebody else has looked at them.
        """
        problem = _call_problem(call_id, tool, params)
        if problem is not None:
            own = deny(MALFORMED_QUESTION, problem, "correct that and call the tool again")
            return (yield from self.refuse(call_id, tool, own))
        standing = yield from self.show()
        if not standing.answered:
            return read_check(tool, "", _silence(standing))
        asked = self._ask(
            "gate.tool",
            call_id=call_id,
            tool=tool,
            params=params,
            resources=self._resources(standing, tool, params, cwd, resources),
            knows_ask=True,
        )
        request_id, answer = yield from asked
        verdict = read_check(tool, request_id, answer)
        if isinstance(answer, Silence) and answer.hopeless:
            return (yield from self.refuse(call_id, tool, verdict))
        if verdict.allowed and not standing.ok:
            # It began in between: the files of the call were not looked at.
            own = deny(
                MALFORMED_QUESTION,
                "the session began while the call was asked about",
                "call it again",
            )
            return (yield from self.refuse(call_id, tool, own))
        return verdict

    def refuse(
        self, call_id: object, tool: object, verdict: ToolVerdict
    ) -> "Operation[ToolVerdict]":
        """Tell of a call that this side denies itself: like any other denial it counts, and is a decision."""
        own = verdict.denials[0]
        told = least_said({"call_id": call_id, "tool": tool})
        asked = self._ask(
            "gate.tool",
            call_id=told["call_id"],
            tool=told["tool"],
            params={},
            refused={
                "policy_id": own.policy_id,
                "reason": clip(own.reason),
                "remedy": clip(own.remedy),
            },
        )
        # Whatever is answered, it stays denied.
        recorded = read_check(told["tool"], *(yield from asked))
        return ToolVerdict(
            allowed=False,
            text=verdict.text,
            denials=verdict.denials,
            record_id=recorded.record_id,
            definition_hash=recorded.definition_hash,
        )

    def result(
        self,
        call_id: str,
        tool: str,
        params: "Any",
        outcome: str,
        *,
        error: "str | None" = None,
        duration_ms: "int | None" = None,
        output_sha256: "str | None" = None,
        output: object = None,
        usage: "Mapping[str, Any] | None" = None,
        cwd: "str | None" = None,
        late: bool = False,
        resources: "list[dict[str, Any]] | None" = None,
    ) -> "Operation[ReportVerdict]":
        """A call has ended: `ok`, `failed`, `denied`, `invalid`, `crashed` or `interrupted`.

        `output` is what it returned: the begin of it is reported where a provider or a label looks at it.
        `late`: some time ago, so that the files it names may have changed since and are not looked at.

        The call was made, so it counts: what nobody will ever take is reported again with less.
        """
        standing = yield from self.show()
        if not standing.ok and not standing.unknown:
            return ReportVerdict(ok=False, answered=standing.answered, text=standing.text)
        writable = _call_problem(call_id, tool, params) is None
        unseen = late or not writable
        report: dict[str, object] = {
            "call_id": call_id,
            "tool": tool,
            "params": params,
            "outcome": outcome,
            "resources": [] if unseen else self._resources(standing, tool, params, cwd, resources),
            "error": None if error is None else clip(error),
            "duration_ms": duration_ms,
            "output_sha256": output_sha256,
            "usage": usage,
        }
        if writable:
            shorter: dict[str, object] = {**report, "params": {}, "error": None}
            # A service that did not ask for outputs may not know what they are.
            told = {"output": _begin_of(output)} if standing.tell_output else {}
            for form in ({**report, **told}, shorter):
                recorded = read_recorded(*(yield from self._ask("session.result", **form)))
                if not recorded.hopeless:
                    return recorded
        return read_recorded(*(yield from self._ask("session.result", **least_said(report))))

    def collect(
        self,
        call_id: str,
        look_at: "Iterable[str]" = (),
        *,
        files: "list[dict[str, Any]] | None" = None,
        output: HandedOver | None = None,
    ) -> "Operation[Advice]":
        """What should the agent hear now? `files` are those to look at, where somebody else has looked.

        With `output`, what the completion of the work lacks too: it is told, and nothing is blocked or counted.
        """
        if files is None and self._workspace is not None:
            files = self._workspace.look(look_at)
        told: dict[str, object] = {}
        if output is not None:
            told = {"output": (yield from self._handed_over(output))}
        return read_advice(
            *(yield from self._ask("session.collect", call_id=call_id, files=files or [], **told))
        )

    def _handed_over(self, output: HandedOver) -> "Operation[dict[str, object]]":
        files = output.files
        if files is None and self._workspace is not None:
            files = self._workspace.look((yield from self.show()).look_at)
        return {"value": output.value, "files": files, "subagent": output.subagent}

    def stop(
        self,
        reason: str,
        *,
        final_message: "str | None" = None,
        claim: "Mapping[str, Any] | None" = None,
        tentative_output: object = None,
        subagent: bool = False,
        files: "list[dict[str, Any]] | None" = None,
        request_id: "str | None" = None,
    ) -> "Operation[StopVerdict]":
        """May the agent stop working? `files` are as for `collect`; one `request_id` asked twice counts once."""
        standing = yield from self.show()
        on_silence = self._stop_on_silence or standing.stop_on_silence
        if not standing.answered:
            return read_stop(on_silence, "", _silence(standing))
        if files is None and self._workspace is not None:
            files = self._workspace.look(standing.look_at)
        told = {} if tentative_output is None else {"tentative_output": tentative_output}
        asked = self._ask(
            "gate.stop",
            request_id,
            **told,
            reason=clip(reason) or "it gave no reason",
            final_message=None if final_message is None else clip(final_message),
            claim=claim,
            files=files,
            subagent=subagent,
        )
        return read_stop(on_silence, *(yield from asked))

    def stop_unjudged(self, problem: str) -> "Operation[StopVerdict]":
        """What a stop comes to that can't be asked about now: as configured, like any other silence."""
        on_silence = self._stop_on_silence
        if on_silence is None:
            on_silence = (yield from self.show()).stop_on_silence
        return read_stop(on_silence, "", Silence(reason=problem, remedy=""))

    def cancel(self, approval_request: str, why: str) -> "Operation[ReportVerdict]":
        """The agent does not want to make a call any more that waits for a person."""
        told = {"approval_request": approval_request, "why": clip(why) or "it gave no reason"}
        return read_recorded(*(yield from self._ask("session.cancel", **told)))

    def usage(self, report_id: str, usage: "Mapping[str, Any]") -> "Operation[ReportVerdict]":
        """Tokens or money used, reported apart from a call."""
        return read_recorded(
            *(yield from self._ask("session.usage", report_id=report_id, usage=usage))
        )

    def snapshot(
        self, snapshot_id: str, *, with_document: bool = False
    ) -> "Operation[StateChange]":
        """Keep the session's state under a name."""
        asked = self._ask("session.snapshot", snapshot_id=snapshot_id, with_document=with_document)
        return read_state(*(yield from asked))

    def restore(
        self,
        cause: str,
        *,
        snapshot_id: "str | None" = None,
        document: "Mapping[str, Any] | None" = None,
    ) -> "Operation[StateChange]":
        """Set the session's state back to a snapshot or a document."""
        asked = self._ask(
            "session.restore", snapshot_id=snapshot_id, document=document, cause=clip(cause)
        )
        return read_state(*(yield from asked))

    def reset(self, cause: str) -> "Operation[StateChange]":
        """Forget what the session's policies and providers know."""
        return read_state(*(yield from self._ask("session.reset", cause=clip(cause))))

    def _remember(self, asked: "tuple[str, Answer]") -> SessionStanding:
        standing = read_standing(*asked)
        if standing.ok:
            self._standing = standing
            if self._workspace is not None and standing.mounts:
                self._workspace = self._workspace.with_mounts(standing.mounts)
        return standing

    def _resources(
        self,
        standing: SessionStanding,
        tool: str,
        params: "Mapping[str, Any]",
        cwd: "str | None",
        given: "list[dict[str, Any]] | None",
    ) -> "list[dict[str, Any]]":
        if given is not None:
            return given
        names = resource_params_of(tool, standing.resource_params)
        return [] if self._workspace is None else self._workspace.resolve(params, names, cwd)

    def _ask(
        self, operation: str, request_id: "str | None" = None, /, **fields: object
    ) -> "Operation[tuple[str, Answer]]":
        """Ask, and give the question's id with the answer."""
        request_id = request_id or self._new_id()
        try:
            self._check_identity()
            body = jsontext.write(
                {
                    "request_id": request_id,
                    "runtime": self.runtime,
                    "agent_id": self.agent_id,
                    "task_id": self.task_id,
                    "session_id": self.session_id,
                    "requested_at": rfc3339(self._now_ns()),
                    **fields,
                }
            )
        except Unaskable as error:
            return request_id, Silence(reason=str(error), remedy="correct that and ask again")
        except (TypeError, ValueError) as error:
            return request_id, Silence(
                reason=f"the question can't be written as JSON ({error})",
                remedy="use plain JSON values and text without broken characters",
                unwritable=True,
            )
        subject = question_subject(operation, self.runtime)
        concerns_state = operation in _STATE_OPERATIONS
        timeout_s = max(self._timeout_s, STATE_TIMEOUT_S) if concerns_state else self._timeout_s
        answer = yield Ask(subject=subject, body=body, timeout_s=timeout_s)
        return request_id, answer

    def _check_identity(self) -> None:
        _limit("the runtime's name", self.runtime, MAX_LABEL)
        for what, value in (
            ("the session id", self.session_id),
            ("the task id", self.task_id),
            ("the agent id", self.agent_id),
        ):
            _limit(what, value, MAX_ID)


def _silence(standing: SessionStanding) -> Silence:
    """What a first question met, as the answer to the one that it was for."""
    return Silence(reason=standing.reason, remedy=standing.remedy or "")


def resource_params_of(tool: str, listed: "Mapping[str, tuple[str, ...]]") -> "tuple[str, ...]":
    """The parameters of a tool that name files: by its exact name, else by the longest `prefix*` that fits."""
    if tool in listed:
        return listed[tool]
    fitting = [name for name in listed if name.endswith("*") and tool.startswith(name[:-1])]
    return listed[max(fitting, key=len)] if fitting else ()


def least_said(report: "Mapping[str, Any]") -> "dict[str, Any]":
    """A report with only what makes its call count, in a form that any service takes."""
    call_id, tool, outcome = report.get("call_id"), report.get("tool"), report.get("outcome")
    if not isinstance(call_id, str) or not call_id:
        call_id = unique_id()
    elif len(call_id) > MAX_ID or clip(call_id) != call_id:
        # The same again for the same call, so that it counts once.
        call_id = token(call_id)
    named = clip(tool)[:MAX_LABEL] if isinstance(tool, str) else ""
    return {
        **report,
        "call_id": call_id,
        "tool": named or "(without a name)",
        "params": {},
        # How it ended is not known: it may have done everything.
        "outcome": outcome if outcome in OUTCOMES else "crashed",
        "resources": [],
        "error": None,
        "duration_ms": None,
        "output_sha256": None,
        "usage": None,
    }


def _begin_of(output: object) -> "str | None":
    """The begin of what a call returned, as text; None for what is neither text nor JSON."""
    if output is None or isinstance(output, str):
        return None if output is None else clip(output)[:MAX_OUTPUT]
    try:
        return jsontext.write(output).decode()[:MAX_OUTPUT]
    except (TypeError, ValueError):
        return None


def _call_problem(call_id: object, tool: object, params: object) -> "str | None":
    """Why a call can't be asked about, or None."""
    try:
        _limit("the call id", call_id, MAX_ID)
        _limit("the tool's name", tool, MAX_LABEL)
    except Unaskable as error:
        return str(error)
    if not isinstance(params, dict):
        return f"the parameters are not an object but {_kind_of(params)}"
    if len(params) > MAX_PARAMS:  # pyright: ignore[reportUnknownArgumentType]
        return f"the call has {len(params)} parameters, more than {MAX_PARAMS}"  # pyright: ignore[reportUnknownArgumentType]
    return None


def _limit(what: str, value: object, longest: int) -> None:
    if not isinstance(value, str) or not value:
        raise Unaskable(f"{what} is missing or no text")
    if len(value) > longest:
        raise Unaskable(f"{what} has {len(value)} characters, more than {longest}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unaskable(f"{what} holds half a character (a lone surrogate)") from None


def _kind_of(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def clip(text: str) -> str:
    """Text that fits a text field: cut where it is too long, broken characters replaced."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()


def unique_id() -> str:
    """A random UUID."""
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def rfc3339(now_ns: int) -> str:
    """A moment in UTC, to the microsecond."""
    at = time.gmtime(now_ns // 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', at)}.{now_ns // 1000 % 1_000_000:06d}Z"


def question_subject(operation: str, runtime: str) -> str:
    """Where a runtime asks `gate.tool`, `session.begin`, …, as `lictor_bus.names.subjects` spells it."""
    return f"lictor.{operation}.{token(runtime)}"


def approval_hints(runtime: str, request_id: str) -> str:
    """Where the broker repeats what it stores about an approval request, as `lictor_bus.gates.history` spells it."""
    return f"lictor.stored.appr.{token(runtime)}.*.{token(request_id)}"


def token(raw_id: str) -> str:
    """The subject token of an id, as `lictor_bus.names.subjects.token` makes it, without what that imports."""
    if 0 < len(raw_id) <= 64 and all(_is_safe(char) for char in raw_id):
        return raw_id
    from hashlib import sha256

    slug = "".join(char if _is_safe(char) else " " for char in raw_id[:24])
    digest = sha256(raw_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"~{'-'.join(slug.split()).strip('-')}-{digest}"


def _is_safe(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char in "_-")
