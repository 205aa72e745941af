"""A service on a broker without its streams: it makes none, says what to run, and begins when they are there."""

import asyncio
import json
import os
import sys
from pathlib import Path

import nats
from nats.errors import Error as NatsError
from reporting import start_cold, wait_until_ready

from lictor_bus.names import streams

COMMAND = Path(sys.executable).with_name("lictor")


async def told(client, service, words):
    """Wait until the service is not ready and says this."""
    async with asyncio.timeout(60):
        while True:
            try:
                answer = await client.request(f"lictor.health.{service}", b"", timeout=1)
                health = json.loads(answer.data)
                if words in health["detail"]:
                    assert not health["ready"]
                    return
            except NatsError:
                pass
            await asyncio.sleep(0.05)


async def apply(url, *words):
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "streams", *words, "--url", url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_a_service_waits_for_its_streams_and_makes_none(clean_infra):
    url = clean_infra.nats_url
    client = await nats.connect(url)
    js = client.jetstream()
    environment = {
        **os.environ,
        "LICTOR_NATS_URL": url,
        "LICTOR_REDIS_URL": clean_infra.redis_url,
        "LICTOR_LOG_LEVEL": "ERROR",
    }
    process = await start_cold("lictor_feedback", environment)
    try:
        await told(client, "feedback", "stream SESSIONS is missing: run `lictor streams apply`")
        assert await js.streams_info() == []
        assert (await apply(url, "check"))[0] == 1

        code, out, _ = await apply(url, "apply", "--dry-run")
        assert (code, out.splitlines()[-1]) == (
            0,
            f"{len(streams.STREAMS)} made, 0 changed, 0 unchanged; nothing was done",
        )
        assert await js.streams_info() == []
        # By several at once.
        done = await asyncio.gather(*(apply(url, "apply") for _ in range(3)))
        assert [code for code, _, _ in done] == [0, 0, 0], done
        await wait_until_ready(client, "feedback", 60)

        assert (await apply(url, "check"))[0] == 0
        _, out, _ = await apply(url, "apply")
        assert out == f"0 made, 0 changed, {len(streams.STREAMS)} unchanged\n"
        code, _, err = await apply(url, "apply", "--partitions", "7")
        assert code == 1
        assert "set LICTOR_PARTITIONS to match it" in err
        _, out, _ = await apply(url, "list", "--json")
        assert [json.loads(line)["stream"] for line in out.splitlines()] == [*streams.STREAMS]
    finally:
        process.terminate()
        assert await process.wait() == 0
        await client.close()


async def test_a_service_that_waits_for_its_streams_ends_when_it_is_told(clean_infra):
    client = await nats.connect(clean_infra.nats_url)
    environment = {
        **os.environ,
        "LICTOR_NATS_URL": clean_infra.nats_url,
        "LICTOR_REDIS_URL": clean_infra.redis_url,
        "LICTOR_LOG_LEVEL": "ERROR",
    }
    process = await start_cold("lictor_feedback", environment)
    await told(client, "feedback", "is missing")
    process.terminate()
    assert await process.wait() == 0
    await client.close()
