"""`lictor seal erase` names what it is about to erase, and asks; what it says afterwards is what happened."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from closing_bus import ERASED, Log, answering
from test_erasures_on_the_bus import EPISODE, desk, log

from lictor_local.embedded_servers import Endpoints

__all__ = ["log"]

COMMAND = Path(sys.executable).with_name("lictor")
Erase = Callable[..., Awaitable[subprocess.CompletedProcess[str]]]


@pytest.fixture
async def erase(log: Log, clean_infra: Endpoints) -> AsyncIterator[Erase]:
    """The command before an open desk, away from a terminal or with somebody who types at one."""

    async def run(
        *arguments: str, by: str = "ada", typed: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        order = ("--by", by, "--reason", "the customer asked", "--url", clean_infra.nats_url)
        command = [str(COMMAND), "seal", "erase", EPISODE[:8], *order, *arguments]
        ours, theirs = pty.openpty() if typed is not None else (None, subprocess.DEVNULL)
        if ours is not None:
            os.write(ours, f"{typed}\n".encode())
        try:
            return await asyncio.to_thread(
                subprocess.run, command, stdin=theirs, capture_output=True, text=True, timeout=60
            )
        finally:
            if ours is not None:
                os.close(ours)
                os.close(theirs)

    async with answering(log, desk(log).bound()):
        yield run


async def test_without_a_terminal_or_a_yes_nothing_is_erased(log: Log, erase: Erase) -> None:
    before = await log.messages()
    refused = await erase("--all")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "nobody is at a terminal" in refused.stderr
    assert "--dry-run" in refused.stderr
    assert await log.messages() == before


async def test_everything_is_erased_only_when_all_is_said(log: Log, erase: Erase) -> None:
    unsaid = await erase("--yes")
    assert unsaid.returncode == 2
    assert "--all" in unsaid.stderr
    both = await erase("--yes", "--all", "--part", "gates")
    assert both.returncode == 2
    said = await erase("--yes", "--all")
    assert said.stdout.startswith("erased 5 messages; the seals stay valid"), said.stderr
    assert {each for bodies in (await log.messages()).values() for each in bodies} == {ERASED}


async def test_who_is_at_the_terminal_sees_what_is_erased_and_confirms_it(
    log: Log, erase: Erase
) -> None:
    before = await log.messages()
    declined = await erase("--part", "gates", typed="no")
    assert declined.returncode == 1
    assert f"every version of episode {EPISODE}, for good" in declined.stdout
    assert "gates      2 messages" in declined.stdout
    assert "nothing was erased" in declined.stderr
    assert await log.messages() == before
    done = await erase("--part", "gates", typed="erase")
    assert "erased 2 messages; the seals stay valid" in done.stdout, done.stderr
    assert await log.messages() == {**before, "gates": [ERASED, ERASED]}


async def test_a_dry_run_erases_nothing(log: Log, erase: Erase) -> None:
    before = await log.messages()
    looked = await erase("--all", "--dry-run")
    assert looked.returncode == 0, looked.stderr
    assert "5 messages in all" in looked.stdout
    value = json.loads((await erase("--all", "--dry-run", "--json")).stdout)
    assert (value["erased"], value["state"]) == (5, "not erased: only looked")
    assert await log.messages() == before


async def test_what_is_not_there_is_an_error_and_what_is_gone_already_is_none(erase: Erase) -> None:
    missing = await erase("--part", "gates:999", "--yes")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "the episode has no gates:999" in missing.stderr
    assert "gates (at 1, 2), proofs (at 1), records (at 1, 2)" in missing.stderr
    assert (await erase("--part", "gates", "--yes")).returncode == 0
    again = await erase("--part", "gates", "--yes")
    assert (again.returncode, again.stdout) == (0, "erased 0 messages: already erased\n")


async def test_the_actor_of_the_episode_is_refused(log: Log, erase: Erase) -> None:
    before = await log.messages()
    refused = await erase("--all", "--yes", by="agent")
    assert refused.returncode == 1
    assert "agent is the actor of the episode, who can't erase it" in refused.stderr
    assert await log.messages() == before


async def test_the_command_promises_nothing_that_it_does_not_do(log: Log, erase: Erase) -> None:
    done = await erase("--all", "--yes")
    # The seal itself still has the title.
    assert b'"summary":"Work"' in await log.bundle()
    for words in (
        "title, ids, actions with their arguments, reasons",
        "streams they were read from",
        "backups",
    ):
        assert words in done.stdout
    assert "erase them there" not in done.stdout
