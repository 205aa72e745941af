"""How long the tool gate takes to answer, beside a bare NATS request/reply measured in the same run.

Of ten questions six are about calls that are allowed and change nothing, two are allowed and noted in the session's
log before they are (a rate limit counts them, or an order has to know when a test began or an edit made it stale), one
is denied by a policy, and one is about a session that never began. So the median of the mix is that of a call which is
not noted; a definition that has most calls noted pays for most what `tool_counted_p50_ratio` says. Files come with a
digest, as adapters send them.
`bench/gates.py` runs it.
"""

import asyncio
import json
import statistics
import time
import uuid
from datetime import UTC, datetime
from operator import truediv
from pathlib import Path
from typing import Any, cast

from nats.aio.client import Client
from nats.errors import Error as NatsError
from redis.asyncio import Redis

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_guard.facts.fact import decode_fact
from lictor_guard.facts.session_facts import TALLY, Tally

RUNTIME = "bench"
GATE = subjects.gate("tool", RUNTIME)
# No multiple of ten: every session is asked every kind of question.
SESSIONS = 53
WARM_UP = 200
BLOCK = 20
IN_FLIGHT = 32
ROUNDS = 5
LENGTHS = (10, 1_000, 100_000)
DIGEST = f"sha256:{'a' * 64}"
DEFINITION = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: bench, version: 1.0.0}
tools:
  - {name: read_file, access: read, resources: [path]}
  - {name: write_file, access: write, resources: [path]}
  - {name: edit}
  - {name: test}
  - {name: deploy}
  - {name: search}
policies:
  - {kind: read-before-write, name: read-first}
  - {kind: sequential-dependency, name: order, requires: {deploy: [test]}, invalidated_by: {test: [edit]}}
  - {kind: rate-limit, name: few-searches, tools: [search], limit: 10000, window_s: 1}
deadline_s: 86400
budgets: {calls: 10000000}
"""


def write_definition(folder: Path) -> None:
    """Where the service looks for definitions."""
    (folder / "bench.yaml").write_text(DEFINITION)


def question(session: str, **fields: Any) -> bytes:
    """A question of the agent of a session."""
    return json.dumps(
        {
            "request_id": str(uuid.uuid4()),
            "runtime": RUNTIME,
            "agent_id": "agent",
            "task_id": session,
            "session_id": session,
            "requested_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            **fields,
        }
    ).encode()


def call(tool: str, **params: str) -> dict[str, Any]:
    """A call, with the file that it names."""
    resources = [
        {"param": name, "given": value, "key": value, "state": "file", "digest": DIGEST}
        for name, value in params.items()
        if name == "path"
    ]
    return {
        "call_id": str(uuid.uuid4()),
        "tool": tool,
        "params": params,
        "resources": resources,
    }


def asked(number: int) -> tuple[str, bytes]:
    """What kind of question the n-th is, and the question."""
    session = f"session-{number % SESSIONS}"
    match number % 10:
        case 6:
            return "counted", question(session, **call("edit"))
        case 7:
            counted = call("search", query="where") if number % 20 == 7 else call("test")
            return "counted", question(session, **counted)
        case 8:
            return "denied", question(session, **call("deploy", target="production"))
        case 9:
            return "unknown_session", question("nobody", **call("test"))
        case remainder:
            tool = ("read_file", "write_file")[remainder % 2]
            return "allowed", question(session, **call(tool, path="src/main.py"))


async def prepare(client: Client) -> None:
    """Sessions that have read a file, and answers as the mix says."""
    for number in range(SESSIONS):
        await begin(client, f"session-{number}")
    for number, allowed in (
        (0, True),
        (1, True),
        (6, True),
        (7, True),
        (17, True),
        (8, False),
        (9, False),
    ):
        _, body = asked(number)
        answer = json.loads((await client.request(GATE, body, timeout=5)).data)
        if (answer["decision"] == "allow") != allowed:
            raise RuntimeError(f"unexpected answer to {body.decode()}: {answer}")


async def begin(client: Client, session: str) -> dict[str, Any]:
    """A session that has read the file it will write."""
    begun = await session_question(client, "begin", question(session, definition="bench"))
    read = question(session, **call("read_file", path="src/main.py"), outcome="ok")
    await session_question(client, "result", read)
    return begun


async def session_question(client: Client, operation: str, body: bytes) -> dict[str, Any]:
    """An answer that must be a good one."""
    subject = subjects.session_request(operation, RUNTIME)
    answer = json.loads((await client.request(subject, body, timeout=5)).data)
    if not answer["ok"]:
        raise RuntimeError(f"{operation}: {answer['reason']}")
    return answer


async def ask(client: Client, subject: str, body: bytes) -> float:
    """Seconds that the answer took."""
    begun = time.perf_counter()
    await client.request(subject, body, timeout=5)
    return time.perf_counter() - begun


async def latencies(
    client: Client, floor: str, count: int
) -> tuple[list[float], dict[str, list[float]]]:
    """Ask floor and gate in turn, so that whatever else the machine does falls on both."""
    raw: list[float] = []
    gate: dict[str, list[float]] = {}
    for start in range(0, WARM_UP + count, BLOCK):
        block = [asked(number) for number in range(start, start + BLOCK)]
        raw_taken = [await ask(client, floor, body) for _, body in block]
        gate_taken = [await ask(client, GATE, body) for _, body in block]
        if start >= WARM_UP:
            raw += raw_taken
            for (kind, _), taken in zip(block, gate_taken, strict=True):
                gate.setdefault(kind, []).append(taken)
    return raw, gate


async def rates(client: Client, floor: str, count: int) -> dict[str, float]:
    """Answers a second with many questions under way, rounds alternating: the floor, the mix, allowed calls alone."""
    mix = [asked(number) for number in range(count)]
    allowed = [body for kind, body in mix if kind == "allowed"]
    raw: list[float] = []
    checks: list[float] = []
    allowed_checks: list[float] = []
    for _ in range(ROUNDS):
        raw.append(await _rate(client, floor, [body for _, body in mix]))
        # Anew: a call that was counted or denied once is not judged again.
        checks.append(await _rate(client, GATE, [asked(number)[1] for number in range(count)]))
        allowed_checks.append(await _rate(client, GATE, allowed))
    return {
        "raw_per_s": round(statistics.median(raw)),
        "checks_per_s": round(statistics.median(checks)),
        "checks_ratio": round(statistics.median(map(truediv, checks, raw)), 3),
        "allowed_per_s": round(statistics.median(allowed_checks)),
        "allowed_ratio": round(statistics.median(map(truediv, allowed_checks, raw)), 3),
    }


async def _rate(client: Client, subject: str, bodies: list[bytes]) -> float:
    waiting = iter(bodies)

    async def keep_asking() -> None:
        for body in waiting:
            await client.request(subject, body, timeout=10)

    begun = time.perf_counter()
    await asyncio.gather(*(keep_asking() for _ in range(IN_FLIGHT)))
    return len(bodies) / (time.perf_counter() - begun)


async def growth(
    client: Client, redis_url: str, count: int, lengths: tuple[int, ...]
) -> dict[str, object]:
    """Microseconds of a check in sessions of these lengths, asked in turn."""
    names = {length: f"long-{length}" for length in lengths}
    for length, name in names.items():
        await fill(client, redis_url, name, length)
    await projected(client)
    taken: dict[int, list[float]] = {length: [] for length in lengths}
    for start in range(0, WARM_UP + count, BLOCK):
        for length, name in names.items():
            for _ in range(BLOCK):
                body = question(name, **call("write_file", path="src/main.py"))
                spent = await ask(client, GATE, body)
                if start >= WARM_UP:
                    taken[length].append(spent)
    medians = {length: statistics.median(spent) for length, spent in taken.items()}
    first, *_, last = medians.values()
    return {
        "session_us": {str(length): round(spent * 1e6) for length, spent in medians.items()},
        "growth_session": round(last / first, 2),
    }


async def fill(client: Client, redis_url: str, session: str, length: int) -> None:
    """A session with so many finished calls: its log written at once, then folded by the service."""
    begun = await begin(client, session)
    key = subjects.session_key(RUNTIME, session)
    log = subjects.session_log(key)
    ids = [str(uuid.uuid4()) for _ in range(length - 2)]
    entries = [
        Outgoing(log, _finished(session, number, entry_id, begun), entry_id)
        for number, entry_id in enumerate(ids)
    ]
    await publish_all(client, streams.SESSIONS, entries)
    # Its log went on behind the service's back, which it notices when it wants to add to it.
    body = question(session, **call("test"), outcome="ok")
    until = time.monotonic() + 300
    while True:
        try:
            await session_question(client, "result", body)
            if await _calls(redis_url, key) == length:
                return
        except (RuntimeError, NatsError):
            if time.monotonic() > until:
                raise
        if time.monotonic() > until:
            raise RuntimeError(f"session {session} did not become {length} calls long")
        await asyncio.sleep(0.2)


async def _calls(redis_url: str, key: str) -> int:
    """How many calls the service has counted: else a short session could pass for a long one."""
    async with Redis.from_url(redis_url) as redis:
        stored = await cast(Any, redis.hget(f"lictor:feedback:{{{key}}}", TALLY))
    tally = decode_fact(stored) if stored else None
    return tally.calls if isinstance(tally, Tally) else 0


def _finished(session: str, number: int, entry_id: str, begun: dict[str, Any]) -> bytes:
    tool = ("read_file", "test", "write_file")[number % 3]
    made = call(tool) if tool == "test" else call(tool, path=f"src/{number % 200}.py")
    return json.dumps(
        {
            "kind": "call_finished",
            "entry_id": entry_id,
            "at_us": time.time_ns() // 1000,
            "runtime": RUNTIME,
            "session_id": session,
            "task_id": session,
            "agent_id": "agent",
            "definition_hash": begun["definition_hash"],
            **made,
            "outcome": "ok",
        },
        # As the service writes them: else it takes them for litter in its log.
        separators=(",", ":"),
    ).encode()


async def projected(client: Client) -> None:
    """Wait until nothing of the sessions is left to be told on: it would compete with the questions."""
    while True:
        consumers = await client.jetstream().consumers_info("SESSIONS")
        if not any(each.num_pending or each.num_ack_pending for each in consumers):
            return
        await asyncio.sleep(0.2)
