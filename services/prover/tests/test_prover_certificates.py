"""Certificates on a real broker: made for what is proved, kept under their names, and named by the results."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js.errors import APIError
from reporting import service_process, wait_until_ready

import lictor
from lictor.governor import Governor
from lictor_bus.logs.certificates import load_certificate
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_ir.certificate.check import check
from lictor_ir.certificate.format import FrontEnd
from lictor_ir.json.document import to_json
from lictor_local.embedded_servers import Endpoints
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of
from lictor_schema.proofs.proof import ProofVerdict

ROOT = Path(__file__).parents[3]
LAYERS = ROOT / "examples/layers"
NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
WITH_A_COPY = (ROOT / "examples/programs/newsletter_with_a_copy.py").read_text("utf-8")


@asynccontextmanager
async def prover(
    endpoints: Endpoints, **environment: str
) -> AsyncIterator[tuple[Governor, Client]]:
    """One prover with the example layer, an agent that asks it, and a reader of its streams."""
    settings = {"LICTOR_LAYERS": str(LAYERS), "LICTOR_PROOF_WORKERS": "1", **environment}
    async with AsyncExitStack() as running:
        await running.enter_async_context(service_process("lictor_prover", endpoints, **settings))
        client = await nats.connect(endpoints.nats_url)
        running.push_async_callback(client.close)
        await wait_until_ready(client, "prover")
        governor = await running.enter_async_context(lictor.connect(endpoints.nats_url))
        yield governor, client


async def fetch(endpoints: Endpoints, certificate_hash: str, out: Path) -> tuple[int, str]:
    """`lictor ir fetch`: its exit code, and what it says."""
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("lictor"),
        *("ir", "fetch", certificate_hash, "--out", out, "--url", endpoints.nats_url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def test_a_proof_names_a_certificate_that_is_kept_and_stands_by_itself(
    clean_infra, tmp_path: Path
) -> None:
    layer = load_layer(discover_trusted_roots([LAYERS]), [LAYERS])
    document = to_json(document_of(NEWSLETTER, name="n.py", layer=layer)).decode()
    async with prover(clean_infra) as (governor, client):
        (proved,) = await governor.prove(NEWSLETTER, task_id="t")
        (handed_in,) = await governor.prove(lictor.Program(document, language="ir"), task_id="t")
        (again,) = await governor.prove(NEWSLETTER, task_id="t")
        (refuted,) = await governor.prove(WITH_A_COPY, task_id="t")
        assert proved.certificate_hash is not None
        kept = await load_certificate(client, proved.certificate_hash)
        assert handed_in.certificate_hash is not None
        of_document = await load_certificate(client, handed_in.certificate_hash)
        out = tmp_path / "c.json"
        fetched = await fetch(clean_infra, proved.certificate_hash, out)
        missing = await fetch(clean_infra, "sha256:" + "0" * 64, tmp_path / "none.json")
        # Nobody takes it away or puts another in its place.
        await publish_one(
            client,
            streams.CERTIFICATES,
            Outgoing(subjects.certificate(proved.certificate_hash), b"another"),
        )
        assert await load_certificate(client, proved.certificate_hash) == kept
        with pytest.raises(APIError):
            await client.jetstream().delete_msg(streams.CERTIFICATES, 1)
    assert kept is not None
    report = check(kept)
    assert (report.hash, report.level.value) == (proved.certificate_hash, proved.certificate_level)
    assert proved.certificate_level == "c"
    assert report.certificate.ir_hash == proved.ir_hash
    assert report.certificate.layer_hash == proved.layer_hash
    assert report.certificate.front_end is FrontEnd.PYTHON
    # There is no program that a document which was handed in is about.
    assert of_document is not None
    other = check(of_document).certificate
    assert (other.front_end, other.program_hash) == (FrontEnd.DOCUMENT, None)
    assert proved.timings is not None
    assert proved.timings.certify_ms > 0
    assert again.cached
    assert again.certificate_hash == proved.certificate_hash
    assert again.certificate_level == proved.certificate_level
    assert refuted.verdict is ProofVerdict.REFUTED
    assert (refuted.certificate_hash, refuted.certificate_level) == (None, None)
    assert fetched[0] == 0, fetched
    assert out.read_bytes() == kept
    assert missing[0] == 1
    assert "keeps no certificate" in missing[1]
    assert not (tmp_path / "none.json").exists()


async def test_an_answer_from_memory_whose_certificate_is_gone_is_found_out_anew(
    clean_infra,
) -> None:
    async with prover(clean_infra) as (governor, client):
        (first,) = await governor.prove(NEWSLETTER, task_id="t")
        await client.jetstream().delete_stream(streams.CERTIFICATES)
        await streams.declare(client, streams.CERTIFICATES)
        (again,) = await governor.prove(NEWSLETTER, task_id="t")
        assert again.certificate_hash is not None
        assert await load_certificate(client, again.certificate_hash) is not None
    assert not again.cached
    assert again.verdict is first.verdict is ProofVerdict.PROVED


async def test_certificates_can_be_switched_off(clean_infra) -> None:
    async with prover(clean_infra, LICTOR_PROOF_CERTIFICATE_S="0") as (governor, client):
        (result,) = await governor.prove(NEWSLETTER, task_id="t")
        kept = (await client.jetstream().stream_info(streams.CERTIFICATES)).state.messages
    assert result.verdict is ProofVerdict.PROVED
    assert (result.certificate_hash, result.certificate_level, kept) == (None, None, 0)
