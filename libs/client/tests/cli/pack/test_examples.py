"""`lictor pack new` and `lictor pack test`: a first pack, and examples that hold it to its word."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from governing_bus import write_pack

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


@pytest.fixture
async def pack(cli: Cli, tmp_path: Path) -> Path:
    """A new pack, in a directory of its own."""
    made = await cli("pack", "new", "known-channels", "--dir", "packs", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout) == {
        "pack": "known-channels",
        "files": ["packs/known-channels/policy.yaml", "packs/known-channels/tests.yaml"],
    }
    return tmp_path / "packs/known-channels"


@pytest.mark.parametrize(
    "which", ["packs", "packs/known-channels", "packs/known-channels/policy.yaml"]
)
@pytest.mark.usefixtures("pack")
async def test_a_new_pack_passes_its_tests(cli: Cli, which: str) -> None:
    told = await cli("pack", "test", which)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == ("ok    known-channels: 2 examples\n1 pack, 2 examples: ok\n")


async def test_a_new_pack_takes_a_title_that_yaml_would_stumble_over(cli: Cli) -> None:
    title = 'Odd: "quoted" # {{not a variable}}'
    made = await cli("pack", "new", "odd", "--dir", ".", "--title", title, "--owner", "@me")
    assert made.returncode == 0, made.stderr
    assert "check it with: " in made.stdout
    told = await cli("pack", "test", ".")
    assert told.returncode == 0, told.stdout


async def test_a_pack_that_is_there_is_never_written_over(cli: Cli, pack: Path) -> None:
    (pack / "policy.yaml").write_text("mine")
    told = await cli("pack", "new", "known-channels", "--dir", "packs")
    assert told.returncode == 1
    assert "is there already" in told.stderr
    assert (pack / "policy.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["Known", "../up", "a--b", "", "shared", "x" * 65])
async def test_a_name_that_can_not_be_an_id_is_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    told = await cli("pack", "new", name, "--dir", "packs")
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert not (tmp_path / "packs").exists()


async def test_an_example_that_goes_otherwise_is_told_step_by_step(cli: Cli, pack: Path) -> None:
    tests = pack / "tests.yaml"
    tests.write_text(tests.read_text().replace("channel: pigeon-post", "channel: terminal"))
    told = await cli("pack", "test", "packs")
    assert told.returncode == 1
    assert "FAIL  known-channels: 2 examples, 1 failed" in told.stdout
    assert "decision: expected require_review, but it was allow" in told.stdout
    as_json = await cli("pack", "test", "packs", "--json")
    assert as_json.returncode == 1
    first, second, summary = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert (first["ok"], second["ok"], summary["ok"], summary["failed"]) == (False, True, False, 1)


async def test_a_rule_without_an_example_of_each_kind_fails(cli: Cli, pack: Path) -> None:
    tests = pack / "tests.yaml"
    kept = tests.read_text().partition("  - title: A task that reports where we look")[0]
    tests.write_text(kept)
    told = await cli("pack", "test", "packs")
    assert told.returncode == 1
    assert "has no example in which it does not fire" in told.stdout


async def test_a_pack_without_examples_fails(cli: Cli, pack: Path) -> None:
    (pack / "tests.yaml").unlink()
    told = await cli("pack", "test", "packs")
    assert told.returncode == 1
    assert "tests.yaml: there are no examples" in told.stdout


@pytest.mark.parametrize("name", ["policy.yaml", "tests.yaml"])
async def test_a_file_that_is_not_yaml_fails_with_its_line(cli: Cli, pack: Path, name: str) -> None:
    (pack / name).write_text("a: [1,\nb: }")
    told = await cli("pack", "test", "packs")
    assert told.returncode == 1
    assert f"known-channels/{name}:2: is not valid YAML" in told.stdout


async def test_a_directory_without_packs_is_said_so(cli: Cli, tmp_path: Path) -> None:
    told = await cli("pack", "test", tmp_path)
    assert told.returncode == 1
    assert "holds no pack" in told.stderr
    told = await cli("pack", "test", "nowhere")
    assert told.returncode == 1
    assert "nowhere does not exist" in told.stderr


async def test_a_pack_of_envelopes_alone_needs_no_example(cli: Cli, tmp_path: Path) -> None:
    write_pack(tmp_path / "packs")
    told = await cli("pack", "test", "packs")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "ok    refunds: 0 examples\n1 pack, 0 examples: ok\n"
    assert (await cli("pack", "lint", "packs", "--strict")).returncode == 0
