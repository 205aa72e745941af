"""The guard as a callback handler in the manner of LangChain, which is not imported and need not be installed.

LangChain calls a handler before a tool runs and lets what it raises through, because of `raise_error`; that is what
makes this a gate. It has to be a plain handler: what a coroutine handler raises is logged and swallowed whenever the
tool runs synchronously, and the call would go ahead. Asynchronous runs call a plain handler in a thread.
"""

import logging
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any
from uuid import UUID

from lictor.errors import StopBlocked, ToolDenied
from lictor.fast.answer_reader import deny
from lictor.fast.verdicts import MALFORMED_QUESTION, beyond_agent
from lictor.runtimes.adapter_capabilities import LANGCHAIN
from lictor.runtimes.python.blocking_guard import SyncGuard
from lictor.runtimes.python.function_tools import (
    as_judged,
    changed,
    finished,
    not_allowed,
    plain,
)
from lictor.runtimes.wait_time import Wait, patience

log = logging.getLogger("lictor.client")


class GuardCallbackHandler:
    """Guards every tool of the runs it is given to: `agent.invoke(work, config={"callbacks": [handler]})`.

    A denied tool does not run, and ToolDenied comes out of the call. The end of the outermost run is a stop: when
    it is blocked, StopBlocked comes out, whose text is the next prompt. Advice is in `guard.take_advice()`.
    """

    capabilities = LANGCHAIN
    raise_error = True
    run_inline = False
    ignore_agent = False
    ignore_chain = False
    ignore_chat_model = True
    ignore_custom_event = True
    ignore_llm = True
    ignore_retriever = True
    ignore_retry = True

    def __init__(
        self,
        guard: SyncGuard,
        *,
        text_params: Mapping[str, str] | None = None,
        wait: Wait = None,
    ) -> None:
        """`text_params`: by tool that is called with a bare text, the parameter which that text is.

        `wait`: how long a tool waits for a person who decides about it; then ToolAsked comes out of its call.
        """
        patience(wait)
        self.guard = guard
        self._wait = wait
        self._text_params = dict(text_params or {})
        self._running: dict[UUID, tuple[str, Mapping[str, Any]]] = {}
        self._lock = Lock()

    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        inputs: Mapping[str, Any] | None = None,
        **_more: Any,
    ) -> None:
        """A tool is about to run; ToolDenied when it may not."""
        tool = str((serialized or {}).get("name") or "")
        if inputs is None:
            inputs = self._from_text(tool, input_str, run_id)
        judged = plain(inputs)
        verdict = self.guard.check(tool, judged, call_id=str(run_id), wait=self._wait)
        if not verdict.allowed:
            raise not_allowed(tool, verdict)
        with self._lock:
            self._running[run_id] = (tool, judged)
        if not _still(judged, inputs):
            refused = not_allowed(tool, changed(tool))
            self._ended(run_id, "denied", refused)
            raise refused

    def on_tool_end(self, output: Any, *, run_id: UUID, **_more: Any) -> None:
        """A tool has returned; a message that says so itself is a failure, and TypeError what is only begun."""
        try:
            finished("a tool", output)
        except TypeError as error:
            self._ended(run_id, "crashed", error)
            raise
        failed = getattr(output, "status", None) == "error"
        said = getattr(output, "content", output)
        self._ended(run_id, "failed" if failed else "ok", None, said)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        """A tool has raised."""
        outcome = "crashed" if isinstance(error, Exception) else "interrupted"
        self._ended(run_id, outcome, error)

    def on_chain_end(
        self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **_more: Any
    ) -> None:
        """A run has ended: the outermost one is the agent that wants to stop; StopBlocked when it may not."""
        del run_id
        if parent_run_id is not None:
            return
        final = outputs if isinstance(outputs, str) else None
        verdict = self.guard.may_stop("the run has ended", final_message=final)
        if not verdict.allowed:
            raise StopBlocked(verdict)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Everything else that LangChain tells its handlers is passed over."""
        if name.startswith("on_"):
            return _pass_over
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _from_text(self, tool: str, text: str, run_id: UUID) -> Mapping[str, Any]:
        param = self._text_params.get(tool)
        if param is None:
            verdict = deny(
                MALFORMED_QUESTION,
                f"{tool or 'a tool without a name'} was called with a bare text, so nobody can tell"
                " which parameter that is",
                "call it with named arguments; if that can't be done, "
                + beyond_agent("name the parameter in `text_params`"),
            )
            raise ToolDenied(tool, self.guard.refuse(tool, verdict, call_id=str(run_id)))
        return {param: text}

    def _ended(
        self, run_id: UUID, outcome: str, error: BaseException | None, output: object = None
    ) -> None:
        with self._lock:
            begun = self._running.pop(run_id, None)
        if begun is None:
            log.warning(
                "run %s ended, which this handler did not see begin; it is not reported", run_id
            )
            return
        tool, params = begun
        self.guard.result(
            tool, params, call_id=str(run_id), outcome=outcome, error=error, output=output
        )


def _still(judged: object, inputs: object) -> bool:
    try:
        return as_judged(judged, plain(inputs))
    except Exception:
        log.exception("the arguments of a tool can't be read any more")
        return False


def _pass_over(*_args: Any, **_kwargs: Any) -> None:
    return
