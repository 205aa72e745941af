"""`lictor pack analyze` and `lictor pack diff --prove`: what packs can do, in words, as JSON and as an exit code."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lictor.errors import LictorError
from lictor_cli.pack import solver

ROOT = Path(__file__).parents[5]
PACKS = ROOT / "policy-packs"
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A pack of which a bound is moved."""
    shutil.copytree(PACKS, tmp_path / "other")
    policy = tmp_path / "other/no-fake-progress/policy.yaml"
    changed = policy.read_text().replace("greater_than: 1", "greater_than: 2", 1)
    assert changed != policy.read_text()
    policy.write_text(changed)
    return tmp_path / "other"


async def test_the_shipped_packs_are_analyzed_without_a_warning(cli: Cli) -> None:
    told = await cli("pack", "analyze", PACKS, "--strict")
    assert told.returncode == 0, told.stdout + told.stderr
    lines = told.stdout.splitlines()
    assert lines[-1] == "31 rules of 4 packs analyzed: ok"
    assert (
        "information: task_started: nothing decides, so the event is allowed, for example:"
        " task.mode interactive [nothing-decides]"
    ) in lines
    assert "proved: report_anchor_missing: some rule always decides" in lines


async def test_a_rule_that_can_never_fire_is_a_warning(cli: Cli, other: Path) -> None:
    policy = other / "no-fake-progress/policy.yaml"
    policy.write_text(policy.read_text().replace("greater_than: 2", "less_than: 0", 1))
    told = await cli("pack", "analyze", policy, "--json")
    assert told.returncode == 0, told.stderr
    (finding,) = [
        each for each in json.loads(told.stdout)["findings"] if each["level"] == "warning"
    ]
    assert finding["check"] == "never-fires"
    assert finding["rule_id"] == "no-fake-progress.repeated-status-only"
    strict = await cli("pack", "analyze", policy, "--strict")
    assert strict.returncode == 1
    assert "warning: rule no-fake-progress.repeated-status-only: no event can meet" in strict.stdout


async def test_packs_that_decide_the_same_are_proved_so(cli: Cli, other: Path) -> None:
    shutil.rmtree(other)
    shutil.copytree(PACKS, other)
    policy = other / "no-silence/policy.yaml"
    policy.write_text(policy.read_text().replace("version: ", "version: 9."))
    told = await cli("pack", "diff", PACKS, other, "--prove")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "changed  no-silence version" in told.stdout
    assert told.stdout.endswith("proved: both decide the same, whatever the event and the task\n")


async def test_a_state_that_is_decided_otherwise_is_shown(cli: Cli, other: Path) -> None:
    told = await cli("pack", "diff", PACKS, other, "--prove")
    assert told.returncode == 4, told.stderr
    assert "milder on task_checkpoint_sent: " in told.stdout
    assert "message.status_only_in_a_row 2" in told.stdout
    assert "proved: both decide the same on task_started, " in told.stdout
    told = await cli("pack", "diff", PACKS, other, "--prove", "--json")
    proof = json.loads(told.stdout)["proof"]
    assert proof["verdict"] == "differs"
    (event,) = [each for each in proof["events"] if each["verdict"] == "differs"]
    difference = event["differences"][0]
    assert difference["change"] == "milder"
    assert difference["old"]["rule_id"] == "no-fake-progress.repeated-status-only"
    assert difference["facts"]["message.status_only_in_a_row"] == 2


async def test_a_time_that_is_none_is_wrong_usage(cli: Cli) -> None:
    told = await cli("pack", "analyze", PACKS, "--timeout", "soon")
    assert told.returncode == 2
    assert "is no number of seconds" in told.stderr


@pytest.mark.parametrize("missing", ["lictor_prove", "lictor_prove.packs", "z3"])
def test_a_missing_prover_is_named_with_what_to_install(missing: str) -> None:
    with (
        pytest.raises(LictorError, match="lictor-prove, which is not installed"),
        solver.prover_at_hand("lictor pack analyze"),
    ):
        raise ModuleNotFoundError(name=missing)
    with (
        pytest.raises(ModuleNotFoundError),
        solver.prover_at_hand("lictor pack analyze"),
    ):
        raise ModuleNotFoundError(name="rich")


def test_the_solver_is_loaded_only_when_it_is_asked() -> None:
    loaded = (
        "import sys, lictor_cli.pack.diff, lictor_cli.pack.analyze;"
        "print(sorted({'z3', 'lictor_prove'} & sys.modules.keys()))"
    )
    told = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"
