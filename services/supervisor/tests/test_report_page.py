"""The coherence report over HTTP, of the supervisor as a process."""

import asyncio
import socket
import urllib.request
from pathlib import Path

from reporting import service_process, wait_until_ready

from lictor_bus.wire.connection import connect_nats
from lictor_local.embedded_servers import Endpoints
from lictor_schema.contracts.coherence_report import CoherenceReport
from lictor_seal import TrustStore


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


async def test_the_report_stands_beside_the_metrics(clean_infra: Endpoints, tmp_path: Path) -> None:
    port = free_port()
    settings = {
        "LICTOR_SEAL_TRUST": str(tmp_path / "trust.json"),
        "LICTOR_HTTP_PORT": str(port),
    }
    (tmp_path / "trust.json").write_bytes(TrustStore.of([]).to_bytes())
    client = await connect_nats(clean_infra.nats_url, name="test")
    async with service_process("lictor_supervisor", clean_infra, **settings):
        await wait_until_ready(client, "supervisor")
        body = await asyncio.to_thread(fetched, f"http://127.0.0.1:{port}/report")
    await client.close()
    assert CoherenceReport.from_json(body).episodes == 0
