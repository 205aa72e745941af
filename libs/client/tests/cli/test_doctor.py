"""`lictor doctor`: what is wrong with this machine and the services, and what to do."""

from __future__ import annotations

import asyncio
import fcntl
import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lictor_local.doctor import writable_directory
from lictor_local.service_process import SERVICES

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
NOBODY = "nats://127.0.0.1:9"
NO_REDIS = "redis://127.0.0.1:9/0"


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A loopback port that another socket listens on."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        yield holder.getsockname()[1]


async def test_the_doctor_says_what_is_wrong_and_what_to_do(cli: Cli, taken_port: int) -> None:
    outcome = await cli("doctor", "--json", "--url", NOBODY, "--port", str(taken_port))
    assert outcome.returncode == 1
    answer = json.loads(outcome.stdout)
    found = {one["name"]: one for one in answer["findings"]}
    assert answer["ok"] is False
    assert found["python"]["ok"]
    assert found["nats-server"]["ok"]
    assert found["redis-server"]["ok"]
    assert found["packs"]["ok"]
    assert found["packs"]["detail"].startswith("found ")
    assert str(taken_port) in found["ports"]["detail"]
    for name in ("ports", "nats", "services"):
        assert not found[name]["ok"]
        assert found[name]["remedy"]
    assert ", ".join(SERVICES) in found["services"]["detail"]


async def test_the_doctor_gives_the_same_advice_once(cli: Cli) -> None:
    outcome = await cli("doctor", "--url", NOBODY, LICTOR_REDIS_URL=NO_REDIS)
    assert outcome.stdout.count("problem  ") == 3
    assert outcome.stdout.count("what to do: start the server there, or leave --url out") == 1


async def test_the_doctor_looks_for_no_redis_of_services_elsewhere(cli: Cli) -> None:
    outcome = await cli("doctor", "--json", LICTOR_NATS_URL=NOBODY)
    found = {one["name"]: one for one in json.loads(outcome.stdout)["findings"]}
    assert (found["redis"]["ok"], found["nats"]["ok"]) == (True, False)
    outcome = await cli("doctor", "--json", LICTOR_NATS_URL=NOBODY, LICTOR_REDIS_URL=NO_REDIS)
    found = {one["name"]: one for one in json.loads(outcome.stdout)["findings"]}
    assert not found["redis"]["ok"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("LICTOR_PACKS", "absent"),
        ("LICTOR_AGENTS", "absent"),
        ("LICTOR_NATS_SERVER", "absent"),
        ("LICTOR_REDIS_SERVER", "absent"),
        ("LICTOR_NATS_URL", NOBODY),
        ("LICTOR_REDIS_URL", NO_REDIS),
        ("", ""),
    ],
)
async def test_the_doctor_does_not_advise_what_fails_for_the_same_reason(
    cli: Cli, tmp_path: Path, setting: str, value: str
) -> None:
    if not setting:
        (tmp_path / ".lictor").touch()
    given = {setting: value} if setting else {}
    tried = await cli("up", **given)
    assert tried.returncode != 0
    outcome = await cli("doctor", "--json", **given)
    bad = [one for one in json.loads(outcome.stdout)["findings"] if not one["ok"]]
    assert bad
    assert "run `lictor up`" not in {one["remedy"] for one in bad}


async def test_the_doctor_does_not_advise_a_second_lictor_up(cli: Cli, tmp_path: Path) -> None:
    data = tmp_path / ".lictor"
    data.mkdir()
    with (data / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = await cli("doctor", "--json")
    found = {one["name"]: one for one in json.loads(outcome.stdout)["findings"]}
    assert f"{data} in use" in found["nats"]["remedy"]


@pytest.mark.parametrize("folder", ["/proc/x", "file", "file/x", "dangling"])
def test_the_doctor_tries_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("/absent/there")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert writable_directory(tmp_path / "new" / "data").ok
    finding = writable_directory(Path(folder))
    assert not finding.ok
    assert "is not writable (" in finding.detail
    assert sorted(tmp_path.iterdir()) == before


async def test_the_doctor_names_a_binary_that_is_too_old(cli: Cli, tmp_path: Path) -> None:
    old = tmp_path / "nats-server"
    old.write_text("#!/bin/sh\necho nats-server: v2.10.7\n")
    old.chmod(0o755)
    outcome = await cli("doctor", "--url", NOBODY, LICTOR_NATS_SERVER=str(old))
    assert outcome.returncode == 1
    assert f"problem  nats-server       2.10.7 at {old}, too old: 2.14 is needed" in outcome.stdout
