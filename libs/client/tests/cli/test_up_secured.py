"""`lictor up --secured` and `lictor account`: NATS with accounts, as one command runs it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.errors import Error as NatsError

import lictor
from libs.client.tests.up_process import COMMAND, Up
from lictor.errors import LictorError
from lictor_bus.errors import BrokerUnreachable
from lictor_bus.names import subjects
from lictor_bus.wire.connection import connect_nats
from lictor_local.accounts import AccountsFolder
from lictor_local.permission import is_permitted, reaches_services


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Up]:
    running = await Up.start(
        tmp_path, "--secured", "--runtime", "codex", XDG_STATE_HOME=str(tmp_path / "state")
    )
    try:
        yield running
    finally:
        await running.end()


async def command(up: Up, *words: str) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *words,
        cwd=up.folder,
        env={**kept, "XDG_STATE_HOME": str(up.folder / "state")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await process.communicate()
    return process.returncode or 0, told.decode()


async def test_everybody_has_a_password_of_their_own_and_none_is_in_an_environment(
    up: Up, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = AccountsFolder(up.folder / ".lictor" / "accounts")
    passwords = [each for users in accounts.read().users.values() for each in users.values()]
    for child in up.children():
        seen = " ".join((*child.cmdline(), *child.environ().values()))
        assert not [password for password in passwords if password in seen]
    endpoints = (up.folder / ".lictor" / "endpoints.json").read_text()
    assert not [password for password in passwords if password in endpoints + json.dumps(up.said)]
    assert (up.folder / ".lictor").stat().st_mode & 0o077 == 0
    # Nobody comes in without one.
    with pytest.raises(BrokerUnreachable, match="no such user or password"):
        await connect_nats(up.url, name="test")
    # Operators' commands in this directory find theirs, and so does a runtime.
    code, told = await command(up, "decision", "list")
    assert (code, told) == (0, "no decisions\n")
    monkeypatch.chdir(up.folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(up.folder / "state"))
    monkeypatch.delenv("LICTOR_NATS_URL", raising=False)
    async with lictor.connect(runtime="codex", agent_id="agent") as governor:
        assert governor is not None
    with pytest.raises(LictorError, match="add one with `lictor account add openclaw`"):
        async with lictor.connect(runtime="openclaw"):
            pass


async def test_accounts_are_added_rotated_retired_and_removed_while_it_runs(up: Up) -> None:
    folder = AccountsFolder(up.folder / ".lictor" / "accounts")

    async def account(*words: str) -> str:
        code, told = await command(up, "account", *words)
        assert code == 0, told
        return told

    other = await connect_nats(folder.read().url("codex"), name="test")
    await account("add", "openclaw")
    added = folder.read().url("openclaw")
    assert await reaches_services(added)
    told = await account("rotate", "openclaw")
    assert "valid until `lictor account retire openclaw`" in told
    rotated = folder.read().url("openclaw")
    assert await is_permitted(added)
    assert await reaches_services(rotated)
    await account("retire", "openclaw")
    assert not await is_permitted(added)
    assert await reaches_services(rotated)
    # A service comes back by itself with its new password.
    await account("rotate", "policy-evaluator")
    await account("retire", "policy-evaluator")
    listed = [json.loads(line) for line in (await account("list", "--json")).splitlines()]
    users = {each["role"]: each["users"] for each in listed}
    assert (users["openclaw"], users["policy-evaluator"]) == (
        ["openclaw.2"],
        ["policy-evaluator.2"],
    )
    async with asyncio.timeout(60):
        while True:
            try:
                answer = await other.request(subjects.health("policy-evaluator"), b"", timeout=1)
                break
            except NatsError:
                await asyncio.sleep(0.05)
    assert json.loads(answer.data)["service"] == "policy-evaluator"
    await account("remove", "openclaw")
    assert not await is_permitted(rotated)
    assert not folder.credential("openclaw").exists()
    assert other.is_connected
    assert (other.stats["reconnects"], other.is_closed) == (0, False)
    await other.close()
    code, told = await command(up, "account", "add", "ops")
    assert (code, "a name of Lictor's own" in told) == (1, True)


async def test_streams_of_before_there_were_accounts_are_taken_over_and_kept(
    tmp_path: Path,
) -> None:
    state = str(tmp_path / "state")
    plain = await Up.start(tmp_path, XDG_STATE_HOME=state)
    client = await connect_nats(plain.url, name="test")
    await client.request("lictor.ev.codex.task", b"{}", timeout=5)
    before = (await client.jetstream().stream_info("EVENTS")).state.messages
    await client.close()
    await plain.end()
    secured = await Up.start(tmp_path, "--secured", XDG_STATE_HOME=state)
    try:
        ops = AccountsFolder(tmp_path / ".lictor" / "accounts").read().url("ops")
        client = await connect_nats(ops, name="test")
        assert (await client.jetstream().stream_info("EVENTS")).state.messages >= before
        await client.close()
    finally:
        await secured.end()
    # Without accounts they would not be there: it says so instead of starting with nothing.
    with pytest.raises(AssertionError, match="ended without telling of up"):
        await Up.start(tmp_path, XDG_STATE_HOME=state)
