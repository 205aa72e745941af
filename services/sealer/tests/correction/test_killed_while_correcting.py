"""Kill the sealer while it corrects: every order corrects once, and the log neither forks nor skips."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from closing_bus import record
from nats.aio.client import Client
from nats.errors import Error as NatsError
from reporting import service_process, wait_until_ready
from task_messages import receipt, store, uuid

from lictor.history.episode_bundle import bundle_lines
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.core.ids import episode_id
from lictor_schema.seals.correction import CorrectionAnswer, CorrectionOrder
from lictor_seal import StreamAudit, TrustStore, verify_bundle
from lictor_sealer.episode import gathering
from lictor_sealer.log.stream import sealed_episode_of

TASKS = 20
ORDERS = 3
KILLS = 5


async def test_orders_that_a_killed_sealer_did_not_answer_correct_once(
    own_servers: EmbeddedServers, tmp_path: Path
) -> None:
    environment = {"LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"), "LICTOR_SEAL_KEY_CREATE": "1"}
    async with AsyncExitStack() as stack:
        client = await connect_nats(own_servers.endpoints.nats_url, name="test")
        stack.push_async_callback(close_nats, client)
        await streams.declare(client, streams.DECISIONS, streams.EPISODES, *gathering.STREAMS)
        for number in range(TASKS):
            await close(client, f"task-{number}")

        async def start():
            process = service_process("lictor_sealer", own_servers.endpoints, **environment)
            return await stack.enter_async_context(process)

        sealer = await start()
        await wait_until_ready(client, "sealer")
        done: list[int] = []
        ordering = asyncio.gather(*(work(client, number, done) for number in range(TASKS)))
        for number in range(KILLS):
            await until_done(done, (number + 1) * TASKS * ORDERS // (KILLS + 2))
            sealer.kill()
            await sealer.wait()
            sealer = await start()
        await ordering

        trust = TrustStore.load(tmp_path / "trust.json")
        audit, versions = StreamAudit(trust), dict[str, list[int]]()
        late: list[int] = []
        async for stored in read_all(client, streams.EPISODES, ">"):
            if stored.subject == subjects.LOG_CHECKPOINT:
                audit.checkpoint(stored.sequence, stored.body)
                continue
            audit.episode(stored.sequence, stored.body)
            # The messages of each version were stored before it, whenever the sealer was killed.
            lines = [line async for line in bundle_lines(client, stored.body)]
            checked = verify_bundle(b"".join(lines), trust).verified
            assert checked is not None
            assert checked.contents is not None
            episode = sealed_episode_of(stored)
            versions.setdefault(episode.task_id, []).append(episode.seal.version)
            late += [] if episode.correction is None else [episode.correction.late]
        report = audit.finish()
        assert report.findings == ()
        assert report.size == TASKS * (ORDERS + 1)
        assert versions == {f"task-{number}": list(range(1, ORDERS + 2)) for number in range(TASKS)}
        # The receipt that came late is taken up by the first correction that saw it, and by no other.
        assert sum(late) == TASKS


async def until_done(done: list[int], orders: int) -> None:
    async with asyncio.timeout(60):
        while len(done) < orders:
            await asyncio.sleep(0.005)


async def close(client: Client, task: str) -> None:
    closing = record("e1", closes=True, task=task)
    message = Outgoing(subjects.decision(closing.runtime, "allow", task), closing.to_json())
    await publish_one(client, streams.DECISIONS, message)


async def work(client: Client, number: int, done: list[int]) -> None:
    """Corrections of one episode, each ordered again until it is answered."""
    task = f"task-{number}"
    for turn in range(ORDERS):
        order = CorrectionOrder(
            request_id=uuid(number * 100 + turn),
            episode_id=episode_id(task, "e1"),
            by="ops",
            reason="what came late",
        )
        while (await ask(client, order)) is None:
            await asyncio.sleep(0.02)
        done.append(number)
        if turn == 0:
            await store(client, receipt(task, record("e1", task=task).record_id, number))


async def ask(client: Client, order: CorrectionOrder) -> CorrectionAnswer | None:
    try:
        reply = await client.request(subjects.desk("correct"), order.to_json(), timeout=2)
    except (NatsError, TimeoutError):
        return None
    answer = CorrectionAnswer.from_json(reply.data)
    # Refused while its task is not sealed yet, or the streams can't be reached.
    return answer if answer.outcome == "done" else None
