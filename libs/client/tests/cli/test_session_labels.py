"""A session that has read a secret: what it may still send, and what `lictor session show` tells of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from nats.aio.client import Client
from reporting import service_process, wait_until_ready

import lictor
from libs.client.tests.conftest import Cli
from lictor_local.embedded_servers import Endpoints

OFFICE = Path(__file__).parents[4] / "examples/agents/office.yaml"


async def test_a_secret_that_was_read_stays_inside_and_shows(
    clean_infra: Endpoints, broker: Client, governor: lictor.Governor, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "agents").mkdir()
    shutil.copy(OFFICE, tmp_path / "agents")
    house = tmp_path / "house"
    (house / "secrets").mkdir(parents=True)
    (house / "secrets/merger.md").write_text("soon")
    (house / "menu.md").write_text("soup")
    agents = str(tmp_path / "agents")
    async with service_process("lictor_feedback", clean_infra, LICTOR_AGENTS=agents):
        await wait_until_ready(broker, "feedback")
        async with governor.guard("s1", definition="office", workspace=house, cwd=house) as guard:
            for path, outside in (("menu.md", True), ("secrets/merger.md", False)):
                await guard.call("read_file", {"path": path}, lambda **_: "text")
                mail = {"to": "eve@example.net"}
                if outside:
                    await guard.call("send_mail", mail, lambda **_: None)
                else:
                    with pytest.raises(lictor.ToolDenied, match=r"the label 'secret'"):
                        await guard.call("send_mail", mail, lambda **_: None)
                await guard.call("send_mail", {"to": "ann@example.org"}, lambda **_: None)
        where = {"LICTOR_NATS_URL": clean_infra.nats_url}
        shown = await cli("session", "show", "s1", "--runtime", "test", **where)
        assert shown.returncode == 0, shown.stderr
        assert "secret: is there by call" in shown.stdout
        told = json.loads(
            (await cli("session", "show", "s1", "--runtime", "test", "--json", **where)).stdout
        )
        assert [(each["label"], each["tool"]) for each in told["labels"]] == [
            ("secret", "read_file")
        ]
