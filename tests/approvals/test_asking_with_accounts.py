"""Asking where each runtime has an account of its own: it hears of its own requests, and decides none."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from asking_installation import BEN, Installation
from secured_nats import Secured, secured_server

import lictor
from lictor_bus.wire.connection import connect_nats
from lictor_local.embedded_servers import Endpoints

NO_POLL_S = 600.0


@pytest.fixture
async def secured(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    async with secured_server(clean_infra, tmp_path) as found:
        yield found


@pytest.fixture
async def place(secured: Secured, tmp_path: Path) -> AsyncIterator[Installation]:
    client = await connect_nats(secured.url("ops"), name="test")
    found = Installation(tmp_path, client, secured.endpoints)
    await found.begin()
    try:
        yield found
    finally:
        await found.close()


@pytest.mark.parametrize("blocking", [False, True], ids=["asyncio", "blocking"])
async def test_a_runtime_hears_at_once_that_its_request_was_decided(
    place: Installation, secured: Secured, monkeypatch: pytest.MonkeyPatch, blocking: bool
) -> None:
    """It would ask by itself only after minutes: what the broker repeats to its account ends the pause."""
    monkeypatch.setattr("lictor.fast.call_wait.FIRST_PAUSE_S", NO_POLL_S)
    monkeypatch.setattr("lictor.fast.call_wait.LONGEST_PAUSE_S", NO_POLL_S)
    url = secured.url("codex")

    async def by_asyncio() -> str:
        async with (
            lictor.connect(url, runtime="codex") as governor,
            governor.guard("s", definition="deployer") as guard,
        ):
            return await guard.call("transfer", {}, lambda: "done", wait="1h")

    def by_blocking() -> str:
        with lictor.guard_sync("s", definition="deployer", url=url, runtime="codex") as guard:
            return guard.call("transfer", {}, lambda: "done", wait="1h")

    calling = asyncio.create_task(asyncio.to_thread(by_blocking) if blocking else by_asyncio())
    request = await place.asked("s", runtime="codex")
    await place.decide(request)
    await place.reached(request, "endorsed")
    await place.decide(request, key=BEN)
    assert await asyncio.wait_for(calling, 60) == "done"
