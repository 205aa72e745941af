"""`lictor session`: what an operator sees of a guarded session, and can do about it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

import lictor
from libs.client.tests.conftest import Cli
from lictor_local.embedded_servers import Endpoints

DEFINITION = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: releaser, version: 1.0.0}
tools: [{name: test}, {name: deploy}]
policies:
  - {kind: sequential-dependency, name: order, requires: {deploy: [test]}}
feedback:
  - {kind: static, name: remind, text: mind the gap, trigger: {every_n_calls: 1}}
completion:
  checker: {kind: files, files: [notes.md]}
"""


@pytest.fixture
async def session(
    clean_infra: Endpoints, broker: Client, governor: lictor.Governor, tmp_path: Path
) -> AsyncIterator[dict[str, str]]:
    """A session that has been through something; what the command needs to find it."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/releaser.yaml").write_text(DEFINITION)
    agents = str(tmp_path / "agents")
    async with service_process("lictor_feedback", clean_infra, LICTOR_AGENTS=agents):
        await wait_until_ready(broker, "feedback")
        async with governor.guard("s\x1b[1m", definition="releaser", workspace=tmp_path) as guard:
            with pytest.raises(lictor.ToolDenied):
                await guard.call("deploy", {}, lambda: None)
            await guard.call("test", {}, lambda: None)
            await guard.call("deploy", {}, lambda: None)
            await guard.used(input_tokens=7, output_tokens=3, cost_usd="0.25")
            await guard.may_stop("done")
        yield {"LICTOR_NATS_URL": clean_infra.nats_url}


async def test_an_operator_sees_how_a_session_stands_and_what_happened(
    session: dict[str, str], cli: Cli
) -> None:
    where = ("s\x1b[1m", "--runtime", "test")
    shown = await cli("session", "show", *where, **session)
    assert shown.returncode == 0, shown.stderr
    assert "1 denied, 2 ok" in shown.stdout
    assert "7 tokens in, 3 out, 0.25 USD" in shown.stdout
    assert "may not stop (blocked 1): incomplete" in shown.stdout
    assert "\x1b" not in shown.stdout
    told = json.loads((await cli("session", "show", *where, "--json", **session)).stdout)
    assert told["calls"] == {"denied": 1, "ok": 2}
    assert told["session"]["definition"] == "releaser"
    log = await cli("session", "log", *where, **session)
    story = log.stdout.splitlines()
    assert "began by releaser 1.0.0" in story[0]
    assert any("may not call deploy" in line and "[order]" in line for line in story)
    assert any("hears remind: mind the gap" in line for line in story)
    last = await cli("session", "log", *where, "--last", "1", "--json", **session)
    assert json.loads(last.stdout)["kind"] == "stop_judged"


async def test_an_operator_keeps_restores_and_resets_the_state(
    session: dict[str, str], cli: Cli, tmp_path: Path, governor: lictor.Governor
) -> None:
    where = ("s\x1b[1m", "--runtime", "test")
    file = tmp_path / "state.json"
    kept = await cli("session", "snapshot", *where, "--name", "good", "-o", str(file), **session)
    assert kept.returncode == 0, kept.stderr
    reset = await cli("session", "reset", *where, "--cause", "a new start", **session)
    assert reset.returncode == 0, reset.stderr
    guard = governor.guard("s\x1b[1m", definition="releaser")
    assert not (await guard.check("deploy", {})).allowed
    back = await cli("session", "restore", *where, "--name", "good", "--cause", "back", **session)
    assert back.returncode == 0, back.stderr
    assert (await guard.check("deploy", {})).allowed
    again = await cli(
        *("session", "restore", *where, "--document", str(file), "--cause", "by file"), **session
    )
    assert again.returncode == 0, again.stderr
    taken = await cli("session", "snapshot", *where, "--name", "good", **session)
    assert taken.returncode == 1
    log = (await cli("session", "log", *where, **session)).stdout
    assert "kept its state as good" in log
    assert "was set back to good: back" in log
    assert "was reset: a new start" in log


async def test_an_operator_halts_and_resumes_and_sees_what_is_halted(
    session: dict[str, str], cli: Cli, tmp_path: Path, governor: lictor.Governor
) -> None:
    where = ("s\x1b[1m", "--why", "it deploys at night", "--by", "ada")
    halted = await cli("session", "halt", *where, **session)
    assert halted.returncode == 0, halted.stderr
    assert "every further call is denied" in halted.stdout
    assert "by ada" in (await cli("session", "list", **session)).stdout
    shown = await cli("session", "show", where[0], **session)
    assert "halted      by ada (session) at " in shown.stdout
    log = await cli("session", "log", where[0], **session)
    assert "was halted by ada: it deploys at night" in log.stdout
    async with governor.guard("s\x1b[1m", definition="releaser", workspace=tmp_path) as guard:
        with pytest.raises(lictor.ToolDenied, match="ada halted this session"):
            await guard.call("test", {}, lambda: None)

    resumed = await cli("session", "resume", *where, **session)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads((await cli("session", "list", "--json", **session)).stdout)["halted"] == []
    for wrong, words in (
        (("--why", "x"), "name one of"),
        (("--all", "--agent", "releaser", "--why", "x"), "name one of"),
        (("--agent", "relaeser", "--why", "x"), "no agent definition is called"),
    ):
        refused = await cli("session", "halt", *wrong, **session)
        assert (refused.returncode, words in refused.stderr) == (1, True), refused.stderr
    again = await cli("session", "resume", *where, **session)
    assert "no order halts session" in again.stderr


async def test_a_session_that_is_not_there_is_told_so(session: dict[str, str], cli: Cli) -> None:
    for verb in (("show",), ("log",), ("reset", "--cause", "x")):
        unknown = await cli("session", *verb, "nobody", **session)
        assert unknown.returncode == 1
        assert "there is no session nobody" in unknown.stderr
    away = await cli("session", "show", "s", LICTOR_NATS_URL="nats://127.0.0.1:1")
    assert away.returncode == 3
