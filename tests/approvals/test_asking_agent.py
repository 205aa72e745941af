"""The example of an agent that asks, as a process: it is told no with a reason, and does what it was told."""

import asyncio
import json
import os
import re
import sys
import textwrap
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from asking_installation import RUNTIME, Installation, install

import lictor
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.sessions.session_log import CallAsked, parse_session_entry

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
async def place(own_servers: EmbeddedServers, tmp_path: Path) -> AsyncIterator[Installation]:
    definition = (EXAMPLES / "agents" / "refunder.yaml").read_text()
    found = await install(own_servers, tmp_path, definition)
    try:
        yield found
    finally:
        await found.close()


async def _first_request(place: Installation) -> CallAsked | None:
    async for each in read_all(place.client, streams.SESSIONS, subjects.SESSION_LOG.any):
        entry = parse_session_entry(each.body)
        if isinstance(entry, CallAsked):
            return entry
    return None


@pytest.mark.parametrize(
    ("decision", "reason", "ends"),
    [
        ("reject", "It arrived late: pay the shipping of 12 back.", "paid back 12 for order A-17"),
        ("approve", "She is right.", "paid back 480 for order A-17"),
    ],
)
async def test_the_example_does_what_a_person_says(
    place: Installation, tmp_path: Path, decision: str, reason: str, ends: str
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
    agent = await asyncio.create_subprocess_exec(
        sys.executable,
        EXAMPLES / "asking_agent.py",
        stdout=PIPE,
        stderr=PIPE,
        env={
            **kept,
            "LICTOR_NATS_URL": place.nats_url,
            "XDG_STATE_HOME": str(tmp_path),
        },
    )
    asked = await place.once(lambda: _first_request(place))
    assert (asked.runtime, json.dumps(asked.request.params["amount"])) == (RUNTIME, "480")
    await place.decide(asked.request, decision, reason=reason)
    said, failed = await asyncio.wait_for(agent.communicate(), 60)
    lines = said.decode().splitlines()
    assert (agent.returncode, failed) == (0, b"")
    assert f"waiting for a person: lictor approvals show {asked.request.request_id}" in lines
    assert (f"told: {reason}" in lines) == (decision == "reject")
    assert lines[-1] == ends


async def test_the_code_of_the_page_does_what_it_says(place: Installation) -> None:
    page = (EXAMPLES.parent / "docs/how-to/ask-a-person.md").read_text()
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    said: list[str] = []
    names: dict[str, Any] = {"lictor": lictor, "session_id": "s"}
    names |= {"show_link": lambda _: None, "refund": lambda **_: "paid"}
    names |= {"remember": said.append, "tell_the_model": said.append}
    code = shown.replace('wait="10m"', "wait=0.1 if waits is None else waits")
    exec(f"async def page(governor, waits):\n{textwrap.indent(code, '    ')}", names)  # noqa: S102 -- our own page
    async with lictor.connect(place.nats_url) as governor:
        async with governor.guard("s", definition="refunder") as guard:
            await guard.call("look_up", {}, lambda: "480")
        await names["page"](governor, None)
        request = await place.asked("s")
        assert said == [request.request_id]
        await place.decide(request, "reject", reason="not broken")
        await names["page"](governor, "1m")
    assert "not broken" in said[1]
