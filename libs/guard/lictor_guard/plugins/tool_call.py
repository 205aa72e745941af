"""A tool call as policies, providers and checkers see it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lictor_schema.sessions.session_questions import CallOutcome, Resource
from lictor_schema.sessions.tool_policy import ToolSpec


@dataclass(frozen=True)
class Call:
    """A call that is asked about, or that has ended."""

    call_id: str
    tool: str
    params: Mapping[str, Any]
    resources: tuple[Resource, ...]
    agent_id: str
    spec: ToolSpec | None
    """What the definition says of the tool; None for one that it does not list."""

    @cached_property
    def signature(self) -> str:
        """Equal for equal calls: a hash of tool and parameters."""
        text = json.dumps([self.tool, self.params], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class Result:
    """How a call ended."""

    outcome: CallOutcome
    error: str | None = None
    duration_ms: int | None = None

    @property
    def success(self) -> bool:
        """Whether the tool did what it was called for."""
        return self.outcome == "ok"

    @property
    def ran(self) -> bool:
        """Whether the tool was reached at all, and so may have changed something."""
        return self.outcome not in ("denied", "invalid")


@dataclass(frozen=True)
class StandingLabel:
    """A label that the session has, and why."""

    label: str
    call_id: str
    tool: str
    at_us: int
    underway: bool
    """Whether the call has not ended yet, as far as anybody knows."""
