"""The service of docs/how-to/add-a-service.md, as the page has it: type-checked, and run on real servers."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import nats
import pytest
import redis.asyncio
from reporting import service_process, wait_until_ready

import lictor
from lictor_bus.fold.state_store import StateReader
from lictor_bus.names.subjects import token
from lictor_bus.service.asyncapi import document
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.decisions.decision import DecisionRecord

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-service.md"
NAMED_FILE = re.compile(
    r"^ *`(lictor_notifier/\w+\.py)`\n\n^ *```python\n(.*?)^ *```$", re.DOTALL | re.MULTILINE
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's package in it, from which Python imports."""
    files = NAMED_FILE.findall(PAGE.read_text("utf-8"))
    assert {Path(name).stem for name, _ in files} == {"__init__", "__main__", "notices", "app"}
    for name, code in files:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(code))
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in [it for it in sys.modules if it.split(".")[0] == "lictor_notifier"]:
        monkeypatch.delitem(sys.modules, module)
    return tmp_path


def test_the_page_has_no_code_that_is_not_run() -> None:
    blocks = re.findall(r"^ *```python$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(blocks) == len(NAMED_FILE.findall(PAGE.read_text("utf-8")))


def test_the_service_of_the_page_has_the_types_that_the_batch_loop_wants(site: Path) -> None:
    # Beside the environment that has our packages, not in it.
    (site / "pyrightconfig.json").write_text(json.dumps({"include": ["lictor_notifier"]}))
    checked = subprocess.run(
        ["pyright", "--project", str(site), "--pythonpath", sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=site,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert checked.returncode == 0, checked.stdout


@pytest.mark.usefixtures("site")
def test_the_service_of_the_page_has_an_asyncapi_document() -> None:
    spec = importlib.import_module("lictor_notifier.app").SPEC
    assert json.loads(document(spec))["info"]["title"] == "Lictor notifier"


async def test_the_service_of_the_page_counts_what_is_owed(
    site: Path, clean_infra: Endpoints
) -> None:
    evaluator = service_process("lictor_policy_evaluator", clean_infra)
    notifier = service_process("lictor_notifier", clean_infra, PYTHONPATH=str(site))
    client = await nats.connect(clean_infra.nats_url)
    async with evaluator, notifier, redis.asyncio.from_url(clean_infra.redis_url) as store:
        await wait_until_ready(client, "policy-evaluator")
        await wait_until_ready(client, "notifier")
        async with lictor.connect(clean_infra.nats_url, runtime="docs") as governor:
            task = await governor.start_task("Tidy the release notes")
            await task.decision_on(await task.claim_complete("They are tidy."))
        stored = await read_from(client, "DECISIONS", "lictor.dec.>", 1, 100)
        records = [DecisionRecord.from_json(each.body) for each in stored]
        owes_notice = importlib.import_module("lictor_notifier.notices").owes_notice
        owed = sum(owes_notice(record) for record in records)
        assert owed > 0
        states = StateReader(store, "notifier", "all")
        while (found := await states.peek(token(task.task_id))).cursor < stored[-1].sequence:
            await asyncio.sleep(0.01)
        assert found.state == str(owed).encode()
    await client.close()
