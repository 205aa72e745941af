"""A service told to stop ends in its time, wherever its servers are; one that broke ends by itself."""

import asyncio
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
import pytest
from reporting import ROOT, apply_streams, service_process, wait_until_ready

DRAIN_S = 3
# Python, uvicorn and the exporters need a moment of their own to end.
MARGIN_S = 5

BREAKING = """
from lictor_bus.service.service import Service, ServiceSpec, main

class Breaking:
    trouble = None
    def stop(self): pass
    async def run(self): raise RuntimeError("a defect")

async def loops(runtime):
    return [Breaking()]

spec = ServiceSpec(name="breaking", version="0", description="Breaks.", streams=())
main(lambda: Service(spec=spec, loops=loops))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def health_status(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


async def until_not_ready(port: int) -> None:
    async with asyncio.timeout(30):
        while await asyncio.to_thread(health_status, port) != 503:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def idle_evaluator(endpoints) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    port = free_port()
    async with service_process(
        "lictor_policy_evaluator",
        endpoints,
        LICTOR_DRAIN_TIMEOUT_S=str(DRAIN_S),
        LICTOR_HTTP_PORT=str(port),
    ) as process:
        client = await nats.connect(endpoints.nats_url)
        await wait_until_ready(client, "policy-evaluator")
        await client.close()
        yield process, port


async def seconds_to_stop(process: asyncio.subprocess.Process) -> float:
    told = time.monotonic()
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        assert await process.wait() == 0
    return time.monotonic() - told


async def test_a_service_stops_in_its_time_when_nats_is_gone(own_servers):
    async with idle_evaluator(own_servers.endpoints) as (process, port):
        await own_servers.kill_nats()
        await until_not_ready(port)
        assert await seconds_to_stop(process) < DRAIN_S + MARGIN_S


async def test_a_service_stops_in_its_time_when_nats_hangs(own_servers):
    async with idle_evaluator(own_servers.endpoints) as (process, _):
        os.kill(own_servers.nats_pid, signal.SIGSTOP)
        try:
            assert await seconds_to_stop(process) < DRAIN_S + MARGIN_S
        finally:
            os.kill(own_servers.nats_pid, signal.SIGCONT)


async def test_a_service_still_waiting_for_its_servers_ends_at_once():
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "lictor_feedback",
        cwd=ROOT,
        env={**os.environ, "LICTOR_NATS_URL": "nats://127.0.0.1:9", "LICTOR_LOG_LEVEL": "WARNING"},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with asyncio.timeout(30):
        assert b"Waiting." in await process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        _, told = await process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert b"Traceback" not in told


@pytest.mark.parametrize("http", [False, True])
async def test_a_service_whose_loop_breaks_ends_and_says_so(clean_infra, http):
    await apply_streams(clean_infra.nats_url)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        BREAKING,
        env={
            **os.environ,
            "LICTOR_NATS_URL": clean_infra.nats_url,
            "LICTOR_REDIS_URL": clean_infra.redis_url,
            "LICTOR_HTTP_PORT": str(free_port()) if http else "",
        },
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, told = await process.communicate()
    assert process.returncode == 1
    assert b"a loop broke" in told
