"""Driving an operation over nats-py: whatever the connection does, the operation gets an answer or a reason."""

import asyncio
from typing import TYPE_CHECKING, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from lictor.fast.answer_reader import Silence
from lictor.fast.nats_wire import AWAY, NOT_WAITING, refused
from lictor.fast.session_operations import Ask
from lictor_bus.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lictor.fast.session_operations import Pause, Waiting

    Asking = Callable[[Ask], Awaitable[bytes | Silence]]
    Pausing = Callable[[Pause], Awaitable[bytes | Silence]]

T = TypeVar("T")


class _Done:
    """An operation's end, which a thread can't hand over as StopIteration."""

    def __init__(self, value: object) -> None:
        self.value = value


async def drive(operation: "Waiting[T]", client: Client, pause: "Pausing | None" = None) -> T:
    """Ask what the operation wants to know until it ends; its verdict."""

    async def ask(question: Ask) -> bytes | Silence:
        return await request(client, question)

    return await drive_by(operation, ask, pause)


async def drive_by(operation: "Waiting[T]", ask: "Asking", pause: "Pausing | None" = None) -> T:
    """The same for any way to ask; without `pause`, it does not wait for anybody.

    Between two questions it looks at files, which may take long: that happens in a thread.
    """
    answer: bytes | Silence | None = None
    while True:
        step = await asyncio.to_thread(_step, operation, answer)
        if isinstance(step, _Done):
            return step.value  # pyright: ignore[reportReturnType] -- what the operation returned
        if isinstance(step, Ask):
            answer = await ask(step)
        else:
            answer = NOT_WAITING if pause is None else await pause(step)


async def request(client: Client, ask: Ask) -> bytes | Silence:
    """The answer's bytes, or why there are none."""
    if len(ask.body) > client.max_payload:
        return Silence(
            reason=f"the question has {len(ask.body)} bytes, and the broker takes {client.max_payload}",
            remedy="pass large content through a file, or in smaller parts",
            too_large=True,
        )
    try:
        return (await client.request(ask.subject, ask.body, timeout=ask.timeout_s)).data
    except NoRespondersError:
        return Silence(reason="no service answers this question", remedy=AWAY)
    except NotAllowed:
        return refused(ask.subject)
    except NatsTimeout:
        return Silence(reason=f"no answer on {ask.subject} within {ask.timeout_s:g} s")
    except (NatsError, OSError, RuntimeError) as error:
        # RuntimeError: uvloop refuses to write to a connection that was lost.
        told = str(error).removeprefix("nats: ") or type(error).__name__
        return Silence(reason=f"the broker could not be asked ({told})", remedy=AWAY)


def _step(operation: "Waiting[T]", answer: bytes | Silence | None) -> "Ask | Pause | _Done":
    try:
        return next(operation) if answer is None else operation.send(answer)
    except StopIteration as done:
        return _Done(done.value)
