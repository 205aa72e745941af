"""No command and no service prints or logs the password of a broker or a store, whether it reaches them or not."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from reporting import ROOT
from server_commands import listening, running

from lictor_local.kept_ports import free_port
from lictor_local.server_process import find_nats_server, find_redis_server

MARK = "hunter2MARK"
LICTOR = ("-c", "import sys; from lictor_cli.main import main; sys.exit(main())")


@pytest.fixture
async def addresses(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """A NATS and a Redis server of this test's own that want a password."""
    nats, redis = free_port(()), free_port(())
    store = tmp_path / "nats"
    async with (
        running(
            *(find_nats_server(), "-a", "127.0.0.1", "-p", str(nats), "-js", "-sd", store),
            *("--user", "ops", "--pass", MARK),
        ),
        running(
            *(find_redis_server(), "--bind", "127.0.0.1", "--port", str(redis), "--save", ""),
            *("--requirepass", MARK, "--dir", tmp_path),
        ),
    ):
        await listening(nats)
        await listening(redis)
        yield {
            "LICTOR_NATS_URL": f"nats://ops:{MARK}@127.0.0.1:{nats}",
            "LICTOR_REDIS_URL": f"redis://:{MARK}@127.0.0.1:{redis}/0",
        }


def environment(tmp_path: Path, addresses: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
    return {
        **kept,
        "LICTOR_PACKS": str(ROOT / "policy-packs"),
        "LICTOR_LOG_LEVEL": "DEBUG",
        "LICTOR_DEBUG": "1",
        "LICTOR_START_TIMEOUT_S": "1",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        **addresses,
    }


async def told_by(tmp_path: Path, addresses: Mapping[str, str], *arguments: str) -> str:
    """Everything that a process says until it ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        cwd=tmp_path,
        env=environment(tmp_path, addresses),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    return told.decode()


def left_for_others(folder: Path) -> list[int]:
    """The modes of all files that tell where `lictor up` runs."""
    return [stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("endpoints.json")]


COMMANDS = (
    ("doctor",),
    ("doctor", "--json"),
    ("dead", "list"),
    ("log", "checkpoint"),
    ("report",),
    ("agent", "list"),
    ("patch", "list", "--json"),
    ("publish", "-"),
    ("pack", "stats"),
    ("seal", "export", "x", "-o", "x.json"),
    ("hook", "install", "--project", "."),
)
SERVICES = (
    *("policy_evaluator", "sealer", "supervisor", "feedback", "rehearser"),
    *("prover", "approvals", "runner"),
)


async def test_no_command_shows_the_password_of_a_server_that_answers(
    addresses: dict[str, str], tmp_path: Path
) -> None:
    for command in COMMANDS:
        told = await told_by(tmp_path, addresses, *LICTOR, *command)
        assert MARK not in told, command
    assert addresses["LICTOR_NATS_URL"].rpartition("@")[2] in await told_by(
        tmp_path, addresses, *LICTOR, "doctor"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        f"ops:{MARK}@127.0.0.1:1",
        f"ops:{MARK}@127.0.0.1:1,nats://ops:{MARK}@127.0.0.1:2",
        f"ops:{MARK}/x@127.0.0.1:1",
        f"ops:{MARK}",
    ],
)
async def test_nothing_shows_the_password_of_a_server_that_can_not_be_reached(
    tmp_path: Path, wrong: str
) -> None:
    addresses = {"LICTOR_NATS_URL": f"nats://{wrong}", "LICTOR_REDIS_URL": f"redis://{wrong}"}
    for command in (("doctor",), ("report",), ("hook", "install", "--project", "."), ("up",)):
        told = await told_by(tmp_path, addresses, *LICTOR, *command)
        assert told, command
        assert MARK not in told, command
    told = await told_by(tmp_path, addresses, "-m", f"lictor_{SERVICES[0]}")
    assert "lictor: " in told
    assert MARK not in told


@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_up_shows_no_password_and_leaves_none_where_others_could_read_it(
    addresses: dict[str, str], tmp_path: Path, form: tuple[str, ...]
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *LICTOR, "up", "--data-dir", str(tmp_path / ".lictor"), *form),
        cwd=tmp_path,
        env=environment(tmp_path, addresses),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    told = b""
    try:
        async with asyncio.timeout(120):
            while not (
                b"Lictor is up" in told or b'"what": "up"' in told or b'"what":"up"' in told
            ):
                line = await process.stdout.readline()
                assert line, told
                told += line
        # The data directory's, and the one in the user's state directory.
        assert left_for_others(tmp_path) == [0o600, 0o600]
        # Nor do logs and states: they tell of every runtime's tasks.
        assert (tmp_path / ".lictor").stat().st_mode & 0o077 == 0
    finally:
        process.send_signal(signal.SIGTERM)
        told += await process.stdout.read()
        await process.wait()
    assert MARK not in told.decode()
    logs = sorted((tmp_path / ".lictor/log").glob("*.log"))
    assert len(logs) >= len(SERVICES)
    for path in logs:
        assert MARK not in path.read_text("utf-8"), path.name
