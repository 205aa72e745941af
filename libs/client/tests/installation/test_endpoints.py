"""Which Lictor a client finds."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lictor.installation import endpoints


def running(folder: Path, *, pid: int | None = None, port: int = 1234) -> endpoints.Running:
    return endpoints.Running(
        pid=os.getpid() if pid is None else pid,
        nats_url=f"nats://127.0.0.1:{port}",
        redis_url="redis://127.0.0.1:1235/0",
        data_dir=str(folder),
        packs="packs",
        trust_file="trust.json",
        logs="log",
        http={},
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory two levels below one with a running Lictor."""
    monkeypatch.delenv("LICTOR_NATS_URL", raising=False)
    monkeypatch.delenv("LICTOR_REDIS_URL", raising=False)
    below = tmp_path / "project" / "deep" / "deeper"
    below.mkdir(parents=True)
    data = tmp_path / "project" / ".lictor"
    data.mkdir()
    endpoints.write_running(data, running(data))
    monkeypatch.chdir(below)
    return below


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_an_address_that_is_given_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LICTOR_NATS_URL", "nats://elsewhere:1")
    assert endpoints.nats_url("nats://given:2").url == "nats://given:2"


def test_the_environment_wins_over_a_running_lictor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LICTOR_NATS_URL", "nats://elsewhere:1")
    monkeypatch.setenv("LICTOR_REDIS_URL", "redis://elsewhere:1")
    assert endpoints.nats_url() == endpoints.FoundAddress("nats://elsewhere:1", "LICTOR_NATS_URL")
    assert endpoints.redis_url().url == "redis://elsewhere:1"


def test_a_running_lictor_is_found_from_below() -> None:
    assert endpoints.nats_url().url == "nats://127.0.0.1:1234"
    assert endpoints.redis_url().url == "redis://127.0.0.1:1235/0"


def test_the_nearest_one_alive_is_taken(here: Path) -> None:
    for folder, pid, port in ((here, dead_pid(), 1), (here.parent, None, 2)):
        (folder / ".lictor").mkdir()
        endpoints.write_running(folder / ".lictor", running(folder, pid=pid, port=port))
    assert endpoints.nats_url().url == "nats://127.0.0.1:2"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"format": "lictor-endpoints/v1"}',
        b'{"format": "lictor-endpoints/v2"}',
    ],
)
def test_a_file_that_makes_no_sense_is_passed_over(here: Path, content: bytes) -> None:
    (here / ".lictor").mkdir()
    (here / ".lictor" / endpoints.ENDPOINTS_FILE).write_bytes(content)
    assert endpoints.nats_url().url == "nats://127.0.0.1:1234"


@pytest.mark.parametrize("pid", [0, -1, 2**70])
def test_a_pid_that_no_process_can_have_is_not_alive(here: Path, pid: int) -> None:
    (here / ".lictor").mkdir()
    path = here / ".lictor" / endpoints.ENDPOINTS_FILE
    path.write_text(json.dumps(dataclasses.replace(running(here), pid=pid).to_json_value()))
    assert endpoints.nats_url().url == "nats://127.0.0.1:1234"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_does_not_choose_our_broker(here: Path) -> None:
    (here / ".lictor").mkdir()
    endpoints.write_running(here / ".lictor", running(here, port=6666))
    os.chown(here / ".lictor" / endpoints.ENDPOINTS_FILE, 12345, 12345)
    assert endpoints.nats_url().url == "nats://127.0.0.1:1234"


def test_without_any_the_default_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert endpoints.nats_url() == endpoints.FoundAddress("nats://127.0.0.1:4222", "the default")
    assert endpoints.redis_url().url == "redis://127.0.0.1:6379/0"


def registered_up(data: Path, port: int) -> None:
    endpoints.register(data, running(data, port=port))
    endpoints.write_running(data, running(data, port=port))


@pytest.mark.parametrize("find", [endpoints.nats_url, partial(endpoints.judge_url, runtime="rt")])
def test_an_address_is_looked_up_again_with_the_same_lictor_up(
    tmp_path: Path, here: Path, find: Callable[[], endpoints.FoundAddress]
) -> None:
    data = tmp_path / "project" / ".lictor"
    registered_up(data, 1234)
    found = find()
    assert found.now() == "nats://127.0.0.1:1234"
    registered_up(data, 5678)
    assert found.now() == "nats://127.0.0.1:5678"
    # A nearer one that came later is another one.
    (here / ".lictor").mkdir()
    registered_up(here / ".lictor", 6666)
    assert found.now() == "nats://127.0.0.1:5678"
    endpoints.unregister(data)
    endpoints.remove_running(data)
    assert found.now() is None


@pytest.mark.parametrize("find", [endpoints.nats_url, partial(endpoints.judge_url, runtime="rt")])
def test_whoever_comes_before_lictor_up_finds_it_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, find: Callable[[], endpoints.FoundAddress]
) -> None:
    other = tmp_path / "other"
    (other / ".lictor").mkdir(parents=True)
    monkeypatch.chdir(other)
    found = find()
    assert found.now() == "nats://127.0.0.1:4222"
    registered_up(other / ".lictor", 5678)
    monkeypatch.chdir(tmp_path)
    assert found.now() == "nats://127.0.0.1:5678"
    endpoints.unregister(other / ".lictor")
    endpoints.remove_running(other / ".lictor")
    assert found.now() is None


def test_an_address_that_is_given_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LICTOR_NATS_URL", "nats://elsewhere:1")
    found = endpoints.judge_url(runtime="rt")
    monkeypatch.setenv("LICTOR_NATS_URL", "nats://elsewhere:2")
    assert found.now() == "nats://elsewhere:1"
