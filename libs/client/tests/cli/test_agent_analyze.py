"""`lictor agent analyze`: in words, as JSON and as an exit code; the page shows what it prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

from libs.client.tests.conftest import Cli

ROOT = Path(__file__).parents[4]
OFFICE = "examples/agents/office.yaml"
CONTRADICTORY = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: stuck, version: 1.0.0}
tools: [{name: test}, {name: deploy}]
policies:
  - {kind: only-after, name: tested, tools: [deploy], after: {tools: [test]}, within_s: 60}
  - {kind: never-after, name: frozen, tools: [deploy], after: {tools: [test]}}
"""


async def test_the_page_shows_what_the_command_prints(cli: Cli) -> None:
    page = (ROOT / "docs/sequence-analysis.md").read_text("utf-8")
    (shown,) = re.findall(
        r"^\$ lictor agent analyze \S+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE
    )
    told = await cli("agent", "analyze", ROOT / OFFICE, "--strict")
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.startswith(shown)
    assert told.stdout.splitlines()[-1] == "office: 3 findings"


async def test_rules_that_contradict_each_other_are_shown_by_sessions(
    cli: Cli, tmp_path: Path
) -> None:
    stuck = tmp_path / "stuck.yaml"
    stuck.write_text(CONTRADICTORY)
    told = await cli("agent", "analyze", stuck)
    assert told.returncode == 0
    assert "warning: stuck: deploy: can't be called in any session" in told.stdout
    assert "    2. deploy {}: denied by frozen\n" in told.stdout
    strict = await cli("agent", "analyze", stuck, "--strict", "--json")
    assert strict.returncode == 1
    findings = json.loads(strict.stdout)["findings"]
    (never,) = [each for each in findings if each["check"] == "never-allowed"]
    assert [each["denied_by"] for each in never["examples"]] == [["tested"], ["frozen"]]


async def test_the_rules_are_shown_in_plain_words(cli: Cli, tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.yaml"
    stuck.write_text(CONTRADICTORY)
    told = (await cli("agent", "show", stuck)).stdout
    assert "tested (only-after)  deploy only within 60 s after a call of test succeeded" in told
    assert "frozen (never-after)  never deploy after a call of test" in told
    office = (await cli("agent", "show", ROOT / OFFICE)).stdout
    assert "secret: given by read_file where a file it names matches secrets/.*" in office
