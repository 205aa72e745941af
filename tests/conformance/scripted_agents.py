"""The same scripted agent behind each adapter. A new adapter is one more class in ADAPTERS."""

import asyncio
import json
import os
import sys
import uuid
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from scripted import Called, ScriptedAgent, Setting, Stopped, Work
from scripted_edges import HttpAgent, McpAgent

import lictor
from lictor.runtimes.adapter_capabilities import CLAUDE_CODE

COMMAND = Path(sys.executable).with_name("lictor")


class ClaudeHookAgent(ScriptedAgent):
    """Claude Code with `lictor hook`: a process for every event."""

    runtime = "claude-code"
    capabilities = CLAUDE_CODE

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._continued = False

    async def begin(self) -> None:
        await self._event("SessionStart", source="startup")

    async def prompted(self) -> None:
        self._continued = False
        await self._event("UserPromptSubmit", prompt="go on")

    async def call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        call = {
            "tool_name": tool,
            "tool_input": params,
            "tool_use_id": f"toolu_{uuid.uuid4().hex}",
        }
        answer = (await self._event("PreToolUse", **call)).get("hookSpecificOutput", {})
        if answer.get("permissionDecision") == "deny":
            return Called.refused(answer["permissionDecisionReason"])
        assert not answer, answer
        try:
            said = await asyncio.to_thread(work, **params)
        except RuntimeError as error:
            answer = await self._event("PostToolUseFailure", **call, error=str(error))
            return Called(failed=True, advice=_context(answer))
        answer = await self._event("PostToolUse", **call, tool_response={"stdout": said})
        return Called(advice=_context(answer))

    async def stop(self) -> Stopped:
        answer = await self._event("Stop", stop_hook_active=self._continued)
        blocked = answer.get("decision") == "block"
        self._continued = blocked
        return Stopped(not blocked, answer.get("reason") or answer.get("systemMessage", ""))

    async def hand_over(self, output: Mapping[str, Any]) -> str:
        call = {
            "tool_name": "StructuredOutput",
            "tool_input": output,
            "tool_use_id": f"toolu_{uuid.uuid4().hex}",
        }
        assert not (await self._event("PreToolUse", **call))
        return _context(await self._event("PostToolUse", **call, tool_response="handed over"))

    async def _event(self, name: str, **fields: Any) -> dict[str, Any]:
        event = {
            "session_id": self.setting.session_id,
            "transcript_path": "/dev/null",
            "cwd": str(self.setting.workspace),
            "permission_mode": "default",
            "hook_event_name": name,
            **fields,
        }
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            "hook",
            "--definition",
            self.setting.definition,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.setting.workspace,
            env={
                **{key: value for key, value in os.environ.items() if key[:7] != "LICTOR_"},
                "LICTOR_NATS_URL": self.setting.nats_url,
                "LICTOR_STOP_ON_SILENCE": self.setting.stop_on_silence or "",
            },
        )
        told, failed = await process.communicate(json.dumps(event).encode())
        assert process.returncode == 0, failed.decode()
        return json.loads(told)


def _context(answer: Mapping[str, Any]) -> str:
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


class AsyncAgent(ScriptedAgent):
    """An agent in Python, with asyncio."""

    runtime = "python"
    capabilities = lictor.Guard.capabilities

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._open = AsyncExitStack()
        self._guard: lictor.Guard | None = None

    async def begin(self) -> None:
        guard = await self._get()
        await self._open.enter_async_context(guard)

    async def prompted(self) -> None:
        await (await self._get()).prompted()

    async def call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        guard = await self._get()
        failed = False
        try:
            await guard.call(tool, params, work)
        except lictor.ToolDenied as denied:
            return Called(denied=str(denied), advice=guard.take_advice())
        except RuntimeError:
            failed = True
        return Called(failed=failed, advice=guard.take_advice())

    async def stop(self) -> Stopped:
        verdict = await (await self._get()).may_stop()
        return Stopped(verdict.allowed, verdict.text)

    async def hand_over(self, output: Mapping[str, Any]) -> str:
        guard = await self._get()
        await guard.check_output(output)
        return guard.take_advice()

    async def close(self) -> None:
        await self._open.aclose()

    async def _get(self) -> lictor.Guard:
        if self._guard is None:
            connected = lictor.connect(self.setting.nats_url, runtime=self.runtime)
            governor = await self._open.enter_async_context(connected)
            self._guard = governor.guard(
                self.setting.session_id,
                definition=self.setting.definition,
                workspace=self.setting.workspace,
                cwd=self.setting.workspace,
                stop_on_silence=self.setting.stop_on_silence,
            )
        return self._guard


class BlockingAgent(ScriptedAgent):
    """An agent in Python, without asyncio."""

    runtime = "python-sync"
    capabilities = lictor.SyncGuard.capabilities

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.guard = lictor.guard_sync(
            setting.session_id,
            definition=setting.definition,
            workspace=setting.workspace,
            cwd=setting.workspace,
            stop_on_silence=setting.stop_on_silence,
            url=setting.nats_url,
            runtime=self.runtime,
        )

    async def begin(self) -> None:
        await asyncio.to_thread(self.guard.__enter__)

    async def prompted(self) -> None:
        await asyncio.to_thread(self.guard.prompted)

    async def call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        return await asyncio.to_thread(self._call, tool, params, work)

    async def stop(self) -> Stopped:
        verdict = await asyncio.to_thread(self.guard.may_stop)
        return Stopped(verdict.allowed, verdict.text)

    async def hand_over(self, output: Mapping[str, Any]) -> str:
        await asyncio.to_thread(self.guard.check_output, output)
        return self.guard.take_advice()

    async def close(self) -> None:
        await asyncio.to_thread(self.guard.__exit__)

    def _call(self, tool: str, params: Mapping[str, Any], work: Work) -> Called:
        failed = False
        try:
            self.make(tool, params, work)
        except lictor.ToolDenied as denied:
            return Called(denied=str(denied), advice=self.guard.take_advice())
        except RuntimeError:
            failed = True
        return Called(failed=failed, advice=self.guard.take_advice())

    def make(self, tool: str, params: Mapping[str, Any], work: Work) -> None:
        """Make the call, or raise."""
        self.guard.call(tool, params, work)


class LangChainAgent(BlockingAgent):
    """An agent whose framework tells callbacks of its tools, as LangChain's callback manager does."""

    runtime = "langchain"
    capabilities = lictor.GuardCallbackHandler.capabilities

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.handler = lictor.GuardCallbackHandler(self.guard)

    async def stop(self) -> Stopped:
        def end() -> Stopped:
            try:
                self.handler.on_chain_end("done", run_id=uuid.uuid4(), parent_run_id=None)
            except lictor.StopBlocked as blocked:
                return Stopped(False, str(blocked))
            return Stopped(True, "")

        return await asyncio.to_thread(end)

    def make(self, tool: str, params: Mapping[str, Any], work: Work) -> None:
        """Make the call, or raise."""
        run: dict[str, Any] = {"run_id": uuid.uuid4(), "parent_run_id": uuid.uuid4()}
        self.handler.on_tool_start({"name": tool}, str(params), inputs=params, tags=[], **run)
        try:
            output = work(**params)
        except Exception as error:
            self.handler.on_tool_error(error, **run)
            raise
        self.handler.on_tool_end(output, **run)


ADAPTERS: tuple[type[ScriptedAgent], ...] = (
    ClaudeHookAgent,
    AsyncAgent,
    BlockingAgent,
    LangChainAgent,
    HttpAgent,
    McpAgent,
)
