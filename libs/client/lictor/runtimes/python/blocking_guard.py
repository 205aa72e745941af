"""The guard of an agent without asyncio: the same as `Guard`, over a blocking connection."""

import functools
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from lictor.errors import Unreachable
from lictor.fast.call_wait import Patience
from lictor.fast.nats_wire import Connection, run
from lictor.fast.session_operations import TIMEOUT_S, HandedOver, SessionOperations, unique_id
from lictor.fast.unsent_results import unsent_here
from lictor.fast.verdicts import (
    Advice,
    ReportVerdict,
    SessionStanding,
    StateChange,
    StopVerdict,
    ToolVerdict,
)
from lictor.fast.workspace import in_this_process
from lictor.installation.endpoints import judge_url
from lictor.runtimes.adapter_capabilities import PYTHON
from lictor.runtimes.guarded_session import (
    AskNotices,
    Guarding,
    MadeCall,
    OnAsk,
    OnFeedback,
    tell,
)
from lictor.runtimes.python.function_tools import (
    Changed,
    Denied,
    Tool,
    Work,
    active,
    changed,
    denial,
    finished,
    is_async,
    not_allowed,
    plain,
)
from lictor.runtimes.wait_time import Wait, patience

if TYPE_CHECKING:
    from lictor.fast.session_operations import Pause, Waiting

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
# A server gives up on a connection that leaves its pings unanswered for some minutes, and nobody reads in between.
_IDLE_S = 60.0


class SyncGuard:
    """One guarded session; made by `lictor.guard_sync`, and begun by `with`. Threads may share it."""

    capabilities = PYTHON

    def __init__(
        self,
        connection: Connection,
        guarding: Guarding,
        *,
        deadline_at: str | None = None,
        on_feedback: OnFeedback | None = None,
        on_ask: OnAsk | None = None,
        apply_edits: bool = False,
    ) -> None:
        self._connection = connection
        self._guarding = guarding
        self._deadline_at = deadline_at
        self._on_feedback = on_feedback
        self._on_ask = on_ask
        self._apply_edits = apply_edits
        self._one_at_a_time = threading.Lock()
        self._last_asked = 0.0
        self._outer: Any = None
        self.stopped: StopVerdict | None = None
        """How the last stop was judged."""

    def __enter__(self) -> "SyncGuard":
        try:
            self._begin(prompted=False)
        except BaseException:
            self._connection.close()
            raise
        self._outer = active.get()
        active.set(self)
        return self

    def __exit__(self, *_problem: object) -> None:
        active.set(self._outer)
        try:
            self._drive(self._guarding.settle())
        finally:
            self._guarding.keep_rest()
            self._connection.close()

    def prompted(self) -> SessionStanding:
        """Somebody has just given the agent new work: blocked stops are counted anew."""
        return self._begin(prompted=True)

    def check(
        self,
        tool: str,
        params: Mapping[str, Any],
        *,
        call_id: str | None = None,
        wait: Wait = None,
    ) -> ToolVerdict:
        """May this tool be called? As `Guard.check`: a person's decision is waited for so long."""
        return self._check(tool, params, call_id or unique_id(), patience(wait))

    def cancel_approval(self, request_id: str, why: str) -> ReportVerdict:
        """The agent does not want to make a call any more that waits for a person; never raises."""
        return self._drive(self._guarding.cancel_approval(request_id, why))

    def refuse(self, tool: str, verdict: ToolVerdict, *, call_id: str) -> ToolVerdict:
        """Tell of a call that the caller denies itself, because it can't be asked about; never raises."""
        return self._told(self._drive(self._guarding.refuse(call_id, tool, verdict)))

    def result(
        self,
        tool: str,
        params: Mapping[str, Any],
        *,
        call_id: str,
        outcome: str = "ok",
        error: BaseException | None = None,
        output: object = None,
    ) -> Advice:
        """A call that `check` allowed has ended; what the agent should hear now."""
        return self._ended(MadeCall(call_id, tool, plain(params)), outcome, error, output)

    def call(
        self,
        tool: str,
        params: Mapping[str, Any],
        function: Callable[..., R],
        *,
        call_id: str | None = None,
        wait: Wait = None,
    ) -> R:
        """Check, call `function(**params)`, report how it ended. Raises ToolDenied when it may not be called.

        Where a person decides, that is waited for so long; ToolAsked, a ToolDenied, when nobody has decided then. Other
        threads are not held up meanwhile.
        """
        work = Work.of_call(function, params)
        return self._make(tool, work, "raise", call_id, patience(wait))

    def make(
        self,
        tool: str,
        params: Mapping[str, Any],
        work: Callable[[], Any],
        denied: Denied,
        *,
        call_id: str | None = None,
        wait: Wait = None,
    ) -> Any:
        """The same for work that needs no arguments."""
        return self._make(tool, Work.of_own(work, params), denied, call_id, patience(wait))

    def use(self, tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The same for a function with its arguments."""
        work = tool.work(args, kwargs)
        if isinstance(work, ToolVerdict):
            refused = self.refuse(tool.name, work, call_id=unique_id())
            return denial(tool.name, refused, tool.denied)
        return self._make(tool.name, work, tool.denied, None, tool.patience)

    def _make(
        self,
        tool: str,
        work: Work,
        denied: Denied,
        call_id: str | None,
        patience: Patience | None,
    ) -> Any:
        call_id = call_id or unique_id()
        verdict = self._check(tool, work.params, call_id, patience)
        edited = work.as_edited(verdict) if self._apply_edits else None
        if edited is not None:
            # Another call, judged as such: what stood against the first may stand against it too.
            work, call_id = edited, unique_id()
            verdict = self._check(tool, work.params, call_id, patience)
        if not verdict.allowed:
            return denial(tool, verdict, denied)
        call = MadeCall.now(call_id, tool, work.params)
        try:
            value = finished(tool, work.begin())
        except Changed:
            verdict = changed(tool)
            self._ended(call, "denied", not_allowed(tool, verdict))
            return denial(tool, verdict, denied)
        except Exception as error:
            self._ended(call, "crashed", error)
            raise
        except BaseException as error:
            self._ended(call, "interrupted", error)
            raise
        self._ended(call, "ok", None, value)
        return value

    @overload
    def tool(self, function: Callable[P, R], /) -> Callable[P, R]: ...

    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        without: Iterable[str] = (),
        denied: Denied = "raise",
        wait: Wait = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        without: Iterable[str] = (),
        denied: Denied = "raise",
        wait: Wait = None,
    ) -> Any:
        """Make a function a tool of this session: `@guard.tool`, or with options `@guard.tool(name=...)`."""

        def decorate(made: Callable[..., Any]) -> Callable[..., Any]:
            tool = Tool.of(made, name, without, denied, wait)
            if is_async(made):
                raise TypeError(
                    f"{tool.name} is a coroutine function; guard it with `governor.guard`"
                )

            @functools.wraps(made)
            def asking(*args: Any, **kwargs: Any) -> Any:
                return self.use(tool, args, kwargs)

            return asking

        return decorate if function is None else decorate(function)

    def check_output(self, output: Any, *, subagent: bool = False) -> Advice:
        """The agent hands over its output and has not stopped yet: what is missing, as advice; blocks nothing."""
        handed_over = HandedOver(value=plain(output), subagent=subagent)
        advice = self._drive(self._guarding.output(handed_over))
        tell(self._on_feedback, advice)
        return advice

    def may_stop(
        self,
        reason: str = "the agent says that it is done",
        *,
        final_message: str | None = None,
        tentative_output: Any = None,
        claim: Mapping[str, Any] | None = None,
        subagent: bool = False,
    ) -> StopVerdict:
        """May the agent stop? When not, `text` is what it should work on next; never raises."""
        self.stopped = self._drive(
            self._guarding.stop(
                reason,
                final_message,
                claim,
                subagent=subagent,
                tentative_output=plain(tentative_output),
            )
        )
        return self.stopped

    def turns(self, prompt: str) -> Generator[str, None, None]:
        """The prompts of an agent's turns, until it may stop: see `Guard.turns`."""
        self.prompted()
        unjudged = False
        while True:
            yield prompt
            verdict = self.may_stop()
            if verdict.allowed:
                return
            if unjudged and not verdict.counted:
                raise Unreachable(f"the agent's work ends here unjudged: {verdict.text}")
            unjudged = not verdict.counted
            prompt = verdict.text

    def used(self, *, report_id: str | None = None, **usage: int | str) -> ReportVerdict:
        """Report what the model used: `input_tokens`, `output_tokens`, `cost_usd`."""
        return self._drive(self._guarding.used(usage, report_id))

    def snapshot(self, snapshot_id: str, *, with_document: bool = False) -> StateChange:
        """Keep the session's state under a name."""
        return self._drive(self._guarding.snapshot(snapshot_id, with_document=with_document))

    def restore(
        self,
        cause: str,
        *,
        snapshot_id: str | None = None,
        document: Mapping[str, Any] | None = None,
    ) -> StateChange:
        """Set the session's state back to a snapshot or a document."""
        return self._drive(self._guarding.restore(cause, snapshot_id, document))

    def reset(self, cause: str) -> StateChange:
        """Forget what the session's policies and providers know."""
        return self._drive(self._guarding.reset(cause))

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What was advised and not taken yet, oldest first."""
        return self._guarding.advice

    def take_advice(self) -> str:
        """The same as one text for the agent; it counts as heard from now on."""
        return self._guarding.take_advice()

    def _begin(self, *, prompted: bool) -> SessionStanding:
        return self._drive(self._guarding.begin(prompted=prompted, deadline_at=self._deadline_at))

    def _ended(
        self, call: MadeCall, outcome: str, error: BaseException | None, output: object = None
    ) -> Advice:
        advice = self._drive(self._guarding.ended(call, outcome, error, output))
        tell(self._on_feedback, advice)
        return advice

    def _check(
        self, tool: str, params: Mapping[str, Any], call_id: str, patience: Patience | None
    ) -> ToolVerdict:
        notices = AskNotices(self._on_ask)
        asked = self._guarding.check(call_id, tool, plain(params), patience=patience)
        with self._connection.listening() as hints:

            def pause(wanted: "Pause") -> bytes:
                notices(wanted.verdict)
                # Others may ask meanwhile.
                self._one_at_a_time.release()
                try:
                    hints.heard(wanted.heard_on, wanted.seconds)
                finally:
                    self._one_at_a_time.acquire()
                return b""

            verdict = self._drive(asked, pause)
        notices(verdict)
        return self._told(verdict)

    def _told(self, verdict: ToolVerdict) -> ToolVerdict:
        tell(self._on_feedback, verdict.advice)
        return verdict

    def _drive(self, operation: "Waiting[T]", pause: "Callable[[Pause], bytes] | None" = None) -> T:
        with self._one_at_a_time:
            if time.monotonic() - self._last_asked > _IDLE_S:
                self._connection.close()
            try:
                return run(operation, self._connection, pause)
            finally:
                self._last_asked = time.monotonic()


def guard_sync(
    session_id: str,
    *,
    definition: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    url: str | None = None,
    runtime: str = "python",
    task_id: str | None = None,
    agent_id: str = "agent",
    definition_hash: str | None = None,
    deadline_at: datetime | None = None,
    stop_on_silence: Literal["block", "allow"] | None = None,
    on_feedback: OnFeedback | None = None,
    on_ask: OnAsk | None = None,
    apply_edits: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> SyncGuard:
    """Guard a session of an agent without asyncio: `with lictor.guard_sync("s-1", definition="coder") as guard`.

    The broker is found as `lictor.connect` finds it; all else is as `governor.guard` takes it.
    """
    operations = SessionOperations(
        runtime=runtime,
        session_id=session_id,
        workspace=in_this_process(workspace, cwd),
        task_id=task_id,
        agent_id=agent_id,
        definition=definition,
        definition_hash=definition_hash,
        stop_on_silence=stop_on_silence,
        timeout_s=timeout_s,
    )
    connection = Connection(judge_url(url, runtime=runtime).now, name=f"lictor-guard {runtime}")
    return SyncGuard(
        connection,
        Guarding(operations, unsent_here(runtime, session_id)),
        deadline_at=None if deadline_at is None else deadline_at.isoformat(),
        on_feedback=on_feedback,
        on_ask=on_ask,
        apply_edits=apply_edits,
    )
