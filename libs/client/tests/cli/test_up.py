"""`lictor up` with everything running: what the SDK and the commands do then."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

import lictor
from libs.client.tests.up_process import Up
from lictor.errors import EventRefused, NotInTime
from lictor.installation.endpoints import Running
from lictor_cli.publish import split
from lictor_cli.up import how_to_reach
from lictor_local.service_process import SERVICES
from lictor_schema.decisions.decision import Disposition
from lictor_seal import SigningKey, TrustStore, verify_bundle

ROOT = Path(__file__).parents[4]
COMMAND = Path(sys.executable).with_name("lictor")
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


StartUp = Callable[..., Awaitable[Up]]


@pytest_asyncio.fixture(loop_scope="module")
async def start_up(tmp_path: Path) -> AsyncIterator[StartUp]:
    """Starts further ones in the test's own directory, and ends what is left of them."""
    started: list[Up] = []

    async def start(*arguments: str, **environment: str) -> Up:
        started.append(await Up.start(tmp_path, *arguments, **environment))
        return started[-1]

    yield start
    for running in started:
        await running.end()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    folder = tmp_path_factory.mktemp("up")
    shutil.copytree(ROOT / "examples" / "agents", folder / "agents")
    running = await Up.start(folder, "--http", LICTOR_LAYERS=str(ROOT / "examples/layers"))
    yield running
    assert await running.end() == 0


async def closed_task(url: str) -> str:
    async with lictor.connect(url) as governor:
        task = await governor.start_task("a task")
        await task.attach_evidence(
            "it works",
            refs=[{"kind": "log", "ref": "1"}],
            quality="strong",
            supports=["completion"],
        )
        claim = await task.claim_complete("done")
        assert (await task.decision_on(claim, timeout_s=30)).task_closed
    return task.task_id


async def test_a_claim_without_evidence_is_downgraded_and_with_evidence_allowed(up: Up) -> None:
    async with lictor.connect(up.url) as governor:
        task = await governor.start_task("a task with an awkward id", task_id="a.b c*>é" * 20)
        early = await task.decision_on(await task.claim_complete("done"))
        assert early.decision.decision is Disposition.DOWNGRADE_STATUS
        # With the defaults, strong evidence supports what strong evidence can.
        await task.attach_evidence("it works", refs=[{"kind": "log", "ref": "1"}], quality="strong")
        claim = await task.claim_complete("done")
        late = await task.decision_on(claim)
        assert late.decision.decision is Disposition.ALLOW
        assert late == await task.decision_on(claim.event_id)
        trust = TrustStore.load(Path(up.said["trust_file"]))
        assert verify_bundle(await task.sealed(), trust).ok


async def test_the_definitions_of_the_folder_are_there_for_sessions(up: Up, cli: Cli) -> None:
    assert up.said["agents"] == str(up.folder / "agents")
    listed = await cli("agent", "list", "--json", cwd=up.folder)
    names = {json.loads(line)["name"] for line in listed.stdout.splitlines()}
    assert names == {"lictor-default", *(path.stem for path in (up.folder / "agents").iterdir())}


async def test_an_event_that_is_set_aside_is_told_with_the_reason(up: Up) -> None:
    async with lictor.connect(up.url) as governor:
        published = await governor.task("never started").claim_complete("done")
        with pytest.raises(EventRefused, match=r"task_id: .* never started") as caught:
            await governor.decision_on(published)
    assert "policy-evaluator set event" in str(caught.value)


async def test_a_task_that_is_not_closed_is_not_sealed(up: Up) -> None:
    async with lictor.connect(up.url) as governor:
        task = await governor.start_task("an open task")
        with pytest.raises(NotInTime, match=r"was not sealed within 0\.2 s"):
            await task.sealed(timeout_s=0.2)


async def test_a_session_that_never_began_may_call_nothing(up: Up) -> None:
    async with lictor.connect(up.url) as governor:
        answer = await governor.may("bash", {"command": "ls"}, task_id="t", timeout_s=10)
    assert answer.decision == "deny"
    assert answer.remedy


async def test_the_commands_find_it_from_below_its_directory(up: Up, cli: Cli) -> None:
    below = up.folder / "below"
    below.mkdir()
    outcome = await cli("doctor", "--json", cwd=below)
    assert outcome.returncode == 0, outcome.stdout
    assert json.loads(outcome.stdout)["ok"] is True


async def test_the_doctor_names_what_the_running_services_use(up: Up, cli: Cli) -> None:
    # Not what this shell would start one with.
    outcome = await cli(
        "doctor", "--json", cwd=up.folder, LICTOR_PACKS=str(ROOT / "examples/packs")
    )
    found = {one["name"]: one["detail"] for one in json.loads(outcome.stdout)["findings"]}
    assert up.said["packs"] in found["packs"]
    assert found["agents"] == up.said["agents"]
    assert found["layers"] == up.said["layers"] == str(ROOT / "examples/layers")
    assert found["approvers"] == "none (LICTOR_APPROVERS is not set)"
    assert "lictor-default 1" in found["definitions"]


async def test_the_services_answer_http(up: Up) -> None:
    for address in up.said["http"].values():
        host, port = address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /health HTTP/1.0\r\n\r\n")
        assert b" 200 " in await reader.readline()
        writer.close()


async def test_the_example_event_is_published_once_and_decided(up: Up, cli: Cli) -> None:
    example = ROOT / "examples" / "first_event.json"
    first = await cli("publish", example, cwd=up.folder)
    assert (first.returncode, first.stdout[:6]) == (0, "stored")
    again = await cli("publish", "-", "--json", cwd=up.folder, stdin=example.read_text())
    assert json.loads(again.stdout)["outcome"] == "duplicate"
    task_id = json.loads(example.read_text())["task_id"]
    watched = await cli(
        "watch", "--task", task_id, "--since-start", "--count", "1", "--json", cwd=up.folder
    )
    assert json.loads(watched.stdout)["decision"]["decision"] == "allow"


async def test_the_example_program_runs(up: Up, environment: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        ROOT / "examples" / "first_event.py",
        cwd=up.folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert b"downgrade_status" in out


async def test_lines_that_are_refused_are_named_and_the_others_published(up: Up, cli: Cli) -> None:
    good = json.loads((ROOT / "examples" / "first_event.json").read_text())
    lines = [
        {**good, "event_id": "line-1", "task_id": "lines"},
        {**good, "event_id": "line-2", "task_id": "lines", "runtime": ""},
        {**good, "event_id": "line-3", "task_id": "lines"},
    ]
    text = "{broken\n" + "\n".join(map(json.dumps, lines)) + "\n{broken\n"
    outcome = await cli("publish", "--json", cwd=up.folder, stdin=text)
    assert outcome.returncode == 1
    said = [json.loads(line) for line in outcome.stdout.splitlines()]
    became = [one["outcome"] for one in said]
    assert became == ["refused", "stored", "refused", "stored", "refused"]
    assert [one["place"] for one in said] == [f"line {number}" for number in range(1, 6)]
    assert said[2]["problems"][0]["path"] == "runtime"


async def test_one_document_over_several_lines_is_one_also_when_it_is_broken() -> None:
    broken = b'[\n{"a": 1},\n{"b": 2}\n'
    assert list(split(broken)) == [("line 1", broken)]
    assert [place for place, _ in split(b'{"a": 1\n\n{"b": 2}\n')] == ["line 1", "line 3"]


async def test_what_an_agent_writes_can_not_steer_the_terminal(up: Up, cli: Cli) -> None:
    async with lictor.connect(up.url) as governor:
        task = await governor.start_task("x", task_id="\x1b[2Jevil\r\nsecond line")
        claim = await task.claim_complete("\x1b]0;title\x07")
        await task.decision_on(claim)
    outcome = await cli(
        "watch", "--task", task.task_id, "--since-start", "--count", "2", cwd=up.folder
    )
    assert outcome.stdout.count("\n") == 2
    assert "\x1b" not in outcome.stdout


async def test_a_sealed_episode_is_exported_and_verified_and_a_changed_one_is_not(
    up: Up, cli: Cli, tmp_path: Path
) -> None:
    task_id = await closed_task(up.url)
    bundle, changed, trust = tmp_path / "b.json", tmp_path / "c.json", up.said["trust_file"]
    exported = await cli("seal", "export", "--task", task_id, "-o", bundle, cwd=up.folder)
    assert exported.returncode == 0, exported.stderr
    assert (await cli("seal", "verify", bundle, "--trust", trust)).returncode == 0
    seal, *parts = bundle.read_text().splitlines()
    assert task_id in "".join(parts)
    episode = json.loads(seal)["sealedEpisode"]["episodeId"]
    by_episode = await cli("seal", "export", episode, cwd=up.folder)
    assert by_episode.stdout == bundle.read_text()
    changed.write_text(bundle.read_text().replace(task_id, "another task"))
    verified = await cli("seal", "verify", changed, "--trust", trust, "--json")
    assert verified.returncode == 1
    assert json.loads(verified.stdout)["ok"] is False
    stranger = tmp_path / "stranger.json"
    stranger.write_bytes(TrustStore.of([SigningKey.generate("other").verifying_key]).to_bytes())
    unknown = await cli("seal", "verify", bundle, "--trust", stranger)
    assert unknown.returncode == 1
    assert [line[:4] for line in unknown.stdout.splitlines()] == [
        *("ok  ", "ok  ", "ok  ", "FAIL", "skip", "FAIL", "skip", "ok  ", "FAIL")
    ]
    assert "can't be trusted: the trust file does not hold the key" in unknown.stdout
    both = await cli("seal", "verify", changed, "--trust", stranger)
    assert "c.json is NOT what was sealed: hash, key, checkpoint" in both.stdout
    by_task = await cli("seal", "export", task_id, "--wait", "0.3", cwd=up.folder)
    assert by_task.returncode == 1
    assert f"is a task, not an episode; use `--task {task_id}`" in by_task.stderr


async def test_exporting_what_is_not_sealed_fails_with_a_sentence(up: Up, cli: Cli) -> None:
    for which in (("--task", "no such task"), ("no-such-episode",)):
        outcome = await cli("seal", "export", *which, "--wait", "0.3", cwd=up.folder)
        assert outcome.returncode == 1
        assert outcome.stderr.startswith("lictor: ")


async def test_dead_letters_are_listed_shown_and_replayed(up: Up, cli: Cli) -> None:
    async with lictor.connect(up.url) as governor:
        task = governor.task("started too late")
        claim = await task.claim_complete("done")
        with pytest.raises(EventRefused):
            await governor.decision_on(claim)
        listed = await cli("dead", "list", "--json", cwd=up.folder)
        letters = [json.loads(line) for line in listed.stdout.splitlines()]
        (number,) = [one["number"] for one in letters if claim.event_id in one["message_id"]]
        shown = await cli("dead", "show", str(number), "--json", cwd=up.folder)
        assert json.loads(json.loads(shown.stdout)["body"])["event_id"] == claim.event_id
        for verb in (("list",), ("show", str(number))):
            told = (await cli("dead", *verb, cwd=up.folder)).stdout
            assert re.search(r"\d{4}-\d\d-\d\dT[0-9:]{8}\.\d{3}Z\s", told)
        await governor.start_task("late", task_id="started too late")
        replayed = await cli("dead", "replay", str(number), cwd=up.folder)
        assert replayed.stdout == f"replayed  {number}: to EVENTS\n"
        decided = await governor.decision_on(claim.event_id, task_id="started too late")
        assert decided.decision.decision is Disposition.DOWNGRADE_STATUS
    absent = await cli("dead", "replay", "999999", cwd=up.folder)
    assert absent.returncode == 1


async def test_a_reader_that_leaves_is_no_error(up: Up, environment: dict[str, str]) -> None:
    await closed_task(up.url)
    process = await asyncio.create_subprocess_shell(
        f"{COMMAND} watch --since-start | head -n 1; exit ${{PIPESTATUS[0]}}",
        cwd=up.folder,
        env=environment,
        executable="/bin/bash",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, out.count(b"\n"), err) == (141, 1, b"")


async def test_a_reader_that_leaves_ends_a_watch_that_has_nothing_more_to_show(
    up: Up, environment: dict[str, str]
) -> None:
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        "watch",
        cwd=up.folder,
        env=environment,
        stdout=writing,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(writing)
    os.close(reading)
    _, err = await process.communicate()
    assert (process.returncode, err) == (141, b"")


async def test_an_interrupted_command_is_exit_code_130_and_says_nothing(
    up: Up, environment: dict[str, str]
) -> None:
    await closed_task(up.url)
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        "watch",
        "--since-start",
        cwd=up.folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")


async def test_a_second_up_on_the_same_data_is_refused(up: Up, cli: Cli) -> None:
    outcome = await cli("up", cwd=up.folder)
    assert outcome.returncode == 1
    assert f"is already in use by pid {up.process.pid}" in outcome.stderr


async def test_whatever_dies_is_started_again_and_decisions_go_on(up: Up) -> None:
    async with lictor.connect(up.url) as governor:
        task = await governor.start_task("a task that survives")
        for name in ("policy-evaluator", "sealer"):
            os.kill(up.said["services"][name], signal.SIGKILL)
            await up.until("died", name)
            await up.until("restarted", name)
        servers = [child for child in up.children() if "-server" in child.name()]
        assert len(servers) == 2
        for server in servers:
            server.kill()
            await up.until("restarted")
        claim = await task.claim_complete("done")
        decided = await task.decision_on(claim, timeout_s=60)
        assert decided.decision.decision is Disposition.DOWNGRADE_STATUS


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_everything_in_order_and_keeps_the_data(
    tmp_path: Path, start_up: StartUp, how: signal.Signals
) -> None:
    up = await start_up()
    children = up.children()
    # NATS, Redis, and the services; the rehearser has processes of its own.
    assert len(up.children(recursive=False)) == 2 + len(SERVICES)
    task_id = await closed_task(up.url)
    up.process.send_signal(how)
    await up.until("draining")
    await up.until("stopped")
    assert await up.process.wait() == 0
    assert not any(child.is_running() for child in children)
    assert not (tmp_path / ".lictor" / "endpoints.json").exists()
    log = (tmp_path / ".lictor" / "log" / "sealer.log").read_text()
    assert "drained" in log

    again = await start_up()
    async with lictor.connect(again.url) as governor:
        bundle = await governor.sealed(task_id)
    trust = TrustStore.load(tmp_path / ".lictor" / "keys" / "trust.json")
    assert verify_bundle(bundle, trust).ok
    assert await again.end() == 0


async def test_only_the_sealer_is_given_the_private_key(start_up: StartUp, tmp_path: Path) -> None:
    """Also where `lictor up` itself was told of one."""
    key = tmp_path / "mine.pem"
    SigningKey.generate("lictor.local/log").save(key)
    up = await start_up(LICTOR_SEAL_KEY=str(key), LICTOR_SEAL_KEY_PREVIOUS="")
    given = {
        name: psutil.Process(pid).environ().get("LICTOR_SEAL_KEY")
        for name, pid in up.said["services"].items()
    }
    assert given.pop("sealer") == str(key)
    assert set(given.values()) == {""}


async def test_a_killed_up_leaves_no_process(start_up: StartUp) -> None:
    up = await start_up()
    children = up.children()
    up.process.kill()
    await up.process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


async def test_a_second_signal_does_not_wait_for_a_service_that_hangs(start_up: StartUp) -> None:
    up = await start_up()
    children = up.children()
    os.kill(up.said["services"]["sealer"], signal.SIGSTOP)
    up.process.send_signal(signal.SIGINT)
    await up.until("draining")
    up.process.send_signal(signal.SIGINT)
    async with asyncio.timeout(60):
        assert await up.process.wait() == 0
    # What a killed service started ends by itself.
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


async def test_servers_of_somebody_else_are_used_and_left_alone(up: Up, start_up: StartUp) -> None:
    redis_url = up.said["redis_url"]
    other = await start_up(LICTOR_REDIS_URL=f"{redis_url}?db=7")
    assert other.said["redis_url"].endswith("?db=7")
    assert len(other.children(recursive=False)) == 1 + len(SERVICES)
    await closed_task(other.url)
    assert await other.end() == 0
    assert psutil.pid_exists(up.process.pid)


async def test_what_is_told_is_what_clients_read(up: Up) -> None:
    content = json.loads((up.folder / ".lictor" / "endpoints.json").read_text())
    assert content.pop("format") == "lictor-endpoints/v1"
    assert Running(**content).nats_url == up.url


async def test_the_last_hint_holds_where_it_is_read(
    up: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads((up.folder / ".lictor" / "endpoints.json").read_text())
    del content["format"]
    running = Running(**content)
    monkeypatch.chdir(up.folder)
    assert how_to_reach(running).startswith("From this directory or below: ")
    monkeypatch.chdir(tmp_path)
    redis_url = up.said["redis_url"]
    expected = f"Elsewhere: export LICTOR_NATS_URL={up.url} LICTOR_REDIS_URL={redis_url}"
    assert how_to_reach(running) == expected
