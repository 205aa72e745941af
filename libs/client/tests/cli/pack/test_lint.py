"""`lictor pack lint`: all that is wrong, by file and line, and an exit code for a pipeline."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]
Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
async def pack(cli: Cli, tmp_path: Path) -> Path:
    """A new pack in a directory of its own."""
    made = await cli("pack", "new", "known-channels", "--dir", "packs")
    assert made.returncode == 0, made.stderr
    return tmp_path / "packs/known-channels"


@pytest.mark.parametrize(
    "which", ["packs", "packs/known-channels", "packs/known-channels/policy.yaml"]
)
@pytest.mark.usefixtures("pack")
async def test_a_new_pack_is_without_fault(cli: Cli, which: str) -> None:
    told = await cli("pack", "lint", "--strict", which)
    assert (told.returncode, told.stdout) == (0, "1 pack checked: ok\n"), told.stderr


async def test_the_shipped_packs_are_without_errors(cli: Cli) -> None:
    told = await cli("pack", "lint")
    assert told.returncode == 0, told.stdout


async def test_errors_of_all_files_are_told_at_once(cli: Cli, pack: Path) -> None:
    policy = (pack / "policy.yaml").read_text()
    (pack / "policy.yaml").write_text(
        policy.replace("task.channel", "task.chanel").replace("{{task_title}}", "{{task_titel}}")
    )
    other = pack.parent / "other"
    other.mkdir()
    (other / "policy.yaml").write_text("kind: [1,\nb: }")
    told = await cli("pack", "lint", "packs")
    assert told.returncode == 1
    lines = told.stdout.splitlines()
    fact = next(number for number, line in enumerate(policy.splitlines(), 1) if "fact:" in line)
    assert lines[0] == (
        f"packs/known-channels/policy.yaml:{fact}: error: rule known-channels.unwatched-channel:"
        " spec.rules.0.conditions.not.fact: unknown fact task.chanel; did you mean task.channel?"
        " [load]"
    )
    assert "did you mean task_title?" in lines[1]
    assert "packs/other/policy.yaml:2: error: is not valid YAML" in lines[2]
    assert lines[-1].startswith("2 packs checked: 3 errors")


async def test_a_finding_as_json_has_its_parts_apart(cli: Cli, pack: Path) -> None:
    policy = pack / "policy.yaml"
    policy.write_text(policy.read_text().replace("task.channel", "task.chanel"))
    told = await cli("pack", "lint", "packs", "--json")
    assert told.returncode == 1
    (finding,) = [json.loads(line) for line in told.stdout.splitlines()]
    assert finding["rule"] == "known-channels.unwatched-channel"
    assert finding["field"] == "spec.rules.0.conditions.not.fact"
    assert finding["suggestion"] == "did you mean task.channel?"
    assert (finding["level"], finding["check"]) == ("error", "load")


async def test_warnings_fail_only_when_strict(cli: Cli, pack: Path) -> None:
    (pack / "tests.yaml").unlink()
    told = await cli("pack", "lint", "packs")
    assert told.returncode == 0
    assert "warning: tests: there are no examples" in told.stdout
    assert (await cli("pack", "lint", "packs", "--strict")).returncode == 1


async def test_what_is_not_there_is_one_sentence(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for which, said in (("nowhere", "does not exist"), ("empty", "holds no pack")):
        told = await cli("pack", "lint", which)
        assert told.returncode == 1
        assert said in told.stderr
        assert told.stderr.count("\n") == 1


async def test_a_verification_method_that_nobody_has_is_an_error(cli: Cli, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/packs/refunds", tmp_path / "packs/refunds")
    policy = tmp_path / "packs/refunds/policy.yaml"
    text = policy.read_text()
    policy.write_text(text.replace("[read_after_write]", "[call_the_bank]"))
    told = await cli("pack", "lint", "packs")
    assert told.returncode == 1
    assert "nobody has a verification method call_the_bank; known are" in told.stdout
    assert "[verification]" in told.stdout
    elsewhere = await cli("pack", "lint", "packs", "--methods", "call_the_bank")
    assert elsewhere.returncode == 0, elsewhere.stdout
    policy.write_text(text.replace("[read_after_write]", "[]"))
    none = await cli("pack", "lint", "packs")
    assert none.returncode == 1
    assert "verification is mandatory above tier tiny" in none.stdout
