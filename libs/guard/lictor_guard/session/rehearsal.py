"""A session played in memory, by the judge and the fold that a service uses: to confirm what somebody foretells."""

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.facts.fact import Facts
from lictor_guard.log.replay import Replay
from lictor_guard.session.asking import WAITING, Unsettled
from lictor_guard.session.judge import SessionJudge
from lictor_schema.sessions.session_log import AnySessionEntry
from lictor_schema.sessions.session_questions import (
    Resource,
    SessionBeginRequest,
    ToolGateRequest,
    ToolResultReport,
)

_BEGAN = datetime(2030, 1, 2, 12, tzinfo=UTC)
_AT = {"runtime": "rehearsal", "agent_id": "agent", "task_id": "task", "session_id": "session"}


@dataclass(frozen=True)
class RehearsedCall:
    """A call of a session that is foretold."""

    tool: str
    params: Mapping[str, Any]


def denied_by(guarded: Guarded, calls: Sequence[RehearsedCall]) -> list[tuple[str, ...]]:
    """By which policies each call is denied; one that is allowed succeeds at once, one that people would decide on
    is not made.

    A parameter that names a file names one that is not there, under the key that it spells.
    """
    numbers = itertools.count(1)
    judge = SessionJudge(guarded, lambda: str(uuid.UUID(int=next(numbers))))
    replay = Replay(judge.folder)
    now_us = int(_BEGAN.timestamp()) * 1_000_000

    def loaded(names: frozenset[str]) -> Facts:
        return Facts({name: replay.facts.get(name) for name in names})

    def add(entry: AnySessionEntry | None) -> None:
        if entry is not None:
            replay.add(next(numbers), entry)

    def asked() -> dict[str, Any]:
        return {**_AT, "request_id": f"q{next(numbers)}", "requested_at": _BEGAN}

    add(judge.begin(SessionBeginRequest(**asked()), loaded(judge.names_for_begin()), now_us)[0])
    found: list[tuple[str, ...]] = []
    for number, call in enumerate(calls, 1):
        told: dict[str, Any] = {
            "call_id": f"call-{number}",
            "tool": call.tool,
            "params": dict(call.params),
            "resources": _resources(guarded, call),
        }
        request = ToolGateRequest(**asked(), **told)
        entry, answer = judge.check(request, loaded(judge.names_for_check(request)), now_us)
        add(entry)
        if isinstance(answer, Unsettled):
            # People would have to decide, and nobody does here.
            found.append((WAITING,))
            continue
        against = tuple(each.policy_id for each in answer.denials)
        allowed = answer.decision == "allow"
        # What is not allowed is denied here, whatever else the answer is.
        found.append(() if allowed else against or (answer.policy_id,))
        if allowed:
            report = ToolResultReport(**asked(), **told, outcome="ok", duration_ms=0)
            add(judge.result(report, loaded(judge.names_for_result(report)), now_us)[0])
    return found


def _resources(guarded: Guarded, call: RehearsedCall) -> tuple[Resource, ...]:
    spec = guarded.tool(call.tool)
    return tuple(
        Resource(
            param=param, given=str(call.params[param]), key=str(call.params[param]), state="missing"
        )
        for param in (() if spec is None else spec.resources)
        if call.params.get(param)
    )
