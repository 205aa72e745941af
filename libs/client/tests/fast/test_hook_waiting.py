"""`lictor hook` and calls that a person decides about: it waits a little, and then denies with what to do."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from libs.client.tests.conftest import COMMAND, REQUEST, StandIn
from lictor.fast.hook import ASK_S, MAX_TIMEOUT_S, TIMEOUT_S, _ask_s  # pyright: ignore[reportPrivateUsage]
from lictor.runtimes.claude_settings import TIMEOUT_S as CLAUDE_CODE_WAITS_S
from lictor.runtimes.claude_settings import installed

CALL = {
    "hook_event_name": "PreToolUse",
    "session_id": "s-1",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}


class Hook:
    """The command, in the name of the runtime that the stand-in answers."""

    def __init__(self, broker: Client, environment: dict[str, str], folder: Path) -> None:
        assert broker.connected_url is not None
        self.stderr = ""
        """Of the last call."""
        self._folder = folder
        self._environment = {
            **environment,
            "LICTOR_NATS_URL": broker.connected_url.geturl(),
            "LICTOR_RUNTIME": "test",
            "XDG_STATE_HOME": str(folder),
        }

    async def answer(self, *arguments: str, **more: str) -> dict[str, Any]:
        """What it answers to the call."""
        done = await asyncio.to_thread(
            subprocess.run,
            [COMMAND, "hook", *arguments],
            input=json.dumps(CALL).encode(),
            capture_output=True,
            cwd=self._folder,
            env={**self._environment, **more},
            timeout=60,
            check=False,
        )
        self.stderr = done.stderr.decode()
        assert done.returncode == 0
        return json.loads(done.stdout).get("hookSpecificOutput", {})


@pytest.fixture
def hook(broker: Client, standin: StandIn, environment: dict[str, str], tmp_path: Path) -> Hook:
    standin.asks = {"Bash": "waiting"}
    return Hook(broker, environment, tmp_path)


async def test_a_call_that_nobody_decides_about_is_denied_in_time_with_its_request(
    hook: Hook, standin: StandIn
) -> None:
    begun = time.monotonic()
    told = await hook.answer(LICTOR_HOOK_ASK_S="0.5")
    assert told["permissionDecision"] == "deny"
    assert REQUEST in told["permissionDecisionReason"]
    assert "call it again when it is approved" in told["permissionDecisionReason"]
    assert time.monotonic() - begun < 20
    assert len(standin.told("tool")) > 1
    # It has not ended, so there is nothing to hear about it.
    assert standin.told("collect") == []


async def test_it_may_be_told_not_to_wait(hook: Hook, standin: StandIn) -> None:
    assert (await hook.answer(LICTOR_HOOK_ASK_S="0"))["permissionDecision"] == "deny"
    assert len(standin.told("tool")) == 1


async def test_a_call_that_is_approved_meanwhile_goes_on(hook: Hook, standin: StandIn) -> None:
    answering = asyncio.ensure_future(hook.answer(LICTOR_HOOK_ASK_S="15"))
    async with asyncio.timeout(20):
        while not standin.told("tool"):
            await asyncio.sleep(0.01)
    standin.asks = {"Bash": "approved"}
    assert await answering == {}


@pytest.mark.parametrize("standing", ["waiting", "approved"])
async def test_what_waits_is_loaded_for_calls_that_wait_only(
    hook: Hook, standin: StandIn, standing: str
) -> None:
    """It runs before every call, and hardly any is asked about."""
    standin.asks = {"Bash": standing}
    await hook.answer(LICTOR_HOOK_ASK_S="0.1", PYTHONPROFILEIMPORTTIME="1")
    assert "lictor.fast.nats_wire" in hook.stderr
    for module in ("lictor.fast.call_wait", "lictor.fast.hints"):
        assert (module in hook.stderr) == (standing == "waiting")


async def test_the_same_call_is_allowed_later(hook: Hook, standin: StandIn) -> None:
    await hook.answer(LICTOR_HOOK_ASK_S="0")
    standin.asks = {"Bash": "approved"}
    assert await hook.answer() == {}


async def test_the_wait_is_beside_the_time_for_all_else(hook: Hook) -> None:
    begun = time.monotonic()
    told = await hook.answer(LICTOR_HOOK_TIMEOUT_S="2", LICTOR_HOOK_ASK_S="3")
    assert REQUEST in told["permissionDecisionReason"]
    assert time.monotonic() - begun >= 3


async def test_silence_while_it_waits_is_a_denial(hook: Hook, standin: StandIn) -> None:
    answering = asyncio.ensure_future(hook.answer(LICTOR_HOOK_ASK_S="2"))
    async with asyncio.timeout(20):
        while not standin.told("tool"):
            await asyncio.sleep(0.01)
    standin.silent = {"tool"}
    assert (await answering)["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("environment", "option", "seconds"),
    [
        ({}, None, ASK_S),
        ({}, "300", 300),
        ({"LICTOR_HOOK_ASK_S": "10"}, None, 10),
        ({"LICTOR_HOOK_ASK_S": "10"}, "300", 10),
        ({"LICTOR_HOOK_ASK_S": "1e9"}, None, MAX_TIMEOUT_S - TIMEOUT_S),
        ({"LICTOR_HOOK_ASK_S": "1e9"}, "300", MAX_TIMEOUT_S - TIMEOUT_S + 300),
        ({"LICTOR_HOOK_ASK_S": "nan"}, None, ASK_S),
        ({"LICTOR_HOOK_ASK_S": "-1"}, None, ASK_S),
        ({}, "soon", ASK_S),
        ({}, "-300", ASK_S),
    ],
)
def test_the_environment_never_makes_it_wait_longer_than_claude_code_does(
    environment: dict[str, str], option: str | None, seconds: float
) -> None:
    options = {} if option is None else {"--ask-s": option}
    assert _ask_s(environment, options, TIMEOUT_S) == seconds


def test_claude_code_is_told_to_wait_so_much_longer_and_for_calls_only() -> None:
    settings = installed({}, "lictor hook", ask_s=300)
    hooks = {name: groups[0]["hooks"][0] for name, groups in settings["hooks"].items()}
    assert hooks["PreToolUse"]["timeout"] == CLAUDE_CODE_WAITS_S + 300
    assert "--ask-s 300 --event PreToolUse || exit 2" in hooks["PreToolUse"]["command"]
    del hooks["PreToolUse"]
    assert {each["timeout"] for each in hooks.values()} == {CLAUDE_CODE_WAITS_S}
    assert not any("--ask-s" in each["command"] for each in hooks.values())
