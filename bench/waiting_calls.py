"""What calls that nobody asks about cost while others wait for people, beside a bare NATS request/reply.

Two sets of sessions of one definition, asked in turn: in one every session has as many calls waiting as its policy
lets, in the other none has. The calls are ordinary: half of tools that no policy asks about, half of the tool that one
asks about, with parameters that need nobody. `bench/gates.py` runs it.
"""

import asyncio
import json
import statistics
from pathlib import Path
from typing import Any

import tool_gate
from nats.aio.client import Client

DEFINITION = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: asks, version: 1.0.0}
tools:
  - {name: read_file, access: read, resources: [path]}
  - {name: pay}
policies:
  - kind: require-approval
    name: money
    tools: [pay]
    unless: [{param: amount, allow: ["[0-9]{1,2}"]}]
    max_waiting: 250
deadline_s: 86400
"""
EACH = 250
"""Calls that wait in one session."""
_AT_ONCE = 4


def write_definition(folder: Path) -> None:
    """Where the service looks for definitions."""
    (folder / "asks.yaml").write_text(DEFINITION)


async def waiting_calls(client: Client, floor: str, count: int, waiting: int) -> dict[str, object]:
    """Medians of ordinary checks with so many requests waiting, and with none, and their ratio to the floor."""
    number = max(1, waiting // EACH)
    sets = {
        "none": [f"quiet-{each}" for each in range(number)],
        "waiting": [f"waiting-{each}" for each in range(number)],
    }
    for names in sets.values():
        for name in names:
            begin = tool_gate.question(name, definition="asks")
            await tool_gate.session_question(client, "begin", begin)
    limit = asyncio.Semaphore(_AT_ONCE)
    await asyncio.gather(*(_fill(client, name, limit) for name in sets["waiting"]))
    await tool_gate.projected(client)
    raw: list[float] = []
    taken: dict[str, list[float]] = {kind: [] for kind in sets}
    for start in range(0, tool_gate.WARM_UP + count, tool_gate.BLOCK):
        for kind, names in (("floor", sets["none"]), *sets.items()):
            subject = floor if kind == "floor" else tool_gate.GATE
            for each in range(start, start + tool_gate.BLOCK):
                spent = await tool_gate.ask(client, subject, _ordinary(names, each))
                if start >= tool_gate.WARM_UP:
                    (raw if kind == "floor" else taken[kind]).append(spent)
    bare = statistics.median(raw)
    none, some = (statistics.median(taken[kind]) for kind in ("none", "waiting"))
    return {
        "waiting_requests": number * EACH,
        "waiting_none_p50_us": round(none * 1e6),
        "waiting_none_p50_ratio": round(none / bare, 2),
        "waiting_p50_us": round(some * 1e6),
        "waiting_p50_ratio": round(some / bare, 2),
        "waiting_to_none": round(some / none, 2),
    }


def _ordinary(names: list[str], number: int) -> bytes:
    name = names[number // 2 % len(names)]
    if number % 2:
        return tool_gate.question(name, **tool_gate.call("read_file", path="src/main.py"))
    return tool_gate.question(name, **_payment(number % 100))


async def _fill(client: Client, name: str, limit: asyncio.Semaphore) -> None:
    for number in range(EACH):
        payment = _payment(100 + number)
        async with limit:
            while (answer := await _answer(client, name, payment))["decision"] != "ask":
                # A busy machine takes its time over these; they are not measured.
                if answer["policy_id"] != "lictor.unavailable":
                    raise RuntimeError(f"unexpected answer: {answer}")


async def _answer(client: Client, name: str, payment: dict[str, Any]) -> dict[str, Any]:
    body = tool_gate.question(name, **payment, knows_ask=True)
    return json.loads((await client.request(tool_gate.GATE, body, timeout=30)).data)


def _payment(amount: int) -> dict[str, Any]:
    return {**tool_gate.call("pay"), "params": {"amount": amount}}
