"""The prover's loop: many programs side by side, each answered once.

A submission is answered only if PROOFS holds no result of its id: what was decided once stays decided when it comes
again (a crash, a lost acknowledgement, a sender's retry), even where a solver would need another time for it.
"""

from collections.abc import Awaitable, Callable

from lictor_bus.errors import MessageRefused
from lictor_bus.fold.processor import read_or_refuse
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.concurrent_loop import ConcurrentLoop
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofResult

Judge = Callable[[ProgramSubmission, Delivery], Awaitable[ProofResult]]
"""Decides about one submission. Raises for outages only: whatever a program does to the prover is a verdict."""


def proving_loop(
    client: TolerantClient,
    judge: Judge,
    result_id: Callable[[ProgramSubmission], str],
    *,
    at_once: int,
    dead: DeadLetters,
    telemetry: ServiceTelemetry,
    on_end: Callable[[], None],
) -> ConcurrentLoop:
    """Takes submissions from PROGRAMS and stores a result for each on PROOFS, for as long as it runs."""

    async def answer(delivery: Delivery) -> str | None:
        submission = _read(delivery)
        message_id = result_id(submission)
        if await _is_answered(client, submission, message_id):
            return None
        result = await judge(submission, delivery)
        subject = subjects.proof(result.runtime, result.verdict.value, result.task_id)
        await publish_one(client, streams.PROOFS, Outgoing(subject, result.to_json(), message_id))
        return result.verdict.value

    return ConcurrentLoop(
        client,
        streams.PROGRAMS,
        subjects.PROGRAM.all,
        answer,
        service="prover",
        durable="proving",
        at_once=at_once,
        dead=dead,
        telemetry=telemetry,
        on_end=on_end,
    )


def _read(delivery: Delivery) -> ProgramSubmission:
    submission = read_or_refuse(
        ProgramSubmission.from_json,
        delivery.body,
        "correct the named fields and submit the program again",
    )
    if subjects.program(submission.runtime, submission.task_id) != delivery.subject:
        raise MessageRefused(
            f"runtime {submission.runtime!r} and task_id {submission.task_id!r} are not those of"
            f" subject {delivery.subject}",
            remedy="submit each program on the subject of its own runtime and task",
        )
    return submission


async def _is_answered(
    client: TolerantClient, submission: ProgramSubmission, message_id: str
) -> bool:
    subject = subjects.proof(submission.runtime, "*", submission.task_id)
    async for stored in read_all(client, streams.PROOFS, subject):
        if stored.headers.get("Nats-Msg-Id") == message_id:
            return True
    return False
