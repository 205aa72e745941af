"""Policies that ask people whom the approvers' file does not name, or more of them than it does."""

from collections.abc import Iterator
from pathlib import Path

from lictor.errors import LictorError
from lictor_approval.errors import ApprovalError
from lictor_approval.signed_decisions import Approvers
from lictor_guard.definitions.lint import policy_places
from lictor_guard.errors import Problem
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.tool_policy import RequireApprovalSpec


def read_approvers(path: Path) -> Approvers:
    """The approvers of a file; LictorError when it can't be read."""
    try:
        return Approvers.load(path, None)
    except ApprovalError as error:
        raise LictorError(str(error)) from None


def approver_doubts(definition: AgentDefinition, approvers: Approvers) -> Iterator[Problem]:
    """Every policy that could never be satisfied, or in part, by whoever is in the file now."""
    for place, spec, _ in policy_places(definition):
        if not isinstance(spec, RequireApprovalSpec):
            continue
        for index, name in enumerate(spec.approvers):
            if not approvers.people_named([name]):
                yield Problem(
                    (*place, "approvers", index),
                    f"the approvers' file has nobody and no group with members called {name};"
                    " add the key or the group, or correct the name",
                )
        found = len(approvers.people_named(spec.approvers))
        if found < spec.needed:
            yield Problem(
                (*place, "needed"),
                f"{spec.needed} must approve, and the approvers' file has {found} who may:"
                " no call is ever approved",
            )
