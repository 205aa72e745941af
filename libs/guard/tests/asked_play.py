"""A session whose calls wait for people, with the people, for tests."""

import itertools
from collections.abc import Mapping
from typing import Any

from rehearsed_session import Rehearsal, guarded

from lictor_guard.plugins.tool_policy import ToolPolicy
from lictor_guard.session.asking import ReadApproval
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.session_log import CallAsked
from lictor_schema.sessions.session_questions import Resource, ToolGateAnswer

MONEY: dict[str, Any] = {"kind": "require-approval", "name": "money", "tools": ["pay"]}
LARGE = {"amount": 500}


class AskedPlay(Rehearsal):
    """A rehearsed session, and what people say by request."""

    def __init__(
        self,
        *specs: Mapping[str, Any],
        policies: tuple[ToolPolicy, ...] = (),
        session_id: str = "s1",
        **sections: Any,
    ) -> None:
        self.said: dict[str, ReadApproval] = {}
        self._ids = itertools.count(1)
        tools = [{"name": "pay"}, {"name": "look"}, {"name": "send"}]
        own = [{"name": "write", "access": "write", "resources": ["path"]}]
        defined = {"tools": [*tools, *own], "policy_specs": list(specs or (MONEY,)), **sections}
        super().__init__(guarded(policies=policies, **defined), session_id=session_id)

    def pay(self, call_id: str | None = None, **fields: Any) -> ToolGateAnswer:
        """Ask whether a large payment may be made."""
        return self.check("pay", call_id, **{"params": LARGE, **fields})

    def check(self, tool: str, call_id: str | None = None, **fields: Any) -> ToolGateAnswer:
        own_id = call_id or f"call {next(self._ids)}"
        return super().check(tool, own_id, **{"people": self._heard, **fields})

    def _heard(self, request_id: str) -> ReadApproval:
        return self.said.get(request_id, ReadApproval(standing="waiting"))

    @property
    def requests(self) -> list[CallApprovalRequest]:
        """Everything that people were asked, in order."""
        return [entry.request for _, entry in self.log if isinstance(entry, CallAsked)]

    def approve(
        self, about: CallApprovalRequest | None = None, *, seconds: float = 600, **fields: Any
    ) -> None:
        """Somebody approves the newest request, or this one."""
        found = about or self.requests[-1]
        until = utc_millis(from_micros(self.now_us + int(seconds * 1_000_000)))
        given: dict[str, Any] = {
            "standing": "approved" if fields.get("params") is None else "edited",
            "request": found,
            "signed": ("a signed decision",),
            "decided_by": ("alice",),
            "until": until,
            **fields,
        }
        self.said[found.request_id] = ReadApproval(**given)

    def reject(self, about: CallApprovalRequest | None = None, **fields: Any) -> None:
        """Somebody rejects the newest request, or this one."""
        found = about or self.requests[-1]
        given: dict[str, Any] = {
            "standing": "rejected",
            "request": found,
            "guidance": "not today",
            "decided_by": ("alice",),
            **fields,
        }
        self.said[found.request_id] = ReadApproval(**given)


def file(content: str, path: str = "a.txt") -> Resource:
    """A file that a call names, with that content."""
    digest = "sha256:" + content.encode().hex().rjust(64, "0")
    return Resource(param="path", given=path, key=path, state="file", digest=digest)
