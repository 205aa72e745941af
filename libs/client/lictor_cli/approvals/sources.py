"""Where `lictor approvals` finds requests, and what its commands share."""

import json
from argparse import ArgumentParser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.id_prefixes import REQUEST, whole_id
from lictor.history.stream_contents import extent, streams_at
from lictor_approval.errors import BrokenLog
from lictor_approval.request_binding import is_of
from lictor_approval.request_life import RequestLife, folded, kind_of
from lictor_bus.logs.entry_logs import all_entries, approval_log, body_in
from lictor_bus.names import subjects
from lictor_bus.names.streams import APPROVALS, PROGRAMS
from lictor_bus.wire.read import read_from
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalRequest
from lictor_schema.proofs.program import ProgramSubmission

EVERY_CHANGE = subjects.APPROVAL.any


def request_argument(parser: ArgumentParser) -> None:
    """The request's id."""
    parser.add_argument(
        "request",
        metavar="REQUEST",
        help="its id in `lictor approvals list`, or its first characters",
    )


@asynccontextmanager
async def requests_at(url: str | None) -> AsyncGenerator[Client, None]:
    """A connection to a broker that has requests."""
    async with streams_at(url, "approvals") as client:
        await extent(client, APPROVALS)
        yield client


async def find_request(client: Client, given: str) -> tuple[RequestLife, list[ApprovalEntry]]:
    """A request and its entries; its first characters name it where they are enough."""
    request_id = await whole_id(client, REQUEST, given)
    entries = [entry for _, entry in (await approval_log(client, request_id)).entries]
    life = folded(entries)
    if life is None:
        raise LictorError(f"there is nothing about request {request_id} that can be read.")
    return life, entries


async def all_requests(client: Client) -> list[RequestLife]:
    """Every request, in the order they were made; those whose log is broken are left out."""
    logs: dict[str, list[ApprovalEntry]] = {}
    async for _, entry in all_entries(client, APPROVALS, EVERY_CHANGE, ApprovalEntry.from_json):
        logs.setdefault(entry.request_id, []).append(entry)
    return [life for life in map(_whole, logs.values()) if life is not None]


def _whole(entries: list[ApprovalEntry]) -> RequestLife | None:
    try:
        return folded(entries)
    except BrokenLog:
        return None


async def program_of(client: Client, request: ApprovalRequest) -> str:
    """The program's text, which is what the request binds, byte for byte."""
    subject = subjects.program(request.binding.runtime, request.binding.task_id)
    found = await read_from(client, PROGRAMS, subject, request.program_sequence, 1)
    for stored in found:
        if stored.sequence == request.program_sequence:
            submission = body_in(stored, ProgramSubmission.from_json)
            if submission is not None and is_of(request, submission):
                return submission.program
    raise LictorError(
        f"stream PROGRAMS does not hold the program of request {request.request_id} any more;"
        " it can't run, and should be submitted again."
    )


def life_as_json(life: RequestLife) -> dict[str, Any]:
    """For `--json`."""
    return {
        "request_id": life.request.request_id,
        "kind": kind_of(life),
        "state": life.state.value,
        "due": life.due if life.state.is_open else None,
        "changed_at": life.changed_at,
        "by": life.by,
        "reason": life.reason,
        "request": json.loads(life.request.to_json()),
        "decision": None if life.decision is None else json.loads(life.decision.to_json()),
        "decisions": [json.loads(each.decision.to_json()) for each in life.decisions],
        "execution": None if life.execution is None else json.loads(life.execution.to_json()),
    }
