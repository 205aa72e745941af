"""NATS comes back without its data: services say what to do, and go on when it is restored, or anew when restarted."""

import asyncio
import json
import shutil

import nats
from nats.errors import Error as NatsError
from reporting import reach, service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one

PATIENCE_S = 60


async def send(client, task):
    """What can only become a dead letter: that shows that the worker is at work."""
    await publish_one(client, "EVENTS", Outgoing(subjects.event("test", task), b"not an event"))


async def until_told(client, words):
    """Wait until the evaluator is not ready, and says this."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                answer = await client.request("lictor.health.policy-evaluator", b"", timeout=1)
            except NatsError:
                continue
            health = json.loads(answer.data)
            if words in health["detail"]:
                assert not health["ready"]
                return
            await asyncio.sleep(0.05)


async def test_a_broker_that_lost_its_streams_is_told_of_with_what_to_do(own_servers, tmp_path):
    data, backup = tmp_path / "servers" / "nats", tmp_path / "backup"
    client = await nats.connect(own_servers.nats_url, max_reconnect_attempts=-1)
    async with service_process("lictor_policy_evaluator", own_servers.endpoints):
        await wait_until_ready(client, "policy-evaluator")
        await send(client, "before")
        await reach(client, "DEAD", 1)

        await own_servers.kill_nats()
        shutil.move(data, backup)
        await own_servers.start_nats()
        await until_told(client, "gone from NATS: restore from a backup")

        await own_servers.kill_nats()
        shutil.rmtree(data)
        shutil.move(backup, data)
        await own_servers.start_nats()
        await wait_until_ready(client, "policy-evaluator", PATIENCE_S)
        await send(client, "restored")
        await reach(client, "DEAD", 2)

        await own_servers.kill_nats()
        shutil.rmtree(data)
        await own_servers.start_nats()
        await until_told(client, "restart all services, which then begin with empty streams")
    async with service_process("lictor_policy_evaluator", own_servers.endpoints):
        await wait_until_ready(client, "policy-evaluator", PATIENCE_S)
        await send(client, "anew")
        await reach(client, "DEAD", 1)
    await client.close()
