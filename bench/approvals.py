"""How long `lictor approvals list` works on its requests, beside a raw read of the same stream in the same run.

Many calls wait, each of another session and agent, in turn about one, two or three asks. Three parts are measured: the
raw read of the stream (what the broker and the wire take), the reading of the entries (what every reader of the stream
does: they are parsed, and their hashes are checked), and the list's own work: folding, sorting, who may decide and how
many are missing by a file of approvers with groups, and the table. `list_ratio` is the list's own work to the raw read.

    python bench/approvals.py [--requests 10000] [--rounds 3] [--json]
"""

import argparse
import asyncio
import contextlib
import io
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from lictor_approval.decision_validity import requested
from lictor_approval.request_life import folded
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient, close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_bus.wire.read import read_all
from lictor_cli.approvals.deciders import Deciders
from lictor_cli.approvals.list import told
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.approvals.approval import ApprovalEntry

sys.path.insert(0, str(Path(__file__).parents[1] / "libs/approval/tests"))
from call_samples import PEOPLE, ask, call_request
from reporting import emit

OPTIONS = argparse.Namespace(kind=None, state=None, all=False, json=False)


async def ask_about(client: TolerantClient, requests: int) -> None:
    """Put so many calls on the stream, that wait."""
    now = datetime.now(UTC)
    asks = [
        ask(policy_id=f"policy.{number}", approvers=("finance",), needed=number + 1)
        for number in range(3)
    ]
    messages: list[Outgoing] = []
    for number in range(requests):
        request = call_request(
            *asks[: number % 3 + 1],
            at=now,
            number=1,
            session_id=f"s-{number}",
            params={"to": "bob@example.org", "amount": number, "why": "x" * 200},
        )
        entry = requested(request)
        subject = subjects.approval(entry.runtime, entry.state.value, entry.request_id)
        messages.append(Outgoing(subject, entry.to_json(), entry.entry_id))
    await publish_all(client, streams.APPROVALS, messages)


async def round_of(client: TolerantClient, requests: int) -> tuple[float, float, float, float]:
    """Seconds of a raw read, of reading the entries, of the list's own work, and of the processor for that."""
    begun = time.perf_counter()
    raw = [each async for each in read_all(client, streams.APPROVALS, subjects.APPROVAL.any)]
    read = time.perf_counter()
    entries = [
        entry
        async for _, entry in all_entries(
            client, streams.APPROVALS, subjects.APPROVAL.any, ApprovalEntry.from_json
        )
    ]
    parsed, before = time.perf_counter(), time.process_time()
    logs: dict[str, list[ApprovalEntry]] = {}
    for entry in entries:
        logs.setdefault(entry.request_id, []).append(entry)
    lives = [life for life in map(folded, logs.values()) if life is not None]
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        told(OPTIONS, lives, Deciders(PEOPLE, datetime.now(UTC)))
    ended, after = time.perf_counter(), time.process_time()
    assert len(raw) == requests
    assert shown.getvalue().count("\n") == requests + 2
    return read - begun, parsed - read, ended - parsed, after - before


async def measure(requests: int, rounds: int) -> dict[str, object]:
    """Medians over the rounds."""
    with tempfile.TemporaryDirectory() as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            client = await connect_nats(servers.endpoints.nats_url, name="bench")
            await streams.declare(client, streams.APPROVALS)
            await ask_about(client, requests)
            found = [await round_of(client, requests) for _ in range(rounds)]
            await close_nats(client)
    raw, entries, listed, busy = (statistics.median(each) for each in zip(*found, strict=True))
    return {
        "requests": requests,
        "rounds": rounds,
        "raw_read_ms": round(raw * 1e3, 1),
        "entries_ms": round(entries * 1e3, 1),
        "list_ms": round(listed * 1e3, 1),
        "list_cpu_ms": round(busy * 1e3, 1),
        "list_ratio": round(listed / raw, 2),
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description="The list of requests that wait.")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit(
        "approvals: the list of requests that wait",
        asyncio.run(measure(options.requests, options.rounds)),
        options.json,
    )


if __name__ == "__main__":
    main()
