"""A service as a process: HTTP, metrics, signals, and one clear sentence when it can't start."""

import asyncio
import json
import os
import signal
import socket
import sys
import urllib.request

import nats
import pytest
from reporting import ROOT, apply_streams, reach, service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_policy.offline.stories import usual_event


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def fetch(port: int, path: str) -> tuple[int, str]:
    def get() -> tuple[int, str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()

    return await asyncio.to_thread(get)


async def test_health_and_metrics_are_served_and_sigterm_ends_it_cleanly(clean_infra):
    port = free_port()
    async with service_process(
        "lictor_policy_evaluator", clean_infra, LICTOR_HTTP_PORT=str(port)
    ) as process:
        client = await nats.connect(clean_infra.nats_url)
        await wait_until_ready(client, "policy-evaluator")
        await publish_one(client, "EVENTS", Outgoing("lictor.ev.test.t", b"not an event"))
        await reach(client, "DEAD", 1)
        status, body = await fetch(port, "/health")
        health = json.loads(body)
        assert (status, health["ready"], health["service"]) == (200, True, "policy-evaluator")
        assert health["config_hash"].startswith("sha256:")
        # The count follows the commit, which follows the burial.
        async with asyncio.timeout(60):
            while 'outcome="dead"' not in (metrics := (await fetch(port, "/metrics"))[1]):
                await asyncio.sleep(0.05)
        assert "lictor_messages" in metrics
        assert "lictor_batch_duration" in metrics
        await client.close()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_matches_are_counted_by_rule_and_pack_version_as_the_profile_has_them(clean_infra):
    port = free_port()
    started = usual_event("task_started", mode="silent")
    async with service_process(
        "lictor_policy_evaluator",
        clean_infra,
        LICTOR_HTTP_PORT=str(port),
        LICTOR_PROFILES="standard-team-mode, strict-manager-mode",
    ):
        client = await nats.connect(clean_infra.nats_url)
        await wait_until_ready(client, "policy-evaluator")
        subject = subjects.event(started.runtime, started.task_id)
        await publish_one(client, "EVENTS", Outgoing(subject, started.to_json()))
        await reach(client, "DECISIONS", 1)
        # The count follows the commit, which follows the record.
        async with asyncio.timeout(60):
            while "lictor_rules_total{" not in (metrics := (await fetch(port, "/metrics"))[1]):
                await asyncio.sleep(0.05)
        line = next(text for text in metrics.splitlines() if text.startswith("lictor_rules_total{"))
        assert 'rule="no-silence.silent-task-without-externalized-path"' in line
        assert 'fate="fired"' in line
        assert 'pack="no-silence"' in line
        assert 'version="' in line
        await client.close()


async def test_a_profile_that_is_not_there_stops_it_with_a_sentence(clean_infra):
    code, said = await run_service(
        "lictor_policy_evaluator",
        LICTOR_NATS_URL=clean_infra.nats_url,
        LICTOR_REDIS_URL=clean_infra.redis_url,
        LICTOR_PROFILES="strict",
    )
    assert code == 1
    assert "has no profile strict; did you mean strict-manager-mode?" in said


async def run_service(module: str, **environment: str) -> tuple[int, str]:
    """Start a service that can't start; its exit code and what it says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
        env={
            **os.environ,
            "LICTOR_START_TIMEOUT_S": "1",
            "LICTOR_LOG_LEVEL": "ERROR",
            **environment,
        },
    )
    _, told = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, told.decode()


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"LICTOR_NATS_URL": "nats://127.0.0.1:9"}, "NATS does not answer at nats://127.0.0.1:9"),
        ({"LICTOR_BATCH": "many"}, "LICTOR_BATCH is 'many'"),
        ({"LICTOR_PARTITIONS": "0"}, "LICTOR_PARTITIONS is '0'"),
        ({"LICTOR_LOG_LEVEL": "LOUD"}, "LICTOR_LOG_LEVEL is 'LOUD'"),
        ({"LICTOR_PACKS": "no/such/folder"}, "no/such/folder"),
    ],
)
async def test_a_service_that_cannot_start_says_why_in_one_sentence(environment, sentence):
    code, told = await run_service("lictor_policy_evaluator", **environment)
    assert code == 1
    assert sentence in told
    assert "Traceback" not in told
    assert told.strip().count("\n") == 0


async def test_an_unreachable_store_is_named(clean_infra):
    code, told = await run_service(
        "lictor_feedback",
        LICTOR_NATS_URL=clean_infra.nats_url,
        LICTOR_REDIS_URL="redis://127.0.0.1:9/0",
    )
    assert code == 1
    assert "Redis does not answer at redis://127.0.0.1:9" in told


async def test_a_sealer_without_a_key_refuses_to_start(clean_infra):
    code, told = await run_service("lictor_sealer", LICTOR_NATS_URL=clean_infra.nats_url)
    assert code == 1
    assert "LICTOR_SEAL_KEY is not set" in told


async def test_a_sealer_that_can_not_read_what_it_signed_refuses_to_start(clean_infra, tmp_path):
    (tmp_path / "signed-head").write_bytes(b"lictor-signed-head/v1 00")
    await apply_streams(clean_infra.nats_url, {})
    code, told = await run_service(
        "lictor_sealer",
        LICTOR_NATS_URL=clean_infra.nats_url,
        LICTOR_REDIS_URL=clean_infra.redis_url,
        LICTOR_SEAL_KEY=str(tmp_path / "seal.pem"),
        LICTOR_SEAL_KEY_CREATE="1",
    )
    assert code == 1
    assert f"{tmp_path / 'signed-head'} does not say what was signed last" in told


async def test_other_partitions_than_the_stream_has_are_refused(clean_infra):
    client = await nats.connect(clean_infra.nats_url)
    async with service_process("lictor_policy_evaluator", clean_infra):
        await wait_until_ready(client, "policy-evaluator")
    await client.close()
    code, told = await run_service(
        "lictor_policy_evaluator",
        LICTOR_NATS_URL=clean_infra.nats_url,
        LICTOR_REDIS_URL=clean_infra.redis_url,
        LICTOR_PARTITIONS="7",
    )
    assert code == 1
    assert "set LICTOR_PARTITIONS to match" in told
