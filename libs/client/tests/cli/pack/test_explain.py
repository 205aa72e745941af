"""`lictor pack explain`: an event of a file, of a task, or of a record, as a tree of reasons."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

import lictor
from lictor_policy.offline.stories import usual_event

NOBODY = "nats://127.0.0.1:9"
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
WITHOUT_EVIDENCE = "verified-completion-only.completion-without-required-evidence"

STARTED = usual_event("task_started").to_json().decode()
COMPLETE = usual_event("task_claimed_complete", 60).to_json().decode()


async def test_a_tree_tells_what_each_fact_was(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text(f"{STARTED}\n")
    (tmp_path / "event.json").write_text(COMPLETE)
    told = await cli("pack", "explain", "event.json", "--history", "history.jsonl")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("task_claimed_complete task_claimed_complete-60-0 of task task-1")
    assert f"  ✓ {WITHOUT_EVIDENCE}: downgrade_status (high), decides\n" in told.stdout
    assert "✓ evidence.requirements_met equals false (it is false)\n" in told.stdout
    assert "other rules did not look at the event; --all tells why" in told.stdout
    assert f"{WITHOUT_EVIDENCE} is the only rule that fired" in told.stdout


async def test_rules_that_did_not_look_say_why(cli: Cli) -> None:
    told = await cli("pack", "explain", "-", "--all", stdin=f"{STARTED}\n{COMPLETE}\n")
    assert told.returncode == 0, told.stderr
    assert "- no-silence.missed-checkpoint: force_checkpoint (high): it looks at" in told.stdout
    assert "the event claims completion; it looks at verified_completion" in told.stdout


async def test_the_same_is_there_as_json(cli: Cli) -> None:
    told = await cli("pack", "explain", "-", "--json", stdin=f"{STARTED}\n{COMPLETE}\n")
    result = json.loads(told.stdout)
    assert (result["event_id"], result["recorded"]) == ("task_claimed_complete-60-0", None)
    assert result["decision"]["decision"] == "downgrade_status"
    (fired,) = [rule for rule in result["rules"] if rule["fired"]]
    assert fired["rule_id"] == WITHOUT_EVIDENCE
    facts = {part["asks"]: part["was"] for part in fired["condition"]["parts"]}
    assert facts["evidence.requirements_met equals false"] == "false"


@pytest.fixture
async def url(broker: Client, governor: lictor.Governor) -> str:
    """A broker with a started and completed task, and a record of the completion."""
    published = [await governor.publish(body) for body in (STARTED, COMPLETE)]
    record: dict[str, Any] = {
        "record_id": "rec-1",
        "task_id": "task-1",
        "event_sequence": published[-1].sequence,
        "config_hash": "sha256:other",
        "decision": {"decision": "allow"},
    }
    await broker.jetstream().publish("lictor.dec.rt.allow.task-1", json.dumps(record).encode())
    assert broker.connected_url is not None
    return broker.connected_url.geturl()


@pytest.mark.parametrize("which", [("--task", "task-1"), ("--record", "rec-1")])
async def test_an_event_of_the_stream_is_explained_beside_its_record(
    cli: Cli, url: str, which: tuple[str, str]
) -> None:
    told = await cli("pack", "explain", *which, "--url", url, "--json")
    assert told.returncode == 0, told.stderr
    result = json.loads(told.stdout)
    assert result["event_type"] == "task_claimed_complete"
    assert result["recorded"] == {"decision": "allow"}
    assert "the record was made by other packs (config sha256:other)" in told.stderr


async def test_an_earlier_event_of_a_task_is_chosen_by_its_id(cli: Cli, url: str) -> None:
    which = ("--task", "task-1", "--event", "task_started-0-0")
    told = await cli("pack", "explain", *which, "--url", url)
    assert told.returncode == 0, told.stderr
    assert "of task task-1: allow" in told.stdout


@pytest.mark.parametrize(
    ("which", "said"),
    [
        (("--task", "nobody"), "no events of task nobody"),
        (("--task", "task-1", "--event", "nothing"), "no event of this task nothing"),
        (("--record", "rec-2"), "no decision on an event rec-2"),
    ],
)
async def test_what_is_not_in_the_stream_is_one_sentence(
    cli: Cli, url: str, which: tuple[str, ...], said: str
) -> None:
    told = await cli("pack", "explain", *which, "--url", url)
    assert told.returncode == 1
    assert said in told.stderr
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "said"),
    [
        ((), "", 2, "name one event"),
        (("-", "--task", "x"), "", 2, "name one event"),
        (("--task", "x", "--history", "f"), "", 2, "--history goes with a file"),
        (("-",), "", 1, "holds no event"),
        (("-",), "{", 1, "the event is invalid"),
        (("missing.json",), "", 1, "missing.json"),
        (("-",), COMPLETE, 1, "earlier events go into --history"),
        (("-", "--packs", "nowhere"), STARTED, 1, "nowhere does not exist"),
        (("--task", "x", "--url", NOBODY), "", 3, "127.0.0.1:9"),
    ],
)
async def test_wrong_input_is_one_sentence(
    cli: Cli, arguments: tuple[str, ...], stdin: str, code: int, said: str
) -> None:
    told = await cli("pack", "explain", *arguments, stdin=stdin)
    assert told.returncode == code, told.stderr
    assert said in told.stderr
    assert told.stderr.count("\n") == 1
