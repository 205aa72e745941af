"""`lictor demo`: the whole story, as a person runs it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lictor_cli.demo import fresh
from lictor_cli.output.terminal import command_line

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


async def test_the_demo_tells_its_story_and_its_seal_verifies(cli: Cli, tmp_path: Path) -> None:
    outcome = await cli("demo", "--json")
    assert outcome.returncode == 0, outcome.stderr
    told = json.loads(outcome.stdout)
    assert told["ok"] is True
    assert [(one["event_type"], one["decision"]["decision"]) for one in told["decisions"]] == [
        ("task_started", "allow"),
        ("task_checkpoint_due", "force_checkpoint"),
        ("task_evidence_attached", "allow"),
        ("task_checkpoint_sent", "allow"),
        ("task_claimed_complete", "downgrade_status"),
        ("task_evidence_attached", "allow"),
        ("task_claimed_complete", "allow"),
    ]
    assert told["verification"]["ok"] is True
    assert told["verification_of_changed_copy"]["ok"] is False
    assert Path(told["data_dir"]) == tmp_path / ".lictor" / "demo-1"
    verified = await cli("seal", "verify", told["episode"], "--trust", told["trust_file"])
    assert verified.returncode == 0
    shown = await cli("seal", "show", told["episode"], "--trust", told["trust_file"])
    assert (shown.returncode, shown.stderr) == (0, "")
    # In the words of the agent and of the rules, from the file alone.
    for text in (
        "Migrate the",
        "agent demo-agent",
        "claiming completion: “The importer is migrated.”",
        "42 of 42 tests pass on the migrated importer",
        "downgrade_status task claimed complete by ",
        "tool Write: block by ",
        "the task was closed as ",
    ):
        assert text in shown.stdout, shown.stdout


async def test_a_second_demo_has_a_directory_of_its_own_and_reads_well(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / ".lictor" / "demo-1").mkdir(parents=True)
    outcome = await cli("demo")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    for text in (
        "* the agent falls silent, and its checkpoint passes",
        "force_checkpoint",
        "call of Write           read-before-write: ",
        "downgrade_status",
        "[task closed]",
        "ok    episode.json is genuine",
        "FAIL  episode-changed.json is NOT what was sealed",
        str(tmp_path / ".lictor" / "demo-2"),
    ):
        assert text in outcome.stdout
    assert outcome.stdout.endswith(
        "Check it yourself: lictor seal verify .lictor/demo-2/episode.json"
        " --trust .lictor/demo-2/keys/trust.json\n"
    )


def test_a_command_to_copy_is_quoted_and_relative_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "a b" / "lictor"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program)])
    assert command_line("x", tmp_path / "c d", Path("/e f")) == "'a b/lictor' x 'c d' '/e f'"
    monkeypatch.chdir(program.parent)
    assert command_line("x") == "./lictor x"
    monkeypatch.setattr("sys.argv", ["/bin/sh"])
    assert command_line("x", Path("-y")) == "lictor x ./-y"


async def test_a_story_that_goes_otherwise_breaks_off_with_a_sentence(
    cli: Cli, tmp_path: Path
) -> None:
    """Without the pack that demands evidence, the early claim is allowed."""
    source = Path(__file__).parents[4] / "policy-packs" / "no-silence" / "policy.yaml"
    pack = tmp_path / "packs" / "no-silence" / "policy.yaml"
    pack.parent.mkdir(parents=True)
    pack.write_bytes(source.read_bytes())
    outcome = await cli("demo", LICTOR_PACKS=str(tmp_path / "packs"))
    assert outcome.returncode == 1
    assert "lictor: the story broke off: downgrade_status was expected" in outcome.stderr


def test_the_last_demos_are_kept_and_older_ones_removed(tmp_path: Path) -> None:
    made = [fresh(tmp_path) for _ in range(5)]
    assert [folder.name for folder, _ in made] == [f"demo-{n}" for n in range(1, 6)]
    assert [removed for _, removed in made] == [[], [], [], ["demo-1"], ["demo-2"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo-3", "demo-4", "demo-5"]


def test_what_no_demo_made_or_one_still_uses_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "mine").mkdir(parents=True)
    parent = tmp_path / ".lictor"
    (parent / "demo-2").mkdir(parents=True)
    for name in ("demo-x", "demo-", "demo-01", "nats"):
        (parent / name).mkdir()
    (parent / "demo-1").symlink_to(elsewhere)
    (parent / "demo-3").touch()
    with (parent / "demo-2" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for _ in range(4):
            fresh(parent)
    kept = {path.name for path in parent.iterdir()}
    assert {"demo-x", "demo-", "demo-01", "nats", "demo-1", "demo-2", "demo-3"} <= kept
    assert (elsewhere / "mine").is_dir()
