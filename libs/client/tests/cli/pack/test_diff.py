"""`lictor pack diff`: packs compared by field, and by what they would have decided."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

import lictor

ROOT = Path(__file__).parents[5]
PACKS = ROOT / "policy-packs"
NOBODY = "nats://127.0.0.1:9"
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


def event(event_type: str, number: int, **payload: Any) -> dict[str, Any]:
    return {
        "event_id": f"e{number}",
        "event_type": event_type,
        "runtime": "test",
        "adapter_version": "1",
        "agent_id": "agent-1",
        "task_id": "task-1",
        "correlation_id": "corr-1",
        "timestamp": f"2026-03-02T09:00:{number:02}Z",
        "payload": payload,
        "evidence_refs": [],
        "operator_context": {},
    }


STARTED = event(
    "task_started",
    1,
    title="Migrate",
    mode="interactive",
    workflow_shape="single-agent",
    channel="telegram",
)
COMPLETE = event(
    "task_claimed_complete",
    2,
    claim={"type": "completion", "text": "Done."},
    message="All done.",
)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The shipped packs without the rule pack that judges completions."""
    shutil.copytree(PACKS, tmp_path / "other")
    shutil.rmtree(tmp_path / "other/verified-completion-only")
    return tmp_path / "other"


async def test_the_same_packs_do_not_differ(cli: Cli) -> None:
    told = await cli("pack", "diff", PACKS, PACKS)
    assert (told.returncode, told.stdout) == (0, "the packs are the same\n"), told.stderr


async def test_a_changed_field_is_named_with_both_values(cli: Cli, other: Path) -> None:
    policy = other / "no-silence/policy.yaml"
    policy.write_text(policy.read_text().replace("version: ", "version: 9."))
    told = await cli("pack", "diff", PACKS / "no-silence", policy)
    assert told.returncode == 4, told.stderr
    assert re.fullmatch(r"changed  no-silence version: ([0-9.]+) -> 9\.\1\n", told.stdout)


async def test_past_decisions_that_would_change_are_listed(cli: Cli, other: Path) -> None:
    events = f"{json.dumps(STARTED)}\n{json.dumps(COMPLETE)}\n"
    told = await cli("pack", "diff", PACKS, other, "--against", "-", "--json", stdin=events)
    assert told.returncode == 4, told.stderr
    result = json.loads(told.stdout)
    assert {"what": "removed", "pack_id": "verified-completion-only"}.items() <= result[
        "differences"
    ][0].items()
    backtest = result["backtest"]
    assert (backtest["events"], backtest["tasks"], backtest["changed"]) == (2, 1, 1)
    (change,) = backtest["changes"]
    assert (change["kind"], change["event_type"]) == ("milder", "task_claimed_complete")
    assert change["new"]["decision"] == "allow"
    assert change["examples"] == [{"task_id": "task-1", "event_id": "e2", "sequence": 2}]

    told = await cli("pack", "diff", PACKS, other, "--against", "-", stdin=events)
    assert "2 past events of 1 task: 1 decision would change" in told.stdout
    assert "event e2 of task task-1, number 2" in told.stdout


async def test_packs_that_differ_without_effect_exit_with_0(cli: Cli, other: Path) -> None:
    told = await cli("pack", "diff", PACKS, other, "--against", "-", stdin=json.dumps(STARTED))
    assert told.returncode == 0, told.stderr
    assert "removed  pack verified-completion-only" in told.stdout
    assert "0 decisions would change" in told.stdout


async def test_the_stream_of_events_is_folded(
    cli: Cli, other: Path, broker: Client, governor: lictor.Governor
) -> None:
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    for body in (STARTED, COMPLETE):
        await governor.publish({**body, "runtime": "test"})
    # Not an event: the evaluator sets it aside, and so does the backtest.
    await broker.jetstream().publish("lictor.ev.test.task-1", b"{}")
    told = await cli("pack", "diff", PACKS, other, "--against", "EVENTS", "--url", url, "--json")
    assert told.returncode == 4, told.stderr
    backtest = json.loads(told.stdout)["backtest"]
    assert (backtest["events"], backtest["refused"], backtest["changed"]) == (2, 1, 1)
    none = await cli(
        "pack", "diff", PACKS, other, "--against", "EVENTS", "--url", url, "--task", "other"
    )
    assert none.returncode == 0
    assert "0 past events of 0 tasks" in none.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("no-such-folder",), 1, "no-such-folder does not exist"),
        ((PACKS / "no-silence/policy.yaml", "--against", "missing.jsonl"), 1, "missing.jsonl"),
        ((PACKS, "--against", "EVENTS", "--url", NOBODY), 3, "127.0.0.1:9"),
        ((ROOT / "README.md",), 1, "is not a policy.yaml"),
    ],
)
async def test_what_can_not_be_compared_is_one_sentence(
    cli: Cli, arguments: tuple[str, ...], code: int, said: str
) -> None:
    told = await cli("pack", "diff", PACKS, *arguments)
    assert told.returncode == code
    assert said in told.stderr
    assert "Traceback" not in told.stderr


async def test_an_event_of_a_file_that_is_invalid_is_named_by_its_place(
    cli: Cli, other: Path
) -> None:
    bad = json.dumps({**COMPLETE, "event_type": "task_done"})
    told = await cli(
        "pack", "diff", PACKS, other, "--against", "-", stdin=f"{json.dumps(STARTED)}\n{bad}\n"
    )
    assert told.returncode == 1
    assert "-, line 2: the event is invalid" in told.stderr


async def test_a_stream_that_is_not_there_is_said_so(
    cli: Cli, clean_infra: Any, other: Path
) -> None:
    told = await cli(
        "pack", "diff", PACKS, other, "--against", "EVENTS", "--url", clean_infra.nats_url
    )
    assert told.returncode == 1
    assert "there is no EVENTS stream yet" in told.stderr
