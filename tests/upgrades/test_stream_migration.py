"""Streams of version 0.1 are migrated without a loss: killed anywhere, run again, with holes, with many runtimes."""

import asyncio
import json
import sys
import tarfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js.errors import NotFoundError
from reporting import apply_streams, service_process, wait_until_ready

from lictor_bus.errors import NeedsMigration
from lictor_bus.migration.message_runtimes import MIGRATED
from lictor_bus.migration.sole_migrator import MigrationRefused
from lictor_bus.migration.stream_migration import StreamMigration, migrate, to_migrate
from lictor_bus.names import streams, subjects
from lictor_bus.names.older_subjects import without_runtime
from lictor_bus.names.stream_check import examine
from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_bus.wire.read import read_all, stored_all
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

COMMAND = Path(sys.executable).with_name("lictor")
Stored = Mapping[str, Sequence[tuple[int, int, str, str | None, bytes]]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).with_name("data-0.1.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data-0.1"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Client]:
    client = await connect_nats(url, name="test")
    try:
        yield client
    finally:
        await close_nats(client)


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    async with connected(clean_infra.nats_url) as client:
        yield client


async def stored(client: Client, *names: str, older: bool = False) -> Stored:
    return {
        name: [
            (
                each.sequence,
                each.stored_at_ns,
                each.subject if older else without_runtime(each.subject),
                each.headers.get("Nats-Msg-Id"),
                each.body,
            )
            async for each in read_all(client, name, ">")
        ]
        for name in names
    }


async def positions(client: Client) -> dict[tuple[str, str], int]:
    """How far every durable consumer is."""
    found: dict[tuple[str, str], int] = {}
    for name in MIGRATED:
        for each in await client.jetstream().consumers_info(name):
            found[name, each.name] = each.ack_floor.stream_seq if each.ack_floor else 0
    return found


async def command(*words: str) -> tuple[int, list[dict[str, object]], str]:
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *("streams", *words, "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, [json.loads(each) for each in out.splitlines()], err.decode()


async def made_by_0_1(client: Client, name: str) -> None:
    """A stream as version 0.1 made it."""
    wanted = streams.STREAMS[name].config(partitions=4, replicas=1, max_payload=client.max_payload)
    older = [without_runtime(each) for each in wanted.subjects or ()]
    await client.jetstream().add_stream(wanted.evolve(subjects=older, republish=None))


async def test_the_command_migrates_everything_and_says_how_fast(data: Path) -> None:
    async with (
        EmbeddedServers(data, durable=False) as servers,
        connected(servers.nats_url) as client,
    ):
        was, at = await stored(client, *MIGRATED, older=True), await positions(client)
        url = ("--url", servers.nats_url)
        refused = await command("apply", *url)
        assert refused[0] == 1
        assert "run `lictor streams migrate`" in refused[2]
        planned = await command("migrate", "--dry-run", *url)
        assert [each["stream"] for each in planned[1]] == [name for name in MIGRATED if was[name]]
        assert await stored(client, *MIGRATED, older=True) == was

        code, told, err = await command("migrate", *url)
        assert (code, err) == (0, "")
        assert told[-1]["messages"] == sum(map(len, was.values()))
        assert told[-1]["messages_per_second"]
        assert (await command("apply", *url))[0] == 0
        assert await stored(client, *MIGRATED) == was
        assert await positions(client) == at
        assert await examine(client, tuple(streams.STREAMS), partitions=4) == []
        assert (await command("migrate", *url))[:2] == (0, [])


async def test_nothing_is_lost_where_a_stream_has_foreign_messages(client: Client) -> None:
    """In 0.1 any runtime could have the broker store copies and answers of its own."""
    for name in streams.STREAMS:
        await made_by_0_1(client, name)
    await client.jetstream().publish("lictor.dec.allow.t", b'{"runtime":"a"}')
    last = json.dumps({"last_by_subj": "lictor.dec.allow.t"}).encode()
    for question in ("DIRECT.GET", "STREAM.MSG.GET"):
        await client.publish(
            f"$JS.API.{question}.DECISIONS", last, reply=f"lictor.dec.allow.{question[0]}"
        )
    async with asyncio.timeout(30):
        while (await client.jetstream().stream_info("DECISIONS")).state.messages < 3:
            await asyncio.sleep(0.02)
    was = [each.body async for each in stored_all(client, "DECISIONS", ">")]
    await migrate(client, ())
    assert [each.body async for each in stored_all(client, "DECISIONS", ">")] == was
    assert len(was) == 3


@pytest.mark.parametrize("request_", range(0, 120, 9))
async def test_killed_anywhere_it_goes_on_when_it_is_run_again(data: Path, request_: int) -> None:
    """The process ends itself without warning before its n-th request to JetStream."""
    dying = f"""
import os, signal, sys
from lictor_bus.migration.stream_api import StreamApi
asked, ask = [], StreamApi.ask
async def mortal(self, request, body):
    asked.append(request)
    if len(asked) > {10 + request_}:
        os.kill(os.getpid(), signal.SIGKILL)
    return await ask(self, request, body)
StreamApi.ask = mortal
from lictor_cli.main import main
sys.exit(main())
"""
    async with (
        EmbeddedServers(data, durable=False) as servers,
        connected(servers.nats_url) as client,
    ):
        was, at = await stored(client, *MIGRATED, older=True), await positions(client)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", dying, "streams", "migrate", "--url", servers.nats_url
        )
        assert await process.wait() == -9
        # Nothing that is half done is taken for whole.
        half = {each.stream for each in await to_migrate(client)}
        assert half
        with pytest.raises(NeedsMigration):
            await streams.declare(client, *streams.STREAMS)
        code, _, err = await command("migrate", "--url", servers.nats_url)
        assert (code, err) == (0, "")
        await streams.declare(client, *streams.STREAMS)
        assert await stored(client, *MIGRATED) == was
        assert await positions(client) == at
        assert await examine(client, tuple(streams.STREAMS), partitions=4) == []
        left = {each.config.name for each in await client.jetstream().streams_info()}
        assert left == set(streams.STREAMS)


async def test_holes_stay_where_they_are_and_no_sequence_is_given_twice(client: Client) -> None:
    await streams.declare(client, streams.EVENTS)
    await made_by_0_1(client, streams.PROOFS)
    js = client.jetstream()
    for number in range(12):
        await js.publish(f"lictor.proof.proved.t{number % 3}", str(number).encode())
    for gone in (1, 2, 6, 7, 11, 12):
        await js.delete_msg(streams.PROOFS, gone)
    was = await stored(client, streams.PROOFS, older=True)
    await migrate(client, ())
    assert await stored(client, streams.PROOFS) == was
    state = (await js.stream_info(streams.PROOFS)).state
    assert (state.first_seq, state.last_seq, state.messages) == (3, 12, 6)
    assert (await js.publish("lictor.proof.rt.proved.t", b"new")).seq == 13


async def test_each_subject_gets_the_runtime_that_all_its_messages_name(client: Client) -> None:
    await streams.declare(client, streams.EVENTS)
    await made_by_0_1(client, streams.DECISIONS)
    await made_by_0_1(client, streams.RECEIPTS)
    js = client.jetstream()
    for subject, body in (
        ("lictor.dec.allow.one", {"runtime": "a", "event_type": "task_note"}),
        ("lictor.dec.block.one", {"runtime": "b", "event_type": "task_started"}),
        ("lictor.dec.allow.two", {"runtime": "c d", "event_type": "task_started"}),
        ("lictor.dec.block.guard.one", {"runtime": "a"}),
        ("lictor.dec.block.guard.two", {"runtime": "a"}),
        ("lictor.dec.block.guard.two", {"runtime": "b"}),
        ("lictor.dec.block.refused.two", {}),
        ("lictor.rcpt.done.one.r1", {"runtime": "a"}),
        ("lictor.rcpt.done.two.r1", {"runtime": "b"}),
    ):
        await js.publish(subject, json.dumps(body).encode())
    await js.publish("lictor.dec.allow.three", b"no JSON")
    await migrate(client, ())
    found = {
        each.subject
        for name in (streams.DECISIONS, streams.RECEIPTS)
        async for each in read_all(client, name, ">")
    }
    assert found == {
        # The one that started the task.
        "lictor.dec.b.allow.one",
        "lictor.dec.b.block.one",
        f"lictor.dec.{subjects.token('c d')}.allow.two",
        "lictor.dec.a.block.guard.one",
        # Two runtimes: neither may follow it.
        "lictor.dec.~.block.guard.two",
        "lictor.dec.~.block.refused.two",
        "lictor.dec.~.allow.three",
        "lictor.rcpt.a.done.one.r1",
        "lictor.rcpt.b.done.two.r1",
    }


async def test_it_refuses_while_a_service_runs(clean_infra: Endpoints, client: Client) -> None:
    await apply_streams(clean_infra.nats_url)
    async with service_process("lictor_feedback", clean_infra):
        await wait_until_ready(client, "feedback")
        await client.jetstream().delete_stream(streams.PROOFS)
        await made_by_0_1(client, streams.PROOFS)
        await client.jetstream().publish("lictor.proof.proved.t", b"{}")
        with pytest.raises(MigrationRefused, match="stop these first: feedback"):
            await migrate(client, ("feedback",))
        with pytest.raises(MigrationRefused, match="whoever reads SESSIONS"):
            await migrate(client, ())
    await migrate(client, ("feedback",))


async def test_it_refuses_while_a_service_is_there_that_is_slow_to_answer(
    clean_infra: Endpoints, client: Client
) -> None:
    await streams.declare(client, streams.EVENTS)
    await made_by_0_1(client, streams.PROOFS)
    await client.jetstream().publish("lictor.proof.proved.t", b"{}")
    async with connected(clean_infra.nats_url) as busy:
        await busy.subscribe(subjects.health("feedback"))
        await busy.flush()
        with pytest.raises(MigrationRefused, match="stop these first: feedback"):
            await migrate(client, ("feedback",))


async def test_two_at_once_take_turns(clean_infra: Endpoints, client: Client) -> None:
    await streams.declare(client, streams.EVENTS)
    await made_by_0_1(client, streams.PROOFS)
    for number in range(1999):
        await client.publish(f"lictor.proof.proved.t{number}", b"{}")
    # Of one connection messages are stored in order: when this one is acknowledged, all are there.
    await client.jetstream().publish("lictor.proof.proved.t1999", b"{}")
    was = await stored(client, streams.PROOFS, older=True)
    async with connected(clean_infra.nats_url) as other:
        await asyncio.gather(migrate(client, ()), migrate(other, ()))
    assert await stored(client, streams.PROOFS) == was


async def test_a_stream_that_0_1_made_again_meanwhile_hides_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await streams.declare(client, streams.EVENTS)
    await made_by_0_1(client, streams.PROOFS)
    js = client.jetstream()
    await js.publish("lictor.proof.proved.t", b"{}")

    async def cut_off(*_: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(StreamMigration, "_make_anew", cut_off)
        with pytest.raises(ConnectionError):
            await migrate(client, ())
    with pytest.raises(NotFoundError):
        await js.stream_info(streams.PROOFS)
    with pytest.raises(NeedsMigration):
        await streams.declare(client, streams.PROOFS)
    await made_by_0_1(client, streams.PROOFS)
    with pytest.raises(MigrationRefused, match="was made again"):
        await migrate(client, ())
    await js.delete_stream(streams.PROOFS)
    await migrate(client, ())
    assert [each[-1] for each in (await stored(client, streams.PROOFS))[streams.PROOFS]] == [b"{}"]
