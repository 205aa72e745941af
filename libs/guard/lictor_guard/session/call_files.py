"""The files of a call that people are asked about: what of them an approval is bound to, and what it can't be."""

from collections.abc import Iterator

from lictor_guard.plugins.tool_call import Call
from lictor_guard.text.wording import joined, quoted
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


def without_digest(call: Call) -> Resource | None:
    """A file of which nobody knows what is in it: one that was approved could be another when the call is made."""
    return next((e for e in call.resources if e.state == "file" and e.digest is None), None)


def not_bound(call: Call) -> str:
    """What an approval of a call says nothing about, for those who decide; empty where it is about every file."""
    return joined(list(_not_bound(call)))


def _not_bound(call: Call) -> Iterator[str]:
    for each in call.resources:
        if each.state == "directory":
            yield f"{quoted(each.given)} is a folder: an approval is not bound to what is in it"
        elif each.state == "other":
            yield f"{quoted(each.given)} is no regular file: an approval is not bound to what is in it"
        elif each.state == "unknown":
            yield f"nobody could look at {quoted(each.given)}: an approval is not bound to what is there"
    seen = {each.param for each in call.resources}
    for param in call.spec.resources if call.spec is not None else ():
        if param not in seen and call.params.get(param) is not None:
            yield (
                f"nobody looked at the files that parameter {quoted(param)} names: an approval is not bound to"
                " what is in them"
            )


def _is_same(one: Resource, other: Resource) -> bool:
    by_key = one.key is not None and one.key == other.key
    return by_key or (one.param, one.given) == (other.param, other.given)
