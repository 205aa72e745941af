"""`lictor ir summary`, `lictor ir owl` and `lictor prove --summary`: what a person and a pipeline get."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]
EXAMPLES = ROOT / "examples"
PROGRAM = EXAMPLES / "programs/newsletter.py"
OTHER = EXAMPLES / "programs/newsletter_with_a_copy.py"
LAYERS = ("--import-root", EXAMPLES / "layers")


async def test_programs_are_told_in_words_one_after_the_other(cli) -> None:
    told = await cli("ir", "summary", *LAYERS, PROGRAM, OTHER)
    assert told.returncode == 0, told.stderr
    first, second = told.stdout.split("\n\n")
    assert first.startswith('PROGRAM "newsletter.py", main(); trusted layer ')
    assert "- there are at most 50 calls of send_mail" in first
    assert "press@example.org" not in first
    assert 'send_mail(addr = "press@example.org"' in second


async def test_a_program_and_its_document_have_one_summary(cli, tmp_path: Path) -> None:
    of_program = await cli("ir", "summary", "--json", *LAYERS, PROGRAM)
    kept = tmp_path / "document.ir"
    kept.write_text((await cli("ir", "show", "--json", *LAYERS, PROGRAM)).stdout, "utf-8")
    of_document = await cli("ir", "summary", "--json", kept)
    one, other = json.loads(of_program.stdout), json.loads(of_document.stdout)
    assert (one.pop("file"), other.pop("file")) == (str(PROGRAM), str(kept))
    assert one == other
    assert {each["strength"] for each in one["guaranteed"]} == {"every_prefix"}
    assert len(one["may_do"]) == 2


async def test_a_limit_holds_or_is_refused(cli, tmp_path: Path) -> None:
    kept = tmp_path / "long.ir"
    calls = "".join(f'effect c{at}: send(addr = "{at}")\n' for at in range(200))
    kept.write_text(
        f'effect-ir v1\nprogram "p" target main\ntrusted send(addr: str) -> none\n{calls}', "utf-8"
    )
    told = await cli("ir", "summary", "--limit", "1200", kept)
    assert told.returncode == 0, told.stderr
    assert len(told.stdout) <= 1200
    assert " more calls: " in told.stdout
    whole = await cli("ir", "summary", "--limit", "0", kept)
    assert whole.stdout.count("send(addr") == 200
    refused = await cli("ir", "summary", "--limit", "10", kept)
    assert refused.returncode == 1
    assert "a summary needs 1100 characters" in refused.stderr


async def test_the_examples_of_the_page_are_what_is_printed(cli) -> None:
    page = (ROOT / "docs/summaries.md").read_text("utf-8")
    ((command, shown),) = re.findall(r"^```\n\$ lictor (.*)\n(.*?)^```$", page, re.M | re.S)
    told = await cli(*command.split(), cwd=ROOT)
    assert told.stdout == shown
    (command,) = re.findall(r"^From `lictor (.*)`:$", page, re.M)
    (excerpt,) = re.findall(r"^```turtle\n(.*?)^```$", page, re.M | re.S)
    printed = (await cli(*command.split(), cwd=ROOT)).stdout
    for block in excerpt.strip("\n").split("\n\n"):
        assert block in printed


async def test_what_can_not_be_read_is_one_sentence(cli, tmp_path: Path) -> None:
    kept = tmp_path / "document.ir"
    kept.write_text("effect-ir v9", "utf-8")
    refused = tmp_path / "p.py"
    refused.write_text("def main():\n    eval('1')\n", "utf-8")
    for verb in ("summary", "owl"):
        for path in (kept, refused, tmp_path / "missing.py"):
            told = await cli("ir", verb, *LAYERS, path)
            assert told.returncode == 1
            assert told.stdout == ""
            assert len(told.stderr.splitlines()) == 1
            assert "Traceback" not in told.stderr


async def test_a_proof_comes_with_its_summary(cli) -> None:
    told = await cli("prove", "--summary", *LAYERS, PROGRAM)
    assert told.returncode == 0, told.stderr
    document = json.loads((await cli("prove", "--json", *LAYERS, PROGRAM)).stdout)["proof"]
    assert "".join(f"    {line}\n" for line in document["summary"].splitlines()) in told.stdout
    # What is proved is told to be, and limits what the loops alone would allow.
    unproved = (await cli("ir", "summary", *LAYERS, PROGRAM)).stdout
    assert "GUARANTEES, if proved," in unproved
    assert 'any number of times; if "at_most(50)" is proved, at most 50 times' in unproved
    assert "if proved" not in document["summary"]
    assert "any number of times" not in document["summary"]
    assert 'at most 50 times, by "at_most(50)"' in document["summary"]
    # As the prover publishes it: what is not proved has none, but a person who asks is told.
    refuted = json.loads((await cli("prove", "--json", *LAYERS, OTHER)).stdout)["proof"]
    assert refuted["summary"] is None
    summary = (await cli("ir", "summary", *LAYERS, OTHER)).stdout
    shown = (await cli("prove", "--summary", *LAYERS, OTHER)).stdout
    assert shown.endswith("".join(f"    {line}\n" for line in summary.splitlines()))
    assert "PROGRAM" not in (await cli("prove", *LAYERS, PROGRAM)).stdout
    refused = await cli("prove", "--summary", "--submit", "--task", "t", PROGRAM)
    assert refused.returncode == 1
    assert "--summary is for proofs made here" in refused.stderr


@pytest.mark.parametrize("form", ["turtle", "nt", "xml"])
async def test_the_owl_rendering_is_printed_in_each_format(cli, form: str) -> None:
    told = await cli("ir", "owl", "--format", form, *LAYERS, PROGRAM)
    assert told.returncode == 0, told.stderr
    assert "An explanation, never a proof." in told.stdout
    wrapped = await cli("ir", "owl", "--json", "--format", form, *LAYERS, PROGRAM)
    document = json.loads(wrapped.stdout)
    assert document["format"] == form
    assert document["owl"].rstrip("\n") == told.stdout.rstrip("\n")
