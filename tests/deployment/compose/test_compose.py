"""docker-compose.yml run for real: `./taskw compose-test`. Each test leaves everything healthy for the next one."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from compose_installation import RUNTIME, Installation, in_thread
from nats.aio.client import Client
from secured_nats import refused_publish, refused_subscription

import lictor
from lictor.governor import Governor
from lictor_bus.wire.connection import connect_nats
from lictor_local.demo_story import Ending, play
from lictor_local.permission import is_permitted
from lictor_schema.events.operator_context import OperatorContext
from lictor_seal import TrustStore, verify_bundle

pytestmark = [
    pytest.mark.compose,
    # The first one builds images.
    pytest.mark.timeout(1800),
    # Docker's proxy takes connections while the server behind it is down; nats-py leaves those to the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

OPERATOR = OperatorContext(operator_id="you", channel="terminal")
RESTARTED = (
    *("nats", "redis", "policy-evaluator", "sealer", "supervisor", "feedback", "prover"),
    *("rehearser", "approvals", "runner"),
)


@asynccontextmanager
async def governor(installation: Installation, runtime: str = RUNTIME) -> AsyncIterator[Governor]:
    async with lictor.connect(
        installation.url(runtime), runtime=runtime, agent_id="agent", operator=OPERATOR
    ) as found:
        yield found


async def played(installation: Installation, folder: Path, runtime: str = RUNTIME) -> Ending:
    """The demo's story, from the host."""
    workspace = folder / f"workspace-of-{runtime}"
    workspace.mkdir(exist_ok=True)
    async with governor(installation, runtime) as found:
        return await play(found, workspace, lambda _: None, lambda _: None)


async def verified(installation: Installation, folder: Path, bundle: bytes) -> bool:
    trust = TrustStore.load(await in_thread(installation.trust_file, folder))
    return verify_bundle(bundle, trust).ok


def test_every_container_becomes_healthy(installation: Installation) -> None:
    assert sorted(installation.running) == sorted(RESTARTED)
    assert installation.unhealthy() == {}
    assert all(it["ExitCode"] == 0 for it in installation.containers())


@pytest.mark.parametrize("name", RESTARTED)
def test_no_container_runs_as_root_or_shows_a_nats_password(
    installation: Installation, name: str
) -> None:
    found = installation.inspected(name)
    owner = installation.compose("exec", "-T", name, "id", "-u").strip()
    assert owner != "0"
    passwords = {
        re.findall(r"//[^:]+:([^@]+)@", path.read_text())[0]
        for path in installation.secrets.glob("credentials/*/*")
    }
    assert len(passwords) > len(RESTARTED) - 2
    told = str(found["Config"]) + str(found["Args"])
    assert not any(password in told for password in passwords)


async def test_a_runtime_gets_decisions_and_a_seal_that_verifies(
    installation: Installation, tmp_path: Path
) -> None:
    ending = await played(installation, tmp_path)
    assert await verified(installation, tmp_path, ending.bundle)


async def test_an_operator_finds_everything_well(installation: Installation) -> None:
    told = await in_thread(lambda: installation.lictor("doctor", role="ops"))
    for name in RESTARTED:
        assert name in told
    assert installation.lictor("dead", "list", "--json", role="ops") == ""


async def test_what_a_role_may_not_do_is_refused(installation: Installation) -> None:
    runtime = installation.url(RUNTIME)
    for subject in ("lictor.dec.allow.other", "$JS.API.STREAM.DELETE.EVENTS", "lictor.ev.other.x"):
        assert await refused_publish(runtime, subject), subject
    for role in ("ops", "sealer"):
        url = installation.url(role)
        assert await refused_publish(url, "$JS.API.STREAM.UPDATE.DECISIONS"), role
    assert await refused_subscription(installation.url("prover"), "lictor.ev.>")


def test_redis_has_no_port_on_the_host_and_answers_nobody_without_a_password(
    installation: Installation,
) -> None:
    bindings = installation.inspected("redis")["NetworkSettings"]["Ports"]
    assert not any(bindings.values())
    told = installation.compose("exec", "-T", "redis", "redis-cli", "get", "lictor")
    assert told.startswith("NOAUTH")


async def test_a_runtime_is_added_and_passwords_are_rotated_while_others_work(
    installation: Installation, tmp_path: Path
) -> None:
    folder = ("--dir", installation.secrets)

    def account(verb: str, name: str) -> None:
        installation.lictor("account", verb, name, *folder)

    interrupted: list[str] = []
    first = await _watched(installation.url(RUNTIME), interrupted)
    await in_thread(account, "add", "second")
    for _ in range(2):
        await in_thread(installation.reload)
    ending = await played(installation, tmp_path, "second")
    assert await verified(installation, tmp_path, ending.bundle)
    for name in ("second", "feedback", "policy-evaluator"):
        before = installation.url(name)
        await in_thread(account, "rotate", name)
        await in_thread(installation.reload)
        # Both are valid until the old one is retired.
        for url in (before, installation.url(name)):
            await (await connect_nats(url, name="test")).close()
        await in_thread(account, "retire", name)
        await in_thread(installation.reload)
        assert await _is_refused(before)
    await played(installation, tmp_path, "second")
    await first.flush()
    assert interrupted == []
    await first.close()
    await in_thread(installation.until_healthy)


@pytest.mark.parametrize("name", RESTARTED)
async def test_a_container_that_was_restarted_goes_on(
    installation: Installation, tmp_path: Path, name: str
) -> None:
    async with governor(installation) as found:
        task = await found.start_task("A task that goes on")
        await in_thread(installation.compose, "restart", name)
        await in_thread(installation.until_healthy)
        # By the same connection, which came back by itself.
        claim = await task.claim_complete("It is done.", message="Done!")
        await task.decision_on(claim, timeout_s=60)
    ending = await played(installation, tmp_path)
    assert await verified(installation, tmp_path, ending.bundle)


async def test_what_was_stored_is_there_after_down_and_up(
    installation: Installation, tmp_path: Path
) -> None:
    ending = await played(installation, tmp_path)
    await in_thread(installation.compose, "down")
    assert installation.containers() == []
    await in_thread(installation.up)
    async with governor(installation) as found:
        assert await found.sealed(ending.task_id) == ending.bundle
    assert await verified(installation, tmp_path, ending.bundle)
    # The log goes on with the key that it had.
    later = await played(installation, tmp_path)
    assert await verified(installation, tmp_path, later.bundle)


def test_services_stop_by_themselves_when_they_are_asked_to(installation: Installation) -> None:
    installation.compose("stop")
    ended = {it["Service"]: it["ExitCode"] for it in installation.containers()}
    assert {name: code for name, code in ended.items() if code} == {}
    installation.up()


async def _watched(url: str, interrupted: list[str]) -> Client:
    async def lost() -> None:
        interrupted.append(url)

    client = Client()
    await client.connect(url, disconnected_cb=lost)
    return client


async def _is_refused(url: str) -> bool:
    async with asyncio.timeout(30):
        while await is_permitted(url):
            await asyncio.sleep(0.1)
    return True
