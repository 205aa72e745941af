"""`lictor up` is stopped or killed and started again: whoever was connected goes on, on the same port or on another."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import lictor
from libs.client.tests.up_process import COMMAND, Up

_WITHIN_S = 60


@asynccontextmanager
async def command(
    *arguments: str, cwd: Path, env: dict[str, str]
) -> AsyncIterator[asyncio.StreamReader]:
    """What a `lictor` command says that goes on until it is ended."""
    process = await asyncio.create_subprocess_exec(
        COMMAND, *arguments, cwd=cwd, env=env, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


async def told(reader: asyncio.StreamReader) -> dict[str, Any]:
    return json.loads(await asyncio.wait_for(reader.readline(), _WITHIN_S))


def post(url: str, body: dict[str, object], token: str) -> dict[str, Any]:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return json.load(error)


class Connected:
    """Everybody who can be connected to a `lictor up`: a watcher, the SDK, both guards, and the HTTP adapter."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._calls = 0

    async def enter(self, stack: AsyncExitStack) -> None:
        """Connect, as one does who was told no address."""

        async def run(*arguments: str) -> asyncio.StreamReader:
            running = command(*arguments, cwd=self._folder, env=self._environment)
            return await stack.enter_async_context(running)

        self._governor = await stack.enter_async_context(lictor.connect())
        self._task = await self._governor.start_task("a task that outlives the stack")
        self._watched = await run("watch", "--json", "--since-start", "--task", self._task.task_id)
        served = await told(http := await run("http", "--json"))
        self._http = http, f"{served['url']}/v1/sessions/http", Path(served["token"])
        self._guard = await stack.enter_async_context(self._governor.guard("in-process"))
        self._sync = lictor.guard_sync("sync")
        await asyncio.to_thread(self._sync.__enter__)
        stack.push_async_callback(asyncio.to_thread, self._sync.__exit__, None, None, None)
        await told(self._watched)
        await asyncio.to_thread(self._over_http, "begin", {})

    def _over_http(self, verb: str, body: dict[str, object]) -> dict[str, Any]:
        _, url, token = self._http
        return post(f"{url}/{verb}", body, token.read_text().strip())

    async def all_go_on(self) -> None:
        """An event is decided and watched, and a call is allowed to each of the guards."""
        async with asyncio.timeout(_WITHIN_S):
            # Connecting again takes a moment; what is asked in between is denied.
            while not all((await self.allowed()).values()):
                await asyncio.sleep(0.05)
        claim = await self._task.claim_complete("done")
        assert (await self._task.decision_on(claim, timeout_s=_WITHIN_S)).event_id == claim.event_id
        assert (await told(self._watched))["event_id"] == claim.event_id

    async def allowed(self) -> dict[str, bool]:
        """Whether each guard allows a call."""
        self._calls += 1
        call: dict[str, Any] = {"call_id": f"call-{self._calls}", "tool": "look", "params": {}}
        return {
            "guard": (await self._guard.check("look", {})).allowed,
            "sync": (await asyncio.to_thread(self._sync.check, "look", {})).allowed,
            "http": (await asyncio.to_thread(self._over_http, "check", call))["decision"]
            == "allow",
        }


async def test_whoever_is_connected_goes_on_after_a_restart(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LICTOR_NATS_URL", "LICTOR_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    up = await Up.start(tmp_path)
    connected = Connected(tmp_path, environment)
    try:
        async with AsyncExitStack() as stack:
            await connected.enter(stack)
            await connected.all_go_on()
            for how in (signal.SIGTERM, signal.SIGKILL):
                before = up.url, up.said["redis_url"]
                await up.end(how)
                assert not any((await connected.allowed()).values())
                up = await Up.start(tmp_path)
                assert (up.url, up.said["redis_url"]) == before
                await connected.all_go_on()

            await up.end()
            taken = urlsplit(up.url).port
            assert taken is not None
            with socket.create_server(("127.0.0.1", taken)) as stranger:
                moved = await Up.start(tmp_path)
                assert moved.url != up.url
                up = moved
                await connected.all_go_on()
                # Nobody knocked at the old port: the stranger there is not who judges.
                stranger.setblocking(False)
                with pytest.raises(BlockingIOError):
                    stranger.accept()
            await up.end()
            up = await Up.start(tmp_path)
            assert up.url == moved.url
            await connected.all_go_on()
    finally:
        await up.end()
