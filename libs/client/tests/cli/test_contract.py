"""`lictor contract`, against a supervisor on a real bus."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from governing_bus import Asker, governing_bus, governing_services

from lictor_cli.main import FAILED, OK, UNREACHABLE, main
from lictor_local.embedded_servers import Endpoints


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


async def run(*arguments: str) -> int:
    """The command line itself, beside the loop that the services run in."""
    return await asyncio.to_thread(main, ["contract", *arguments])


async def ran(
    capsys: pytest.CaptureFixture[str], url: str, *arguments: str
) -> tuple[int, dict[str, Any]]:
    code = await run(*arguments, "--url", url, "--json")
    out = capsys.readouterr().out
    return code, json.loads(out) if out else {}


async def test_the_command_shows_approves_freezes_resumes_and_halts(
    asker: Asker, clean_infra: Endpoints, capsys: pytest.CaptureFixture[str]
) -> None:
    url = clean_infra.nats_url
    why = ("--by", "ada", "--reason", "looked at")
    of_task = ("task-1", "--runtime", "rt")
    code, shown = await ran(capsys, url, "show", *of_task)
    assert (code, shown["policy_id"]) == (FAILED, "lictor.contract.not-begun")
    await asker.ready()
    waiting = await asker.act(authorization={"mode": "hitl"})
    name = waiting["action_hash"]
    code, _ = await ran(capsys, url, "approve", *of_task, "--action", "sha256:none", *why)
    assert code == FAILED
    code, _ = await ran(capsys, url, "approve", *of_task, "--action", name[:15], *why)
    assert code == OK
    code, shown = await ran(capsys, url, "show", *of_task)
    assert (code, shown["standing"]["actions"][0]["approvers"]) == (OK, ["ada"])
    assert (await ran(capsys, url, "approve", *of_task, "--bypass", *why))[0] == FAILED
    assert (await ran(capsys, url, "freeze", *of_task, *why))[0] == OK
    assert (await ran(capsys, url, "resume", *of_task, *why))[0] == OK
    assert (await ran(capsys, url, "halt", *why))[0] == OK
    code, shown = await ran(capsys, url, "show", *of_task)
    assert (shown["halted_by"], shown["standing"]["state"]) == ("ada", "frozen")
    assert (await ran(capsys, url, "release", *why))[0] == OK
    assert (await ran(capsys, url, "release", *why))[0] == FAILED


async def test_the_command_says_when_nobody_answers(
    clean_infra: Endpoints, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = await ran(
        capsys, clean_infra.nats_url, "halt", "--by", "ada", "--reason", "fire"
    )
    assert (code, answer["ok"]) == (UNREACHABLE, False)


async def test_what_an_action_waits_for_is_shown_to_who_may_approve_it(
    asker: Asker, clean_infra: Endpoints, capsys: pytest.CaptureFixture[str]
) -> None:
    await asker.ready()
    assert (await asker.act(authorization={"mode": "hitl"}))["decision"] == "wait"
    assert await run("show", "task-1", "--runtime", "rt", "--url", clean_infra.nats_url) == OK
    said = capsys.readouterr().out
    assert "0 of 1 people have approved it; wait until a person other than the requester" in said
