"""What a runtime's own NATS account costs: the same question and the same publishing, direct and through an import.

Direct is a user in the account of the services, as before there were accounts; the other is a runtime's user, whose
messages cross by imports. Both ask the same process in turn, in the same run; ratios compare, absolute times don't.

    python bench/accounts.py [--questions 5000] [--batches 50] [--json]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import uvloop
from nats.aio.client import Client
from nats.aio.msg import Msg

from lictor_bus.names import subjects
from lictor_bus.names.roles import roles
from lictor_bus.names.server_accounts import accounts_config
from lictor_bus.names.streams import declare
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_batch, publish_one
from lictor_local.accounts import Accounts
from lictor_local.embedded_servers import EmbeddedServers

sys.path.insert(0, str(Path(__file__).parent))
from reporting import emit

RUNTIME, DIRECT = "bench", "direct"
GATE = subjects.gate("report", RUNTIME)
EVENT = subjects.event(RUNTIME, "task")
BLOCK = 20
BATCH = 100
WARM_UP = 10
BODY = b"x" * 400

Act = Callable[[Client], Awaitable[object]]


async def ask(client: Client) -> None:
    await client.request(GATE, BODY, timeout=10)


async def publish(client: Client) -> None:
    await publish_one(client, "EVENTS", Outgoing(EVENT, BODY))


async def publish_many(client: Client) -> None:
    messages = [Outgoing(EVENT, BODY)] * BATCH
    await publish_batch(client, "EVENTS", messages)


async def in_turn(
    clients: dict[str, Client], act: Act, blocks: int, block: int
) -> dict[str, float]:
    """The median time of an act by each client, in seconds."""
    taken: dict[str, list[float]] = {name: [] for name in clients}
    for number in range(WARM_UP + blocks):
        for name, client in clients.items():
            for _ in range(block):
                begun = time.perf_counter()
                await act(client)
                if number >= WARM_UP:
                    taken[name].append(time.perf_counter() - begun)
    return {name: sorted(times)[len(times) // 2] for name, times in taken.items()}


def with_direct_user(accounts: Accounts, path: Path) -> None:
    """Let a second user with the runtime's subjects into the account of the services."""
    (runtime,) = (role for role in roles([RUNTIME]) if role.is_runtime)
    direct = replace(runtime, name=DIRECT, is_runtime=False)
    users = {**accounts.users, DIRECT: {DIRECT: "direct"}}
    path.write_text(accounts_config((*roles([RUNTIME]), direct), users))


async def measure(questions: int, batches: int) -> dict[str, object]:
    """Each act direct and through an import."""
    result: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        servers = EmbeddedServers(Path(folder), redis=False, secured=True)
        accounts = Accounts.new([RUNTIME], address="")
        servers.accounts.write(accounts)
        with_direct_user(accounts, servers.accounts.config)
        async with servers:
            address = servers.nats_url.removeprefix("nats://")
            deploy, service, across = [
                await connect_nats(f"{accounts.url(role)}{address}", name="bench")
                for role in ("deploy", "policy-evaluator", RUNTIME)
            ]
            direct = await connect_nats(f"nats://{DIRECT}:direct@{address}", name="bench")
            await declare(deploy, "EVENTS")

            async def answer(message: Msg) -> None:
                await message.respond(BODY)

            await service.subscribe(subjects.GATE.where(gate="report"), cb=answer)
            await service.flush()
            for name, act, blocks, block in (
                ("gate", ask, questions // BLOCK, BLOCK),
                ("publish", publish, questions // BLOCK, BLOCK),
                (f"batch_of_{BATCH}", publish_many, batches, 1),
            ):
                found = await in_turn({"direct": direct, "import": across}, act, blocks, block)
                result[f"{name}_direct_us"] = round(found["direct"] * 1e6)
                result[f"{name}_import_us"] = round(found["import"] * 1e6)
                result[f"{name}_ratio"] = round(found["import"] / found["direct"], 2)
            for client in (deploy, service, across, direct):
                await client.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="A runtime's own account, beside a shared one.")
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit(
        "accounts: direct, and through an import",
        uvloop.run(measure(options.questions, options.batches)),
        options.json,
    )


if __name__ == "__main__":
    main()
