"""What HTTP costs the guard: a tool check by `lictor http` beside the same work in plain ASGI, and a bare ASGI answer.

Three servers run at once, each in its own process, under the same uvicorn with the same settings:

- `adapter`: the Starlette application that `lictor http` runs,
- `by_hand`: the same token, path, body and verdict, as one ASGI function without a framework,
- `floor`: an ASGI function that reads the body and answers a constant of the same size.

The service is a stand-in inside the server's process that answers at once, so that nothing but HTTP and the adapter
is measured. This process asks them in turn, a block each, over connections that stay open; medians of the blocks, and
the processor time that each server used for a request, are compared.
Then the start: from `lictor http` to its first line, beside `python -c pass`.

    python bench/http_adapter.py [--blocks 30] [--rounds 15] [--json]
"""

import argparse
import asyncio
import hmac
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil
import uvicorn

from lictor.fast.session_operations import Ask
from lictor.runtimes.http.application import OPERATIONS, HttpAdapter
from lictor.runtimes.http.sessions import HttpSessions
from lictor.runtimes.lasting_connection import Reaching
from lictor_cli.http import listen

sys.path.insert(0, str(Path(__file__).parent))
from reporting import emit
from startup import milliseconds

LICTOR = Path(sys.executable).with_name("lictor")
TOKEN = "t" * 32
KINDS = ("floor", "by_hand", "adapter")
CONNECTIONS = 16
BLOCK = 200
ALONE = 50
BODY = json.dumps(
    {"call_id": "c1", "tool": "write_file", "params": {"path": "a.txt", "content": "x" * 200}}
)
REQUEST = (
    f"POST /v1/sessions/bench/check HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {TOKEN}\r\n"
    f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
).encode()
ALLOWED = b'{"decision":"allow","text":"","denials":[],"advice":"","definition_hash":null,"record_id":null}'


class AtOnce(Reaching):
    """A service that allows every call at once."""

    async def _ask(self, ask: Ask) -> bytes:
        answer = {"request_id": json.loads(ask.body)["request_id"], "reason": "allowed"}
        if ask.subject.split(".")[1] == "gate":
            return json.dumps({**answer, "decision": "allow", "policy_id": "bench"}).encode()
        return json.dumps({**answer, "ok": True}).encode()


async def respond(send: Any, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def read(receive: Any) -> bytes:
    parts: list[bytes] = []
    async with asyncio.timeout(10):
        while True:
            message = await receive()
            parts.append(message.get("body", b""))
            if sum(map(len, parts)) > 2**20:
                raise ValueError("too large")
            if not message.get("more_body"):
                return b"".join(parts)


async def floor(_scope: Any, receive: Any, send: Any) -> None:
    await read(receive)
    await respond(send, 200, ALLOWED)


def by_hand(sessions: HttpSessions) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1 or not hmac.compare_digest(given[0], f"Bearer {TOKEN}".encode()):
            return await respond(send, 401, b"{}")
        _, _, _, session_id, name = scope["raw_path"].decode("ascii", "replace").split("/")
        operation = OPERATIONS[name]
        body = operation.body.from_json(await read(receive))
        status, reply = await operation.work(sessions, unquote(session_id), body)
        return await respond(send, status, reply.to_json())

    return app


async def serve(kind: str) -> None:
    """One of the servers; its port is its first line."""
    reaching = AtOnce("nats://127.0.0.1:1", name="bench")
    sessions = HttpSessions(reaching, runtime="bench")
    apps: Mapping[str, Any] = {
        "floor": floor,
        "by_hand": by_hand(sessions),
        "adapter": HttpAdapter(sessions, reaching, TOKEN, b"{}"),
    }
    config = uvicorn.Config(
        apps[kind],
        log_level="warning",
        access_log=False,
        lifespan="off",
        # As `Impatient`, without its timer: on a busy machine a server may wait long for its turn.
        http="h11",
        timeout_keep_alive=600,
        ws="none",
        server_header=False,
    )
    server = uvicorn.Server(config)
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])


class Connection:
    """One that stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self) -> float:
        """Milliseconds to the whole answer."""
        started = time.perf_counter()
        self._writer.write(REQUEST)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if b" 200 " not in head or json.loads(body)["decision"] != "allow":
            raise RuntimeError(f"unexpected answer: {head.decode()}{body.decode()}")
        return (time.perf_counter() - started) * 1000


async def block(connections: list[Connection]) -> tuple[float, float]:
    """Checks per second over all connections; then the median time of one after the other over one."""

    async def several(connection: Connection) -> None:
        for _ in range(BLOCK // len(connections)):
            await connection.ask()

    started = time.perf_counter()
    await asyncio.gather(*map(several, connections))
    rate = BLOCK / (time.perf_counter() - started)
    return rate, statistics.median([await connections[0].ask() for _ in range(ALONE)])


async def measure_checks(blocks: int) -> dict[str, float]:
    """Checks per second and medians of each kind, and how they compare."""
    processes: list[asyncio.subprocess.Process] = []
    connections: dict[str, list[Connection]] = {}
    try:
        for kind in KINDS:
            process = await asyncio.create_subprocess_exec(
                sys.executable, __file__, "--serve", kind, stdout=asyncio.subprocess.PIPE
            )
            processes.append(process)
            assert process.stdout is not None
            port = int(await process.stdout.readline())
            connections[kind] = [
                Connection(*await asyncio.open_connection("127.0.0.1", port))
                for _ in range(CONNECTIONS)
            ]
            await block(connections[kind])
        used = {kind: cpu_s(process) for kind, process in zip(KINDS, processes, strict=True)}
        figures: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for number in range(blocks):
            # Each begins as often as the others: what comes first finds the machine otherwise than what follows.
            for kind in KINDS[number % 3 :] + KINDS[: number % 3]:
                figures[kind].append(await block(connections[kind]))
        for kind, process in zip(KINDS, processes, strict=True):
            used[kind] = (cpu_s(process) - used[kind]) / (blocks * (BLOCK + ALONE)) * 1e6
    finally:
        for process in processes:
            process.kill()
            await process.wait()
    rates, times = (
        {kind: statistics.median(each[place] for each in figures[kind]) for kind in KINDS}
        for place in (0, 1)
    )
    return {
        **{f"{kind}_per_s": round(rates[kind]) for kind in KINDS},
        **{f"{kind}_p50_ms": round(times[kind], 3) for kind in KINDS},
        **{f"{kind}_cpu_us": round(used[kind]) for kind in KINDS},
        "rate_ratio_to_by_hand": round(rates["adapter"] / rates["by_hand"], 3),
        "p50_ratio_to_by_hand": round(times["adapter"] / times["by_hand"], 3),
        "cpu_ratio_to_by_hand": round(used["adapter"] / used["by_hand"], 3),
        "cpu_ratio_to_floor": round(used["adapter"] / used["floor"], 2),
    }


def cpu_s(process: asyncio.subprocess.Process) -> float:
    """What a server has used of the processor: unlike the clock, this does not count what others do meanwhile."""
    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system


def started_ms(folder: str) -> float:
    """From the command to its first line."""
    environment = {**os.environ, "LICTOR_NATS_URL": "nats://127.0.0.1:1"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [LICTOR, "http", "--json"], stdout=subprocess.PIPE, cwd=folder, env=environment
    )
    assert process.stdout is not None
    with process.stdout:
        json.loads(process.stdout.readline())
    took = (time.perf_counter() - started) * 1000
    process.terminate()
    process.wait()
    return took


def measure_start(rounds: int) -> dict[str, float]:
    """The medians of both, and their ratio."""
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        started_ms(folder)
        times = [
            (started_ms(folder), milliseconds([sys.executable, "-c", "pass"]))
            for _ in range(rounds)
        ]
    start_ms, python_ms = (statistics.median(each) for each in zip(*times, strict=True))
    return {
        "start_ms": round(start_ms, 1),
        "python_ms": round(python_ms, 1),
        "start_ratio": round(start_ms / python_ms, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", choices=KINDS, help=argparse.SUPPRESS)
    # `./taskw bench` gives every benchmark the same options.
    options, _ = parser.parse_known_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
        return
    result = asyncio.run(measure_checks(options.blocks)) | measure_start(options.rounds)
    emit("the guard over HTTP", result, options.json)


if __name__ == "__main__":
    main()
