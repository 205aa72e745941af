"""Ids by their first characters, and the lists that show them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

import lictor
from libs.client.tests.up_process import Up
from lictor.errors import LictorError
from lictor.history.id_prefixes import NoSuchId, one_of
from lictor_cli.groups import GROUPS
from lictor_cli.main import COMMANDS, home_of
from lictor_schema.decisions.decision import DecisionRecord

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
ID_ARGUMENTS = {
    *("REQUEST", "PATCH_ID", "DRIFT_ID", "CYCLE_ID", "RECORD_ID", "EPISODE", "SESSION"),
}
IDS = ["abcd-1", "abcd-2", "abce-1", "ab", "sha256:beef01", "sha256:beef02", "sha256:cafe01"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("abcd-1", "abcd-1"),
        ("abce", "abce-1"),
        ("ab", "ab"),
        ("sha256:cafe", "sha256:cafe01"),
        ("cafe", "sha256:cafe01"),
    ],
)
def test_an_id_is_named_whole_or_by_its_first_characters(given: str, meant: str) -> None:
    assert one_of(given, IDS, "thing", "lictor thing list") == meant


@pytest.mark.parametrize("given", ["", "a", "abc", "sha256:caf", "sha256:"])
def test_what_is_too_short_names_nothing(given: str) -> None:
    with pytest.raises(
        NoSuchId, match=r"is too short to name a thing: write its first 4 characters"
    ):
        one_of(given, IDS, "thing", "lictor thing list")


def test_what_names_several_tells_them() -> None:
    with pytest.raises(LictorError, match=r"2 begin with abcd: abcd-1, abcd-2; write out more\."):
        one_of("abcd", IDS, "thing", "lictor thing list")
    many = [f"same-{number:02}" for number in range(20)]
    with pytest.raises(LictorError, match=r"20 begin with same: same-00, .*same-07, …; write"):
        one_of("same", many, "thing", "lictor thing list")


def test_what_names_nothing_tells_where_they_are_listed() -> None:
    with pytest.raises(NoSuchId, match=r"there is no thing  wrong; `lictor thing list` shows"):
        one_of("\x1bwrong", IDS, "thing", "lictor thing list")


def commands() -> Iterator[str]:
    for name in COMMANDS:
        yield from [f"{name} {verb}" for verb in GROUPS[name][1]] if name in GROUPS else [name]


@pytest.mark.parametrize("name", list(commands()))
def test_every_command_that_takes_an_id_says_that_its_first_characters_will_do(name: str) -> None:
    parser = ArgumentParser(prog=name)
    home_of(name).arguments(parser)
    for action in parser._actions:
        if action.metavar in ID_ARGUMENTS:
            assert "first " in (action.help or ""), f"{name} {action.metavar}"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    running = await Up.start(tmp_path_factory.mktemp("ids"))
    yield running
    assert await running.end() == 0


def lines(outcome: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert outcome.returncode == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


async def closed(governor: lictor.Governor, task_id: str) -> DecisionRecord:
    """The decision that closes a task, which is sealed then."""
    task = await governor.start_task("a task", task_id=task_id)
    refs = [{"kind": "log", "ref": "1"}]
    await task.attach_evidence("it works", refs=refs, quality="strong", supports=["completion"])
    decided = await task.decision_on(await task.claim_complete("done"), timeout_s=30)
    await task.sealed(timeout_s=30)
    return decided


@pytest.mark.asyncio(loop_scope="module")
async def test_what_one_command_lists_the_next_one_takes(up: Up, cli: Cli) -> None:
    async with lictor.connect(up.url, runtime="first") as governor:
        _, _, decided = [await closed(governor, f"task {n} / of three") for n in range(3)]
        async with governor.guard("session-of-first", task_id=decided.task_id):
            pass
        async with governor.guard("session-of-other"):
            pass

    async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return await cli(*arguments, cwd=up.folder)

    listed = lines(await run("decision", "list", "--json"))
    assert [each["recorded_at"] for each in listed] == sorted(
        (each["recorded_at"] for each in listed), reverse=True
    )
    of_task = lines(await run("decision", "list", "--task", "task 2", "--json"))
    assert of_task == [each for each in listed if each["task_id"] == decided.task_id]
    assert of_task[0]["record_id"] == decided.record_id
    cut = await run("decision", "list", "--limit", "2", "--json")
    assert lines(cut) == listed[:2]
    assert "more than these 2" in cut.stderr
    shown = lines(await run("decision", "show", decided.record_id[:8], "--json"))
    assert shown[0]["record"]["record_id"] == decided.record_id
    assert lines(await run("decision", "list", "--rule", "nobody.has-it", "--json")) == []

    episodes = lines(await run("log", "list", "--json"))
    assert [each["leaf_index"] for each in episodes] == [2, 1, 0]
    (episode,) = lines(await run("log", "list", "--task", "task 1", "--json"))
    assert (episode["task_id"], episode["version"]) == ("task 1 / of three", 1)
    exported = await run("seal", "export", episode["episode_id"][:8])
    seal = json.loads(exported.stdout.splitlines()[0])
    assert seal["sealedEpisode"]["episodeId"] == episode["episode_id"]
    by_task = await run("seal", "export", "--task", "task 1")
    assert by_task.stdout == exported.stdout
    written = await run("seal", "export", "--task", "task 1", "-o", "one.seal")
    # The command that it names verifies the file, as it stands there.
    check = "seal verify one.seal --trust .lictor/keys/trust.json"
    assert written.stdout.endswith(f"lictor {check}\n")
    assert "one.seal is genuine" in (await run(*check.split())).stdout
    order = ("--by", "ada", "--reason", "she asked us to", "--all", "--yes")
    erased = await run("seal", "erase", episode["episode_id"][:8], *order)
    assert "the seals stay valid" in erased.stdout, erased.stderr

    sessions = lines(await run("session", "list", "--json"))
    assert [each["session_id"] for each in sessions] == ["session-of-other", "session-of-first"]
    assert sessions == lines(await run("session", "list", "--runtime", "first", "--json"))
    (mine,) = lines(await run("session", "list", "--task", "task 2", "--json"))
    assert mine["session_id"] == "session-of-first"
    log = await run("session", "log", "session-of-f")
    assert "began by lictor-default" in log.stdout
    several = await run("session", "log", "session")
    assert "2 begin with session: session-of-first, session-of-other" in several.stderr
    short = await run("session", "show", "s")
    assert "too short" in short.stderr

    explained = await run("pack", "explain", "--record", decided.record_id[:8], "--json")
    assert explained.returncode == 0, explained.stderr
    watched = await run("watch", "--task", "task 0", "--since-start", "--count", "1", "--json")
    assert lines(watched)[0]["task_id"] == "task 0 / of three"
    for table in (("decision", "list"), ("log", "list"), ("session", "list")):
        told = (await run(*table)).stdout.splitlines()
        assert told[0].split()[0] == table[0].replace("log", "episode")
        assert len(told) > 1
