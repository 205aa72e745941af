"""The guard of an agent that runs in this process, for asyncio."""

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from nats.aio.client import Client

from lictor.errors import Unreachable
from lictor.fast.call_wait import Patience
from lictor.fast.session_operations import HandedOver, unique_id
from lictor.fast.verdicts import (
    Advice,
    ReportVerdict,
    SessionStanding,
    StateChange,
    StopVerdict,
    ToolVerdict,
)
from lictor.runtimes.adapter_capabilities import PYTHON
from lictor.runtimes.approval_bell import ApprovalBell
from lictor.runtimes.guarded_session import (
    AskNotices,
    Guarding,
    MadeCall,
    OnAsk,
    OnFeedback,
    tell,
)
from lictor.runtimes.nats_driver import drive
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
    from lictor.fast.session_operations import Operation

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Guard:
    """One guarded session; made by `governor.guard`, and begun by `async with`."""

    capabilities = PYTHON

    def __init__(
        self,
        client: Client,
        guarding: Guarding,
        *,
        deadline_at: str | None = None,
        on_feedback: OnFeedback | None = None,
        on_ask: OnAsk | None = None,
        apply_edits: bool = False,
    ) -> None:
        self._client = client
        self._guarding = guarding
        self._deadline_at = deadline_at
        self._on_feedback = on_feedback
        self._on_ask = on_ask
        self._apply_edits = apply_edits
        self._reporting: set[asyncio.Task[Advice]] = set()
        self._outer: Any = None
        self.stopped: StopVerdict | None = None
        """How the last stop was judged."""

    async def __aenter__(self) -> "Guard":
        await self._begin(prompted=False)
        self._outer = active.get()
        active.set(self)
        return self

    async def __aexit__(self, *_problem: object) -> None:
        active.set(self._outer)
        try:
            await self._reported()
            await self._drive(self._guarding.settle())
        finally:
            self._guarding.keep_rest()

    async def prompted(self) -> SessionStanding:
        """Somebody has just given the agent new work: blocked stops are counted anew."""
        return await self._begin(prompted=True)

    async def check(
        self,
        tool: str,
        params: Mapping[str, Any],
        *,
        call_id: str | None = None,
        wait: Wait = None,
    ) -> ToolVerdict:
        """May this tool be called? For a caller that reports the result itself; raises for a wrong `wait` only.

        Where a person decides, the verdict is waited for so long (`"10m"`, seconds, a timedelta): it is `asked` as long
        as nobody has decided, and the same call can be asked about again.
        """
        return await self._check(tool, params, call_id or unique_id(), patience(wait))

    async def cancel_approval(self, request_id: str, why: str) -> ReportVerdict:
        """The agent does not want to make a call any more that waits for a person; never raises."""
        return await self._drive(self._guarding.cancel_approval(request_id, why))

    async def result(
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
        return await self._ended(MadeCall(call_id, tool, plain(params)), outcome, error, output)

    async def call(
        self,
        tool: str,
        params: Mapping[str, Any],
        function: Callable[..., Awaitable[R] | R],
        *,
        call_id: str | None = None,
        wait: Wait = None,
    ) -> R:
        """Check, call `function(**params)`, report how it ended. Raises ToolDenied when it may not be called.

        Where a person decides, that is waited for so long; ToolAsked, a ToolDenied, when nobody has decided then. To
        cancel this call ends the wait; the request stays, and the same call may be made when it was approved.
        """
        work = Work.of_call(function, params)
        return await self._make(tool, work, "raise", call_id, patience(wait))

    async def make(
        self,
        tool: str,
        params: Mapping[str, Any],
        work: Callable[[], Any],
        denied: Denied,
        *,
        call_id: str | None = None,
        wait: Wait = None,
    ) -> Any:
        """The same for work that needs no arguments; plain functions run in a thread."""
        return await self._make(tool, Work.of_own(work, params), denied, call_id, patience(wait))

    async def use(self, tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The same for a function with its arguments."""
        work = tool.work(args, kwargs)
        if isinstance(work, ToolVerdict):
            refused = await self._drive(self._guarding.refuse(unique_id(), tool.name, work))
            return denial(tool.name, self._told(refused), tool.denied)
        return await self._make(tool.name, work, tool.denied, None, tool.patience)

    async def _make(
        self,
        tool: str,
        work: Work,
        denied: Denied,
        call_id: str | None,
        patience: Patience | None,
    ) -> Any:
        call_id = call_id or unique_id()
        verdict = await self._check(tool, work.params, call_id, patience)
        edited = work.as_edited(verdict) if self._apply_edits else None
        if edited is not None:
            # Another call, judged as such: what stood against the first may stand against it too.
            work, call_id = edited, unique_id()
            verdict = await self._check(tool, work.params, call_id, patience)
        if not verdict.allowed:
            return denial(tool, verdict, denied)
        call = MadeCall.now(call_id, tool, work.params)
        try:
            value = finished(tool, await _run(work))
        except Changed:
            verdict = changed(tool)
            await self._ended(call, "denied", not_allowed(tool, verdict))
            return denial(tool, verdict, denied)
        except Exception as error:
            await self._ended(call, "crashed", error)
            raise
        except BaseException as error:
            # Whoever cancels doesn't wait for us; whoever asks next does.
            self._end(call, "interrupted", error)
            raise
        await self._ended(call, "ok", None, value)
        return value

    @overload
    def tool(self, function: Callable[P, Awaitable[R]], /) -> Callable[P, Awaitable[R]]: ...

    @overload
    def tool(self, function: Callable[P, R], /) -> Callable[P, Awaitable[R]]: ...

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
    ) -> Callable[[Callable[P, Any]], Callable[P, Awaitable[Any]]]: ...

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
        """Make a function a tool of this session: `@guard.tool`, or with options `@guard.tool(name=...)`.

        The tool is a coroutine function; its parameters are the function's arguments by name. `without` names
        those that are no business of the guard, such as a database handle; `wait` says how long a call waits for a
        person, as for `call`.
        """

        def decorate(made: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
            tool = Tool.of(made, name, without, denied, wait)

            @functools.wraps(made)
            async def asking(*args: Any, **kwargs: Any) -> Any:
                return await self.use(tool, args, kwargs)

            return asking

        return decorate if function is None else decorate(function)

    async def check_output(self, output: Any, *, subagent: bool = False) -> Advice:
        """The agent hands over its output and has not stopped yet: what is missing, as advice; blocks nothing."""
        handed_over = HandedOver(value=plain(output), subagent=subagent)
        advice = await self._drive(self._guarding.output(handed_over))
        tell(self._on_feedback, advice)
        return advice

    async def may_stop(
        self,
        reason: str = "the agent says that it is done",
        *,
        final_message: str | None = None,
        tentative_output: Any = None,
        claim: Mapping[str, Any] | None = None,
        subagent: bool = False,
    ) -> StopVerdict:
        """May the agent stop? When not, `text` is what it should work on next; never raises."""
        await self._reported()
        self.stopped = await self._drive(
            self._guarding.stop(
                reason,
                final_message,
                claim,
                subagent=subagent,
                tentative_output=plain(tentative_output),
            )
        )
        return self.stopped

    async def turns(self, prompt: str) -> AsyncGenerator[str, None]:
        """The prompts of an agent's turns: the first is the work, further ones what is missing, until it may stop.

        Look at `stopped` afterwards: it tells whether the work is complete, or ended otherwise. A stop that nobody
        judges, and so nobody counts, blocks once; a second one in a row raises Unreachable.
        """
        await self.prompted()
        unjudged = False
        while True:
            yield prompt
            verdict = await self.may_stop()
            if verdict.allowed:
                return
            if unjudged and not verdict.counted:
                raise Unreachable(f"the agent's work ends here unjudged: {verdict.text}")
            unjudged = not verdict.counted
            prompt = verdict.text

    async def used(self, *, report_id: str | None = None, **usage: int | str) -> ReportVerdict:
        """Report what the model used: `input_tokens`, `output_tokens`, `cost_usd`."""
        return await self._drive(self._guarding.used(usage, report_id))

    async def snapshot(self, snapshot_id: str, *, with_document: bool = False) -> StateChange:
        """Keep the session's state under a name."""
        await self._reported()
        return await self._drive(self._guarding.snapshot(snapshot_id, with_document=with_document))

    async def restore(
        self,
        cause: str,
        *,
        snapshot_id: str | None = None,
        document: Mapping[str, Any] | None = None,
    ) -> StateChange:
        """Set the session's state back to a snapshot or a document."""
        await self._reported()
        return await self._drive(self._guarding.restore(cause, snapshot_id, document))

    async def reset(self, cause: str) -> StateChange:
        """Forget what the session's policies and providers know."""
        await self._reported()
        return await self._drive(self._guarding.reset(cause))

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What was advised and not taken yet, oldest first."""
        return self._guarding.advice

    def take_advice(self) -> str:
        """The same as one text for the agent; it counts as heard from now on."""
        return self._guarding.take_advice()

    async def _begin(self, *, prompted: bool) -> SessionStanding:
        return await self._drive(
            self._guarding.begin(prompted=prompted, deadline_at=self._deadline_at)
        )

    async def _ended(
        self, call: MadeCall, outcome: str, error: BaseException | None, output: object = None
    ) -> Advice:
        # Shielded: a result counts, also when whoever waits for it is cancelled.
        return await asyncio.shield(self._end(call, outcome, error, output))

    def _end(
        self, call: MadeCall, outcome: str, error: BaseException | None, output: object = None
    ) -> "asyncio.Task[Advice]":
        task = asyncio.create_task(self._report(call, outcome, error, output))
        self._reporting.add(task)
        task.add_done_callback(self._reporting.discard)
        return task

    async def _report(
        self, call: MadeCall, outcome: str, error: BaseException | None, output: object
    ) -> Advice:
        advice = await self._drive(self._guarding.ended(call, outcome, error, output))
        tell(self._on_feedback, advice)
        return advice

    async def _check(
        self, tool: str, params: Mapping[str, Any], call_id: str, patience: Patience | None
    ) -> ToolVerdict:
        await self._reported()
        notices = AskNotices(self._on_ask)
        asked = self._guarding.check(call_id, tool, plain(params), patience=patience)
        async with ApprovalBell(self._client, notices) as bell:
            verdict = await drive(asked, self._client, bell.pause)
        notices(verdict)
        return self._told(verdict)

    def _told(self, verdict: ToolVerdict) -> ToolVerdict:
        tell(self._on_feedback, verdict.advice)
        return verdict

    async def _reported(self) -> None:
        """Wait until what was interrupted is reported, or kept to be reported again."""
        while self._reporting:
            await asyncio.wait(self._reporting)

    async def _drive(self, operation: "Operation[T]") -> T:
        return await drive(operation, self._client)


async def _run(work: Work) -> Any:
    made = work.begin() if is_async(work.run) else await asyncio.to_thread(work.begin)
    return await made if inspect.isawaitable(made) else made
