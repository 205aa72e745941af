"""The files of a call that people are asked about: what of them an approval is bound to."""

from lictor_guard.plugins.tool_call import Call
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.sessions.session_questions import Resource


def are_as_shown(call: Call, request: CallApprovalRequest) -> bool:
    """Whether the files of a call with other parameters are as they were when people looked at the request.

    Other parameters may name files that the request does not: whoever wanted them named these without seeing them.
    """
    shown = request.resources
    still_named = (
        each for each in shown if call.params.get(each.param) == request.params.get(each.param)
    )
    return all(each in call.resources for each in still_named) and all(
        (now.key, now.state, now.digest) == (each.key, each.state, each.digest)
        for now in call.resources
        for each in shown
        if _is_same(now, each)
    )


def _is_same(one: Resource, other: Resource) -> bool:
    by_key = one.key is not None and one.key == other.key
    return by_key or (one.param, one.given) == (other.param, other.given)
