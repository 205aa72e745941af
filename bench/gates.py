"""How long the gates take to answer, beside a bare NATS request/reply measured in the same run.

First the report gate; then the tool gate, its throughput and how it grows with a session (`bench/tool_gate.py`), and
with calls that wait for people (`bench/waiting_calls.py`); then `lictor hook` beside a bare Python (`bench/hook.py`).

Both are asked by this process in turn, twenty questions at a time and one after the other, over the same connection,
with the same bytes. The floor's process answers with a constant of an answer's size and does nothing else. The gate
reads the task's last sequence and its state, judges the packs, records its answer (a denial or a rewrite before it is
given) and answers. Of ten questions eight are honest reports, one claims completion without evidence, and one is
about a task that never started.

    python bench/gates.py [--questions 5000] [--calls 100000] [--waiting 10000] [--rounds 40] [--json]
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import nats
import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from lictor_bus.names import subjects
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

sys.path.insert(0, str(Path(__file__).parent))
import tool_gate
import waiting_calls
from hook import measure_hook
from reporting import emit, publish_events, reach, service_process, wait_until_ready

FLOOR = "floor.ask"
GATE = subjects.gate("report", "bench")
TASKS = 50
WARM_UP = 200
BLOCK = 20
# As large as the answer to an honest report.
ANSWER = json.dumps({"request_id": str(uuid.UUID(int=0)), "decision": "allow", "pad": "x" * 150})
STRUCTURE = {
    "current_status": "half done",
    "completed_this_segment": "the first table",
    "next_step": "the second table",
    "next_report_condition": "when it is done",
    "operator_intervention_needed": "no",
}


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


async def floor_worker(url: str) -> None:
    """The floor: answer every question with the same bytes."""
    client = await nats.connect(url)
    body = ANSWER.encode()

    async def answer(message: Msg) -> None:
        await message.respond(body)

    await client.subscribe(FLOOR, cb=answer)
    await asyncio.Event().wait()


@asynccontextmanager
async def floor(client: Client, endpoints: Endpoints) -> AsyncIterator[None]:
    """The floor's process, ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--floor-worker", endpoints.nats_url
    )
    try:
        async with asyncio.timeout(20):
            while True:
                try:
                    await client.request(FLOOR, b"", timeout=0.5)
                    break
                except NatsError:
                    await asyncio.sleep(0.05)
        yield
    finally:
        process.terminate()
        await process.wait()


def event(task: str, event_type: str, payload: dict[str, object]) -> tuple[str, bytes]:
    """An event of a task on its subject."""
    body = {
        "event_id": f"{task}-{event_type}",
        "event_type": event_type,
        "runtime": "bench",
        "adapter_version": "1",
        "agent_id": "agent",
        "task_id": task,
        "correlation_id": task,
        "timestamp": now(),
        "payload": payload,
        "evidence_refs": [],
        "operator_context": {"channel": "telegram"},
    }
    return subjects.event("bench", task), json.dumps(body).encode()


def history(task: str) -> list[tuple[str, bytes]]:
    """A task that has something to report and nothing that would prove it done."""
    start: dict[str, object] = {
        "title": "Migrate the tables",
        "mode": "interactive",
        "workflow_shape": "single-agent",
        "channel": "telegram",
    }
    evidence = {
        "evidence_id": f"{task}-counts",
        "task_id": task,
        "correlation_id": task,
        "agent_id": "agent",
        "class": "tool_output",
        "quality": "weak",
        "summary": "The row counts of the first table agree",
        "captured_at": now(),
        "refs": [{"kind": "log", "ref": "logs/counts.txt"}],
        "supports": {"claim_types": ["progress"], "next_step": True},
    }
    return [
        event(task, "task_started", start),
        event(task, "task_evidence_attached", {"items": [evidence]}),
    ]


def question(number: int) -> tuple[str, bytes]:
    """What kind of question the n-th is, and the question."""
    kind = {8: "completion", 9: "unknown_task"}.get(number % 10, "report")
    request = {
        "request_id": str(uuid.uuid4()),
        "runtime": "bench",
        "agent_id": "agent",
        "task_id": "nobody" if kind == "unknown_task" else f"task-{number % TASKS}",
        "requested_at": now(),
        "message": "The first table is migrated and its row counts agree.",
        "structure": STRUCTURE,
    }
    if kind == "completion":
        request["claim"] = {"type": "completion", "text": "All tables are migrated."}
    return kind, json.dumps(request).encode()


async def ask(client: Client, subject: str, body: bytes) -> float:
    """Seconds that the answer took."""
    begun = time.perf_counter()
    await client.request(subject, body, timeout=5)
    return time.perf_counter() - begun


async def check_answers(client: Client) -> None:
    """The gate answers what the mix says it does; else the figures would be about something else."""
    for number, allowed in ((0, True), (8, False), (9, False)):
        _, body = question(number)
        answer = json.loads((await client.request(GATE, body, timeout=5)).data)
        if (answer["decision"] == "allow") != allowed:
            raise RuntimeError(f"unexpected answer to {body.decode()}: {answer}")


def micros(taken: list[float], part: float) -> int:
    return round(quantile(taken, part) * 1e6)


def quantile(taken: list[float], part: float) -> float:
    return sorted(taken)[min(len(taken) - 1, int(len(taken) * part))]


async def measure(count: int) -> dict[str, object]:
    """Ask floor and gate in turn, so that whatever else the machine does falls on both."""
    raw: list[float] = []
    gate: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            client = await nats.connect(servers.endpoints.nats_url)
            async with (
                floor(client, servers.endpoints),
                service_process("lictor_policy_evaluator", servers.endpoints),
            ):
                await wait_until_ready(client, "policy-evaluator")
                events = [each for n in range(TASKS) for each in history(f"task-{n}")]
                await publish_events(client, events)
                await reach(client, "DECISIONS", len(events))
                await check_answers(client)
                for start in range(0, WARM_UP + count, BLOCK):
                    block = [question(number) for number in range(start, start + BLOCK)]
                    raw_taken = [await ask(client, FLOOR, body) for _, body in block]
                    gate_taken = [await ask(client, GATE, body) for _, body in block]
                    if start >= WARM_UP:
                        raw += raw_taken
                        for (kind, _), taken in zip(block, gate_taken, strict=True):
                            gate.setdefault(kind, []).append(taken)
            await client.close()
    everything = [taken for kind in gate.values() for taken in kind]
    result: dict[str, object] = {
        "questions": len(everything),
        "raw_p50_us": micros(raw, 0.5),
        "raw_p99_us": micros(raw, 0.99),
        "report_gate_p50_us": micros(everything, 0.5),
        "report_gate_p99_us": micros(everything, 0.99),
        "report_gate_p50_ratio": round(quantile(everything, 0.5) / quantile(raw, 0.5), 2),
        "report_gate_p99_ratio": round(quantile(everything, 0.99) / quantile(raw, 0.99), 2),
    }
    for kind, taken in gate.items():
        result[f"{kind}_p50_us"] = micros(taken, 0.5)
        result[f"{kind}_p99_us"] = micros(taken, 0.99)
    return result


async def measure_tool_gate(count: int, calls: int, waiting: int, rounds: int) -> dict[str, object]:
    """The tool gate beside the same floor, on servers of its own; then the hook that asks it."""
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        agents = Path(folder) / "agents"
        agents.mkdir()
        tool_gate.write_definition(agents)
        waiting_calls.write_definition(agents)
        async with EmbeddedServers(Path(folder) / "servers") as servers:
            client = await nats.connect(servers.endpoints.nats_url)
            async with (
                floor(client, servers.endpoints),
                service_process(
                    "lictor_feedback",
                    servers.endpoints,
                    LICTOR_AGENTS=str(agents),
                    # It warns while it folds a long log for the first time, which takes longer than an answer may.
                    LICTOR_LOG_LEVEL="ERROR",
                ),
            ):
                await wait_until_ready(client, "feedback")
                await tool_gate.prepare(client)
                raw, gate = await tool_gate.latencies(client, FLOOR, count)
                rates = await tool_gate.rates(client, FLOOR, max(count // 5, 200))
                while_waiting = await waiting_calls.waiting_calls(
                    client, FLOOR, max(count // 5, 200), waiting
                )
                lengths = tuple(length for length in tool_gate.LENGTHS if length <= calls)
                growth = await tool_gate.growth(
                    client, servers.endpoints.redis_url, max(count // 5, 200), lengths
                )
            async with service_process("lictor_feedback", servers.endpoints):
                await wait_until_ready(client, "feedback")
                hook = await asyncio.to_thread(measure_hook, servers.endpoints, rounds)
            await client.close()
    everything = [taken for kind in gate.values() for taken in kind]
    result: dict[str, object] = {
        "tool_raw_p50_us": micros(raw, 0.5),
        "tool_raw_p99_us": micros(raw, 0.99),
        "tool_gate_p50_us": micros(everything, 0.5),
        "tool_gate_p99_us": micros(everything, 0.99),
        "tool_gate_p50_ratio": round(quantile(everything, 0.5) / quantile(raw, 0.5), 2),
        "tool_gate_p99_ratio": round(quantile(everything, 0.99) / quantile(raw, 0.99), 2),
    }
    for kind, taken in gate.items():
        result[f"tool_{kind}_p50_us"] = micros(taken, 0.5)
        result[f"tool_{kind}_p99_us"] = micros(taken, 0.99)
        result[f"tool_{kind}_p50_ratio"] = round(quantile(taken, 0.5) / quantile(raw, 0.5), 2)
    return {**result, **rates, **while_waiting, **growth, **hook}


async def measure_all(questions: int, calls: int, waiting: int, rounds: int) -> dict[str, object]:
    """One gate after the other."""
    return {
        **await measure(questions),
        **await measure_tool_gate(questions, calls, waiting, rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Gate answers, beside a bare request/reply.")
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument(
        "--calls",
        type=int,
        choices=tool_gate.LENGTHS[1:],
        default=tool_gate.LENGTHS[-1],
        help="the longest session",
    )
    parser.add_argument("--waiting", type=int, default=10_000, help="calls that wait for people")
    parser.add_argument("--rounds", type=int, default=40, help="how often the hook is started")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--floor-worker", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor_worker:
        uvloop.run(floor_worker(options.floor_worker))
        return
    emit(
        "gates: time from question to answer",
        uvloop.run(measure_all(options.questions, options.calls, options.waiting, options.rounds)),
        options.json,
    )


if __name__ == "__main__":
    main()
