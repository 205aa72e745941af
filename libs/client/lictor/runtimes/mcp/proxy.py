"""A proxy between an MCP host and an MCP server: every tool call is judged before the server sees it.

It knows no pipes: lines come in by `from_host` and `from_server`, and leave by two functions. All but tool calls and
their answers passes as it came. A call that nobody could judge is answered as a tool's error and goes no further.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from lictor.errors import LictorError
from lictor.fast.answer_reader import deny
from lictor.fast.session_operations import unique_id
from lictor.fast.verdicts import Advice, ToolVerdict, beyond_agent
from lictor.runtimes.adapter_capabilities import MCP
from lictor.runtimes.guarded_session import Guarding, MadeCall
from lictor.runtimes.mcp import messages as messages
from lictor.runtimes.mcp import waiting_calls as waiting_calls
from lictor.runtimes.mcp.messages import HostLine, Message, Refused, RequestIds, id_key

if TYPE_CHECKING:
    from lictor.runtimes.lasting_connection import Reaching

log = logging.getLogger("lictor.client")
Send = Callable[[bytes], Awaitable[None]]

NOT_BEGUN = "lictor.client.not-begun"
UNFOLLOWED = "lictor.client.mcp-task"
BROKEN = "lictor.client.internal-error"
MAX_JUDGED = 64
"""So many calls are judged at a time; further lines from the host wait."""


class ToolFailed(Exception):
    """What a server said of a call that failed."""


@dataclass(eq=False)
class Pending:
    """A call that the host waits for."""

    key: str
    message: Message
    call_id: str = field(default_factory=unique_id)
    made: MadeCall | None = None
    """Set when the server has been given it."""
    cancelled: bool = False


@dataclass(eq=False)
class Batch:
    """Denials that belong into the same answer as what the server says to the rest of the batch."""

    denials: list[Message]
    keys: tuple[str, ...]


class Proxy:
    """One host, one server, one guarded session."""

    capabilities = MCP

    def __init__(
        self, guarding: Guarding, reaching: "Reaching", to_host: Send, to_server: Send
    ) -> None:
        self._guarding = guarding
        self._reaching = reaching
        self._to_host = to_host
        self._to_server = to_server
        self._host_ids = RequestIds()
        self._server_ids = RequestIds()
        self._pending: dict[str, Pending] = {}
        self._batches: dict[str, Batch] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MAX_JUDGED)
        self._begun = False
        self._beginning = asyncio.Lock()

    async def begin(self) -> str | None:
        """Begin the session; why it can't, or None. What fails now is tried again at the next call."""
        async with self._beginning:
            if self._begun:
                return None
            try:
                await self._reaching.drive(self._guarding.begin())
            except LictorError as error:
                return str(error)
            self._begun = True
            return None

    async def from_host(self, line: bytes) -> None:
        """Take a line from the host; returns when the next may come."""
        if not line.strip():
            return
        try:
            read = messages.read_host(line)
            calls = self._take(read)
            if calls:
                await self._room.acquire()
                self._work(self._judge_line(read, calls), self._room.release)
                return
        except Refused as refused:
            log.warning("refused a line of the host: %s", refused)
            await self._to_host(messages.write(messages.error(None, refused.code, str(refused))))
            return
        for message in read.messages:
            self._cancel(message)
        await self._to_server(read.line)

    async def from_server(self, line: bytes) -> None:
        """Take a line from the server."""
        value = messages.read_server(line)
        came = cast("list[Any]", value if isinstance(value, list) else [value])
        answers = [each for each in came if await self._may_pass(each)]
        if len(answers) < len(came):
            if not answers:
                return
            value = answers if isinstance(value, list) else answers[0]
            line = messages.write(value)
        calls = [self._answered(answer) for answer in answers]
        denials = self._denials_beside(answers)
        if any(calls) or denials:
            self._work(self._pass_on(line, value, answers, calls, denials))
        else:
            await self._to_host(line)

    async def too_long(self, limit: int) -> None:
        """A line from the host was longer than we take."""
        told = f"a message has more than {limit} bytes; pass large content through a file"
        await self._to_host(messages.write(messages.error(None, messages.INVALID_REQUEST, told)))

    async def server_ended(self, why: str) -> None:
        """Nobody will answer any more: what the host waits for has crashed."""
        await self._end_all("crashed", why)
        for batch in dict.fromkeys(self._batches.values()):
            await self._to_host(messages.write(batch.denials))
        self._batches.clear()

    async def interrupted(self, why: str) -> None:
        """We are told to end: what is under way is interrupted."""
        await self._end_all("interrupted", why)

    async def idle(self) -> None:
        """Wait until everything that came is dealt with, but for calls that the server has not answered."""
        while self._working:
            await asyncio.wait(self._working)

    def _take(self, read: HostLine) -> list[Pending]:
        """The calls of a line, each noted under its id."""
        found = list(filter(messages.is_call, read.messages))
        if any("id" not in message for message in found):
            raise Refused(messages.INVALID_REQUEST, "a tool call without id can't be answered")
        self._host_ids.claim(read.messages)
        for answer in filter(messages.is_answer, read.messages):
            self._server_ids.release(answer["id"])
        calls = [Pending(id_key(message["id"]), message) for message in found]
        self._pending |= {each.key: each for each in calls}
        return calls

    async def _may_pass(self, message: Any) -> bool:
        """Whether the host is to see a message of the server: no answer that nobody waits for, no id that is in use."""
        if not isinstance(message, dict):
            return True
        fields = cast("Message", message)
        if messages.is_two_things(fields):
            log.warning("dropped a message of the server that is a request and an answer")
            return False
        if messages.is_answer(fields):
            call = self._pending.get(id_key(fields["id"]))
            unasked = call is not None and call.made is None
            # Errors about what the server could not read have no id.
            if fields["id"] is None or (not unasked and self._host_ids.release(fields["id"])):
                return True
            log.warning("dropped an answer of the server that nothing was asked for")
            return False
        try:
            self._server_ids.claim([fields])
        except Refused as refused:
            log.warning("refused a request of the server: %s", refused)
            await self._to_server(messages.write(messages.error(None, refused.code, str(refused))))
            return False
        return True

    async def _judge_line(self, read: HostLine, calls: list[Pending]) -> None:
        verdicts = await asyncio.gather(*map(self._judge, calls))
        by_message = {
            id(each.message): verdict for each, verdict in zip(calls, verdicts, strict=True)
        }
        denials: list[Message] = []
        rest: list[Message] = []
        for message in read.messages:
            verdict = by_message.get(id(message))
            if verdict is None or verdict.allowed:
                rest.append(message)
            else:
                denials.append(self._not_made(read, message, verdict))
        withdrawn = await self._withdraw(calls, verdicts)
        rest = [message for message in rest if id(message) not in withdrawn]
        denials = [each for each in denials if id_key(each["id"]) not in withdrawn.values()]
        await self._send(read, rest, denials)

    def _not_made(self, read: HostLine, message: Message, verdict: ToolVerdict) -> Message:
        """The answer to a call that the server does not see."""
        waiting = None if read.is_batch else waiting_calls.input_required(message, verdict)
        if waiting is not None:
            return waiting
        return self._with_advice(messages.denial(message["id"], verdict.text))

    async def _send(self, read: HostLine, rest: list[Message], denials: list[Message]) -> None:
        """Give the server what it may see, and the host what it may not."""
        seen = [waiting_calls.for_server(message) for message in rest]
        as_it_came = all(new is old for new, old in zip(seen, rest, strict=True))
        if not read.is_batch:
            line = read.line if as_it_came else messages.write(seen[0])
            await (self._to_server(line) if rest else self._tell_all(denials))
            return
        for message in rest:
            self._cancel(message)
        waited_for = tuple(id_key(message["id"]) for message in rest if "id" in message)
        if denials and waited_for:
            self._batches |= dict.fromkeys(waited_for, Batch(denials, waited_for))
        elif denials:
            await self._to_host(messages.write(denials))
        if rest:
            whole = as_it_came and len(rest) == len(read.messages)
            await self._to_server(read.line if whole else messages.write(seen))

    async def _tell_all(self, answers: list[Message]) -> None:
        for answer in answers:
            await self._to_host(messages.write(answer))

    async def _judge(self, call: Pending) -> ToolVerdict:
        try:
            tool, arguments = messages.tool_and_arguments(call.message)
            problem = await self.begin()
            if problem is not None:
                own = deny(NOT_BEGUN, problem, beyond_agent("see `lictor doctor`"))
                return await self._refuse(call, tool, own)
            if messages.is_task(call.message):
                own = deny(
                    UNFOLLOWED,
                    "a call that runs on as a task can't be followed to its end",
                    "call the tool without `task`",
                )
                return await self._refuse(call, tool, own)
            given_up = waiting_calls.given_up(call.message)
            if given_up is not None:
                return given_up
            return await self._reaching.drive(self._guarding.check(call.call_id, tool, arguments))
        except Exception as error:
            log.exception("a call could not be judged")
            reason = f"the proxy failed: {type(error).__name__}"
            return deny(BROKEN, reason, beyond_agent("look at the proxy's stderr"))

    async def _refuse(self, call: Pending, tool: object, verdict: ToolVerdict) -> ToolVerdict:
        return await self._reaching.drive(self._guarding.refuse(call.call_id, tool, verdict))

    async def _withdraw(self, calls: list[Pending], verdicts: list[ToolVerdict]) -> dict[int, str]:
        """Settle each call's fate; those that were cancelled while they were judged, which nobody is to hear of."""
        withdrawn: dict[int, str] = {}
        for call, verdict in zip(calls, verdicts, strict=True):
            if verdict.allowed:
                tool, arguments = messages.tool_and_arguments(call.message)
                call.made = MadeCall.now(call.call_id, tool, arguments)
            if not verdict.allowed or call.cancelled:
                # The server has never seen it, and will not answer.
                self._pending.pop(call.key, None)
                self._host_ids.release(call.message["id"])
            if call.cancelled:
                withdrawn[id(call.message)] = call.key
                if call.made is not None:
                    self._work(self._report(call.made, "interrupted", "cancelled by the host"))
        return withdrawn

    def _cancel(self, message: Message) -> None:
        """Note that the host waits for a call no more."""
        key = id_key(messages.cancelled_id(message))
        call = self._pending.get(key)
        if call is None or message.get("method") != messages.CANCELLED:
            return
        call.cancelled = True
        if call.made is not None:
            del self._pending[key]
            self._work(self._report(call.made, "interrupted", "cancelled by the host"))

    def _answered(self, answer: Any) -> Pending | None:
        """The call that the server answers by this."""
        if not messages.is_answer(answer):
            return None
        call = self._pending.get(id_key(answer["id"]))
        if call is None or call.made is None:
            return None
        return self._pending.pop(call.key)

    def _denials_beside(self, answers: list[Any]) -> list[Message]:
        found: list[Message] = []
        for answer in filter(messages.is_answer, answers):
            batch = self._batches.get(id_key(answer["id"]))
            if batch is not None:
                found += batch.denials
                for key in batch.keys:
                    self._batches.pop(key, None)
        return found

    async def _pass_on(
        self,
        line: bytes,
        value: Any,
        answers: list[Any],
        calls: list[Pending | None],
        denials: list[Message],
    ) -> None:
        told = await asyncio.gather(*map(self._finish, answers, calls))
        if not isinstance(value, list):
            if denials:
                await self._to_host(messages.write(denials))
            await self._to_host(line if told[0] is value else messages.write(told[0]))
            return
        changed = denials or any(new is not old for new, old in zip(told, answers, strict=True))
        await self._to_host(messages.write([*told, *denials]) if changed else line)

    async def _finish(self, answer: Any, call: Pending | None) -> Any:
        """The answer as the host gets it: with what the agent should hear now."""
        if call is None or call.made is None:
            return answer
        outcome = messages.outcome_of(answer)
        await self._report(call.made, *outcome, messages.text_of(answer))
        return self._with_advice(answer)

    def _with_advice(self, answer: Any) -> Any:
        """The answer with what waits to be heard; as it is, where there is nothing or it has no place for it."""
        waiting = self._guarding.advice_text
        advised = messages.with_advice(answer, waiting) if waiting else None
        if advised is None:
            return answer
        self._guarding.take_advice()
        return advised

    async def _report(
        self, call: MadeCall, outcome: str, problem: str | None, output: str | None = None
    ) -> None:
        """Report a result; one that nobody takes is kept, and denies the next call until it is taken."""
        try:
            error = None if problem is None else ToolFailed(problem)
            ended = self._guarding.ended(call, outcome, error, output)
            advice: Advice = await self._reaching.drive(ended)
            if not advice.answered:
                log.warning("the result of a call of %s was not taken yet", call.tool)
        except Exception:
            log.exception("the result of a call of %s could not be reported", call.tool)

    async def _end_all(self, outcome: str, why: str) -> None:
        await self.idle()
        calls, self._pending = list(self._pending.values()), {}
        for call in calls:
            told = messages.error(call.message["id"], messages.SERVER_ENDED, why)
            await self._to_host(messages.write(told))
        reports = [self._report(call.made, outcome, why) for call in calls if call.made is not None]
        await asyncio.gather(*reports)

    def _work(
        self, work: Coroutine[Any, Any, None], done: Callable[[], None] = lambda: None
    ) -> None:
        task = asyncio.create_task(work)
        self._working.add(task)

        def ended(task: "asyncio.Task[None]") -> None:
            self._working.discard(task)
            done()
            if not task.cancelled() and task.exception() is not None:
                log.error("a message was lost", exc_info=task.exception())

        task.add_done_callback(ended)
