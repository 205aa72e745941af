"""The file of a governed episode tells its story by itself: the envelope, refusals, approvers, halts, effects."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from governing_bus import ENVELOPE, TRUST, Asker, governing_bus, governing_services

from lictor.history.episode_bundle import bundle_lines
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_all, read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.canonical_json import hash_bytes


@pytest.fixture
async def asker(clean_infra: Endpoints) -> AsyncIterator[Asker]:
    async with governing_bus(clean_infra) as asker, governing_services(clean_infra):
        yield asker


def lictor(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lictor")), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=dict(os.environ)
    )


def paragraph(told: str, heading: str) -> str:
    """What stands under a heading."""
    return next(each for each in told.split("\n\n") if heading in each.partition("\n")[0])


async def exported(asker: Asker, folder: Path) -> tuple[Path, Path]:
    [stored] = await read_from(asker.client, streams.EPISODES, subjects.EPISODE.any, 1, 10)
    file, trust = folder / "episode.seal", folder / "trust.json"
    file.write_bytes(b"".join([line async for line in bundle_lines(asker.client, stored.body)]))
    trust.write_bytes(TRUST.to_bytes())
    return file, trust


async def lived(asker: Asker) -> None:
    """Refused, halted, released, resumed, approved by two, dispatched, finished and verified."""
    await asker.ready()
    moment = datetime.now(UTC).isoformat()
    await asker.report("context_captured", feature="limit", captured_at=moment, value=100)
    blocked: dict[str, Any] = {"actionId": "b-1", "idempotencyKey": "b-1"}
    await asker.act(**blocked, authorization={"mode": "blocked"})
    assert (await asker.order("halt", "ada", reason="odd numbers"))["ok"]
    assert (await asker.order("release", "bob", reason="explained"))["ok"]
    assert (await asker.order("resume", "bob", reason="go on"))["ok"]
    large = {"blastRadiusTier": "large", "constraints": {"amount": 50}}
    name = (await asker.act(**large))["action_hash"]
    for who in ("ada", "bob"):
        answer = await asker.order("approve", who, action_hash=name, reason=f"{who} saw it\x1b[2J")
        assert answer["ok"], answer
    assert (await asker.act(**large))["decision"] == "allow"
    await asker.dispatched()
    await asker.finished(expected={"amount": 50}, observed={"amount": 50})
    await asker.ask(
        "verify",
        action_id="a-1",
        method="read_after_write",
        expected={"status": "refunded"},
        observed={"status": "refunded"},
        took_ms=3,
    )
    await asker.report("decision_ended")
    await asker.close()
    await asker.until_sealed()


async def test_the_story_of_a_governed_episode_is_told_from_its_file_alone(
    asker: Asker, tmp_path: Path
) -> None:
    await lived(asker)
    file, trust = await exported(asker, tmp_path)
    # By a plain hash in the leaf, what is erased of the rest could be tried.
    leaf, *parts = file.read_bytes().splitlines()
    assert parts
    for name in (streams.DECISIONS, streams.ACTIONS):
        stored = [each async for each in read_all(asker.client, name, ">")]
        assert stored
        assert all(hash_bytes(each.body).encode() not in leaf for each in stored)
    told = lictor("seal", "show", file, "--trust", trust)
    assert told.returncode == 0, told.stderr
    for words in (
        "deadline 60000 ms, ladder cache_bundle > hitl > bypass > abstain",
        "balance, captured at ",
        "limit = 100, captured at ",
        # How long each feature counts as fresh.
        "  feature    balance, captured at ",
        ", fresh for ",
        "refund (b-1) on order o-1, reach small: refuse, because the action is blocked (blocked)",
        "; rung hitl (the action is blocked)",
        "everything was halted by ada: odd numbers",
        "the halt was lifted by bob: explained",
        "the decision was resumed by bob: go on",
        'refund (a-1) on order o-1, reach large, {"amount": 50}: wait',
        "ada approved action sha256:",
        "refund (a-1) was dispatched",
        'a-1 ended success, expected {"amount": 50}, observed {"amount": 50}',
        "a-1: pass by read_after_write",
        "outcome    partial: ",
    ):
        assert words in told.stdout, told.stdout
    # What was refused stands apart from what was allowed, each with its answer.
    asked, refused = paragraph(told.stdout, "asked for"), paragraph(told.stdout, "refused")
    assert "refund (b-1)" not in asked
    assert 'refund (a-1) on order o-1, reach large, {"amount": 50}: wait' in asked
    assert 'reach large, {"amount": 50}: allow' in asked
    assert "refund (b-1)" in refused
    assert ": allow" not in refused
    # What agents and people wrote can't steer a terminal.
    assert "\x1b" not in told.stdout
    assert "ada saw it" in told.stdout

    value = json.loads(lictor("seal", "show", file, "--trust", trust, "--json").stdout)
    assert value["verified"]
    [begun] = value["story"]["sections"]["envelope"]
    # The envelope itself, whole, not only its hash.
    assert begun["message"]["dte"]["degradeLadder"][1]["step"] == "hitl"
    assert begun["message"]["dte"]["limits"] == ENVELOPE["limits"]
    who = [each["message"]["approver"] for each in value["story"]["sections"]["approved"]]
    assert who == ["ada", "bob"]


async def test_nothing_is_told_of_a_file_that_was_changed_and_little_of_one_that_nobody_vouches_for(
    asker: Asker, tmp_path: Path
) -> None:
    await lived(asker)
    file, trust = await exported(asker, tmp_path)
    unverified = lictor("seal", "show", file)
    assert unverified.returncode == 1
    assert "NOT VERIFIED" in unverified.stderr
    assert "the decision was resumed by bob" in unverified.stdout
    # Also where only what is told is kept.
    assert unverified.stdout.startswith("NOT VERIFIED: ")
    changed = tmp_path / "changed.seal"
    changed.write_bytes(file.read_bytes().replace(b"odd numbers", b"odd letters"))
    refused = lictor("seal", "show", changed, "--trust", trust)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "NOT what was sealed" in refused.stderr
