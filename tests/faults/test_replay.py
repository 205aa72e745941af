"""Replay proves the record: nothing differs after kills, repeats and a reload, and every tampering is found."""

import asyncio
import json
import shutil
import sys
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import nats
import pytest
import redis.asyncio
from nats.aio.client import Client
from reporting import (
    ROOT,
    acknowledged,
    publish_events,
    reach,
    service_process,
    sized_stream,
    wait_until_ready,
)
from workload import story_events

from lictor.history.stream_replay import ReplayReport, replay
from lictor_bus.logs.packs import read_switches, store_bundle
from lictor_bus.names import streams, subjects
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_policy.packs.bundle import Bundled, bundle_directory
from lictor_schema.core.base_model import utc_millis
from lictor_schema.packs.release import PackRelease
from lictor_seal import SigningKey, TrustStore, sign_release

EVALUATOR = "lictor_policy_evaluator"
EVENTS = 50_000
REPEATED = 1_000
KEY = SigningKey.generate("lictor-packs")


def raised_version(folder: Path) -> Bundled:
    """The packs with one rule that says something else, as a new version."""
    packs = Path(shutil.copytree(ROOT / "policy-packs", folder))
    path = packs / "no-fake-progress" / "policy.yaml"
    lines = path.read_text("utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("  version:"))
    path.write_text("\n".join([*lines[:at], '  version: "9.0.0"', *lines[at + 1 :], ""]))
    return bundle_directory(packs)


async def release(client: Client, bundled: Bundled) -> None:
    """Publish the packs, signed, on channel main."""
    await store_bundle(client, bundled.body)
    signed = sign_release(
        PackRelease(
            channel="main",
            number=time.time_ns() // 1_000_000,
            bundle_hash=bundled.bundle_hash,
            packs=bundled.config.packs,
            released_at=utc_millis(datetime.now(UTC)),
        ),
        KEY,
    )
    await publish_one(client, "PACKS", Outgoing(subjects.pack_release("main"), signed.encode()))


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_fifty_thousand_events_with_kills_repeats_and_a_reload_replay_without_a_difference(
    tmp_path: Path,
):
    trust = tmp_path / "trust.json"
    trust.write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    environment = {"LICTOR_PACK_CHANNEL": "main", "LICTOR_PACK_TRUST": str(trust)}
    events = story_events(EVENTS, prefix="task", checkpoint_interval_s=None)
    # Every fiftieth comes again at once, so that repeats meet batches, kills and the reload.
    sent = [each for n, event in enumerate(events) for each in [event] * (1 + (n % 50 == 0))]
    new = raised_version(tmp_path / "packs")
    async with AsyncExitStack() as stack:
        servers = EmbeddedServers(tmp_path / "servers", durable=False)
        endpoints = (await stack.enter_async_context(servers)).endpoints
        client = await nats.connect(endpoints.nats_url)
        stack.push_async_callback(client.close)

        async def start() -> asyncio.subprocess.Process:
            return await stack.enter_async_context(
                service_process(EVALUATOR, endpoints, **environment)
            )

        process = await start()
        await wait_until_ready(client, "policy-evaluator")

        async def kill_at(decisions: int) -> None:
            nonlocal process
            await reach(client, "DECISIONS", decisions)
            process.kill()
            await process.wait()
            process = await start()

        half = len(sent) // 2
        publishing = asyncio.create_task(publish_events(client, sent[:half]))
        await kill_at(EVENTS // 10)
        await kill_at(EVENTS // 5)
        await publishing
        # While the first half is still being judged.
        await release(client, new)
        await switched(client, new)
        publishing = asyncio.create_task(publish_events(client, sent[half:]))
        await kill_at(EVENTS * 6 // 10)
        await kill_at(EVENTS * 8 // 10)
        await publishing
        await reach(client, "DECISIONS", EVENTS)
        await reach(client, "DEAD", REPEATED)
        await settled(client)
        report = await replay(client)
        assert summary(report) == (EVENTS + REPEATED, REPEATED, EVENTS, 0, 0)
        assert new.config.config_hash in report.configs
        assert len(report.configs) == 2


async def switched(client: Client, to: Bundled) -> None:
    """Wait until the switch stands in every partition."""
    async with asyncio.timeout(60):
        for partition in range(4):
            while (await read_switches(client, partition))[-1].switch.bundle_hash != to.bundle_hash:
                await asyncio.sleep(0.05)


async def settled(client: Client) -> None:
    """Wait until the evaluator has committed everything."""
    for partition in range(4):
        await acknowledged(client, "EVENTS", f"policy-evaluator-{partition}")


def summary(report: ReplayReport) -> tuple[int, int, int, int, int]:
    return report.events, report.refused, report.same, report.undecided, report.differing


async def decided(endpoints: Endpoints, count: int) -> Client:
    """A bus on which some events were decided, and the evaluator has gone."""
    client = await nats.connect(endpoints.nats_url)
    async with service_process(EVALUATOR, endpoints):
        await wait_until_ready(client, "policy-evaluator")
        events = story_events(count, prefix="t", checkpoint_interval_s=None)
        await publish_events(client, events)
        await reach(client, "DECISIONS", count)
        await settled(client)
    return client


async def rewrite_decisions(client: Client, records: list[Delivery]) -> None:
    """Put other records in the place of those that are there, as an intruder with all rights could."""
    await client.jetstream().delete_stream("DECISIONS")
    await streams.declare(client, "DECISIONS")
    await publish_all(
        client, "DECISIONS", [Outgoing(each.subject, each.body, None) for each in records]
    )


async def test_a_changed_a_missing_and_an_extra_record_are_found(clean_infra: Endpoints):
    client = await decided(clean_infra, 60)
    records = await read_from(client, "DECISIONS", subjects.DECISION.all, 1, 100)
    assert (await replay(client)).differing == 0
    changed = json.loads(records[10].body)
    changed["decision"]["reason"] = "nothing to see here"
    spelled = json.dumps(json.loads(records[30].body)).encode()
    tampered = [
        *records[:10],
        records[10]._replace(body=json.dumps(changed, separators=(",", ":")).encode()),
        *records[11:20],
        *records[21:30],
        records[30]._replace(body=spelled),
        *records[31:],
        records[40],
    ]
    await rewrite_decisions(client, tampered)
    report = await replay(client)
    told = {
        (each.kind, each.event_sequence): [field.path for field in each.fields]
        for each in report.differences
    }
    at = {n: json.loads(records[n].body)["event_sequence"] for n in (10, 20, 30, 40)}
    assert told == {
        ("different", at[10]): ["decision.reason"],
        ("missing", at[20]): [],
        ("different", at[30]): ["(the bytes)"],
        ("extra", at[40]): [],
    }
    assert (report.differing, report.same) == (4, 57)
    await client.close()


async def test_a_refold_after_a_loss_of_redis_judges_each_event_by_the_packs_of_its_time(
    clean_infra: Endpoints, tmp_path: Path
):
    new = raised_version(tmp_path / "packs")
    client = await decided(clean_infra, 100)
    store = redis.asyncio.from_url(clean_infra.redis_url)
    events = story_events(300, prefix="t", checkpoint_interval_s=None)
    for count in (200, 300):
        # Started with other packs, then with nothing left in Redis: every event is folded again.
        await store.flushall()
        packs = str(tmp_path / "packs")
        async with service_process(EVALUATOR, clean_infra, LICTOR_PACKS=packs):
            await wait_until_ready(client, "policy-evaluator")
            await publish_events(client, events[count - 100 : count])
            await reach(client, "DECISIONS", count)
            await settled(client)
    report = await replay(client)
    assert summary(report) == (300, 0, 300, 0, 0)
    assert new.config.config_hash in report.configs
    assert len(report.configs) == 2
    assert {len(await read_switches(client, partition)) for partition in range(4)} == {2}
    await store.aclose()
    await client.close()


async def test_the_command_tells_what_differs_and_exits_with_1(clean_infra: Endpoints):
    client = await decided(clean_infra, 20)

    async def command(*options: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", "import sys; from lictor_cli.main import main; sys.exit(main())"),
            *("replay", "--url", clean_infra.nats_url, *options),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
        return process.returncode or 0, out.decode()

    code, told = await command()
    assert (code, told) == (
        0,
        "20 events, 0 refused, 20 decisions by 1 configurations: 0 differences\n",
    )
    records = await read_from(client, "DECISIONS", subjects.DECISION.all, 1, 100)
    task = json.loads(records[5].body)["task_id"]
    await rewrite_decisions(client, [*records[:5], *records[6:]])
    code, told = await command("--task", task, "--json")
    lines = [json.loads(line) for line in told.splitlines()]
    assert code == 1
    assert [line["what"] for line in lines] == ["difference", "summary"]
    assert (lines[0]["kind"], lines[0]["task_id"]) == ("missing", task)
    code, told = await command("--from-bundle", str(ROOT / "policy-packs"))
    assert code == 1
    assert told.endswith("20 events, 0 refused, 19 decisions by 1 configurations: 1 differences\n")
    await client.close()


async def test_events_that_are_not_decided_yet_are_no_difference(clean_infra: Endpoints):
    client = await decided(clean_infra, 20)
    await publish_events(client, story_events(10, prefix="later", checkpoint_interval_s=None))
    report = await replay(client)
    assert summary(report) == (30, 0, 20, 10, 0)
    assert await sized_stream(client, "DECISIONS") == 20
    await client.close()
