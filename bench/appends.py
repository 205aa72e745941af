"""Appends that share the broker's sync, beside the same appends each by itself and beside a bare synced write.

The broker syncs every write to disk (`sync_interval: always`). Some logs are appended to at the same time, each append
after the one before it:

* single: each goes by itself, as many at once as there are logs;
* batch: always as one atomic batch of all;
* shared: as `lictor_bus` does it, which has to be about as fast as the faster of both, at every count;
* raw: as many writes and syncs of a file of this process, one after the other.

All four take turns within the same run. `batch_pays_from` is the smallest count from which on a batch was faster.

    python bench/appends.py [--rounds 60] [--json]
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, expecting, publish_batch, publish_expecting
from lictor_local.embedded_servers import EmbeddedServers

sys.path.insert(0, str(Path(__file__).parent))
from reporting import emit

COUNTS = (1, 2, 4, 6, 8, 12, 16, 32, 64)
BODY = b'{"kind":"call_reserved","text":"%b"}' % (b"x" * 600)


class Logs:
    """Some logs, and the last sequence of each."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._appends = Appends(client)
        self._last: dict[int, int] = {}

    def _next(self, log: int) -> tuple[Outgoing, int]:
        message = Outgoing(subjects.session_log(f"log-{log}"), BODY, str(uuid.uuid4()))
        return message, self._last.get(log, 0)

    async def single(self, count: int) -> None:
        async def one(log: int) -> None:
            message = expecting(*self._next(log))
            stored = await publish_expecting(self._client, streams.SESSIONS, message, 10)
            self._last[log] = stored.sequence

        await asyncio.gather(*map(one, range(count)))

    async def batch(self, count: int) -> None:
        messages = [expecting(*self._next(log)) for log in range(count)]
        last = await publish_batch(self._client, streams.SESSIONS, messages)
        self._last.update(enumerate(range(last - count + 1, last + 1)))

    async def shared(self, count: int) -> None:
        async def one(log: int) -> None:
            self._last[log] = await self._appends.append(streams.SESSIONS, *self._next(log))

        await asyncio.gather(*map(one, range(count)))


def raw(folder: Path) -> Callable[[int], Awaitable[None]]:
    """A file that is written and synced."""
    file = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT)

    async def write(count: int) -> None:
        for _ in range(count):
            os.write(file, BODY)
            os.fsync(file)

    return write


async def measure(rounds: int) -> dict[str, object]:
    """Microseconds an append, by how many there are at a time."""
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder) / "servers") as servers:
            client = await connect_nats(servers.endpoints.nats_url, name="bench")
            await streams.declare(client, streams.SESSIONS)
            logs = Logs(client)
            ways = {
                "raw": raw(Path(folder)),
                "single": logs.single,
                "batch": logs.batch,
                "shared": logs.shared,
            }
            taken: dict[str, dict[int, list[float]]] = {
                way: {count: [] for count in COUNTS} for way in ways
            }
            for turn in range(rounds + 3):
                for count in COUNTS:
                    for way, append in ways.items():
                        begun = time.perf_counter()
                        await append(count)
                        if turn >= 3:
                            taken[way][count].append((time.perf_counter() - begun) / count)
            await client.close()
    medians = {
        way: {count: statistics.median(spent) for count, spent in by_count.items()}
        for way, by_count in taken.items()
    }
    slower = [count for count in COUNTS if medians["batch"][count] >= medians["single"][count]]
    pays = [count for count in COUNTS if count > max(slower, default=0)]
    result: dict[str, object] = {
        f"{way}_us": {str(count): round(spent * 1e6) for count, spent in by_count.items()}
        for way, by_count in medians.items()
    }
    for way in ("batch", "shared"):
        result[f"{way}_ratio"] = {
            str(count): round(medians[way][count] / medians["single"][count], 2) for count in COUNTS
        }
    return {
        **result,
        "lone_ratio": round(medians["shared"][1] / medians["single"][1], 2),
        "lone_to_raw_ratio": round(medians["shared"][1] / medians["raw"][1], 2),
        "batch_pays_from": pays[0] if pays else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Appends that share the broker's sync.")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit("appends: microseconds each", uvloop.run(measure(options.rounds)), options.json)


if __name__ == "__main__":
    main()
