"""`lictor pack stats` and `shadow-report`: what rules did, and what shadow rules would have done."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nats.aio.client import Client

NOBODY = "nats://127.0.0.1:9"
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


def rule(rule_id: str, decision: str, version: str = "1.0.0", **more: str) -> dict[str, str]:
    return {
        "pack_id": "example",
        "pack_version": version,
        "pack_hash": "sha256:" + "0" * 64,
        "rule_id": rule_id,
        "decision": decision,
        "severity": "high",
        "reason": f"because of {rule_id}",
        **more,
    }


def record(number: int, decision: str, **lists: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "record_id": f"record-{number}",
        "recorded_at": f"2026-03-02T09:00:0{number}.000Z",
        "task_id": "task-1",
        "event_id": f"e{number}",
        "event_type": "task_started",
        "decision": {"decision": decision},
        "matched_rules": [],
        **lists,
    }


RECORDS: tuple[dict[str, Any], ...] = (
    record(1, "block", matched_rules=[rule("x.block", "block"), rule("x.weak", "rewrite")]),
    record(2, "allow", shadow_rules=[rule("x.shadow", "block", "2.0.0")]),
    record(3, "escalate", matched_rules=[rule("x.top", "escalate")])
    | {"shadow_rules": [rule("x.shadow", "block", "2.0.0")]},
    record(4, "allow", suppressed_rules=[rule("x.block", "block", window_id="w1")]),
    record(5, "block", matched_rules=[rule("x.block", "block", "1.1.0")]),
)


@pytest.fixture
async def url(broker: Client) -> str:
    """A broker with some decisions in it, and one thing that is none."""
    for body in (*RECORDS, {"no": "record"}):
        await broker.jetstream().publish("lictor.dec.rt.block.task-1", json.dumps(body).encode())
    assert broker.connected_url is not None
    return broker.connected_url.geturl()


async def test_rules_are_counted_by_version(cli: Cli, url: str) -> None:
    told = await cli("pack", "stats", "--url", url, "--json")
    assert told.returncode == 0, told.stderr
    assert "1 messages are no decision records" in told.stderr
    *rows, summary = [json.loads(line) for line in told.stdout.splitlines()]
    counted = {
        (row["rule_id"], row["pack_version"]): (
            row["fired"],
            row["overridden"],
            row["suppressed"],
            row["shadow"],
        )
        for row in rows
    }
    assert counted == {
        ("x.block", "1.0.0"): (1, 0, 1, 0),
        ("x.block", "1.1.0"): (1, 0, 0, 0),
        ("x.weak", "1.0.0"): (0, 1, 0, 0),
        ("x.top", "1.0.0"): (1, 0, 0, 0),
        ("x.shadow", "2.0.0"): (0, 0, 0, 2),
    }
    assert summary == {"records": 5, "no_rule": 2}


async def test_stats_are_a_table_for_people(cli: Cli, url: str) -> None:
    told = await cli("pack", "stats", "--url", url)
    assert told.stdout.startswith(
        "rule      version  fired  false  overridden  suppressed  shadow  last\n"
    )
    assert "x.weak    1.0.0    0      0      1           0           0" in told.stdout
    assert "5 decisions, 2 of them without any rule" in told.stdout


async def test_only_what_was_recorded_since_a_time_is_counted(cli: Cli, url: str) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    told = await cli("pack", "stats", "--url", url, "--since", later, "--json")
    assert json.loads(told.stdout) == {"records": 0, "no_rule": 0}
    told = await cli("pack", "stats", "--url", url, "--since", "10m", "--json")
    assert json.loads(told.stdout.splitlines()[-1])["records"] == 5


async def test_the_shadow_report_tells_what_would_have_been_stricter(cli: Cli, url: str) -> None:
    told = await cli("pack", "shadow-report", "--url", url, "--json")
    assert told.returncode == 0, told.stderr
    (row,) = [json.loads(line) for line in told.stdout.splitlines()]
    assert row["rule_id"] == "x.shadow"
    # An escalation already stood: a block would have changed nothing.
    assert (row["would_have_fired"], row["would_have_changed"]) == (2, 1)
    assert row["decisions"] == {"block": 2}
    (example,) = row["examples"]
    assert (example["event_id"], example["was"], example["would_be"]) == ("e2", "allow", "block")

    told = await cli("pack", "shadow-report", "--url", url)
    assert "would have fired 2 times (block 2 times)" in told.stdout
    assert "allow -> block  task_started e2 of task-1: because of x.shadow" in told.stdout
    none = await cli("pack", "shadow-report", "--url", url, "--rule", "x.block")
    assert none.stdout == ("no rule in shadow mode would have fired (5 decisions looked at)\n")


@pytest.mark.parametrize("verb", ["stats", "shadow-report"])
async def test_without_a_broker_it_is_one_sentence(cli: Cli, verb: str) -> None:
    told = await cli("pack", verb, "--url", NOBODY)
    assert told.returncode == 3
    assert told.stderr.count("\n") == 1
    assert told.stderr.startswith("lictor: ")


async def test_a_time_that_is_none_is_wrong_usage(cli: Cli) -> None:
    told = await cli("pack", "stats", "--since", "yesterday")
    assert told.returncode == 2
    assert "neither a duration" in told.stderr
