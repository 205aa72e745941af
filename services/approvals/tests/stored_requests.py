"""Requests on the bus without a service, for tests of what reads them."""

from datetime import timedelta
from typing import Any

from approval_samples import NOW, proof, submission
from nats.aio.client import Client

from lictor_approval.decision_validity import requested
from lictor_approval.request_binding import asked as asked_for
from lictor_bus.logs.entry_logs import approval_log
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalRequest
from lictor_schema.proofs.inputs import Inputs

A_DAY = timedelta(days=1)


async def store(client: Client, entry: ApprovalEntry) -> None:
    """Add an entry to the log of its request."""
    found = await approval_log(client, entry.request_id)
    subject = subjects.approval(entry.runtime, entry.state.value, entry.request_id)
    message = Outgoing(subject, entry.to_json(), entry.entry_id)
    await Appends(client).append(streams.APPROVALS, message, found.last, log=found.subjects)


async def stored_request(
    client: Client, inputs: Inputs | None = None, runtime: str | None = None, **proved: Any
) -> ApprovalRequest:
    """A request on the bus, with its program at the place that it names."""
    await streams.declare(client, streams.APPROVALS, streams.PROGRAMS)
    mine = submission(inputs=inputs, runtime=runtime)
    asked = asked_for(mine, 3, proof(mine, runtime=runtime, **proved), 5, at=NOW, within=A_DAY)
    for number in range(asked.program_sequence):
        submitted = submission(submission_id=f"s-{asked.program_sequence - 2 - number}")
        if number == asked.program_sequence - 1:
            submitted = mine
        await publish_one(
            client,
            streams.PROGRAMS,
            Outgoing(subjects.program(submitted.runtime, "t-1"), submitted.to_json()),
        )
    await store(client, requested(asked))
    return asked
