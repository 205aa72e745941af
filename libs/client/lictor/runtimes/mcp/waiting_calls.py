"""A call that waits for a person, told to a host of MCP 2026-07-28 as a result that requires input (SEP-2322).

The host shows its user that somebody else decides, and makes the call again when its user says so. What the user says
decides nothing: the call is judged anew, whatever comes with it. So no state goes through the host, which could alter
it, and what is ours in the second call does not reach the server.
"""

from typing import Any, cast

from lictor.fast.verdicts import ToolApproval, ToolVerdict
from lictor.runtimes.mcp.messages import Message

_REVISIONS = ("2026-07-28",)
_REVISION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_OURS = "lictor.approval."


def input_required(call: Message, verdict: ToolVerdict) -> Message | None:
    """The answer by which the host's user hears of the request; None for a host that does not speak of such things."""
    approval = verdict.approval
    if not verdict.asked or approval is None or not _asks_its_user(call):
        return None
    question: Message = {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": _told(approval, verdict.text),
            "requestedSchema": {"type": "object", "properties": {}},
        },
    }
    result: Message = {
        "resultType": "input_required",
        "inputRequests": {f"{_OURS}{approval.request_id}": question},
    }
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}


def given_up(call: Message) -> ToolVerdict | None:
    """What a call comes to whose user did not want to wait; None for any other. The request stays."""
    for key, response in _responses(call).items():
        action = cast("Message", response).get("action") if isinstance(response, dict) else None
        if key.startswith(_OURS) and action in ("decline", "cancel"):
            text = (
                "Nobody waits here for the person who decides about this call, and it was not made."
            )
            return ToolVerdict(
                allowed=False,
                text=f"{text} To do: call the tool again when it is approved",
                asked=True,
            )
    return None


def for_server(call: Message) -> Message:
    """The call without what is ours."""
    responses = _responses(call)
    others = {key: value for key, value in responses.items() if not key.startswith(_OURS)}
    if len(others) == len(responses):
        return call
    params = {**cast("Message", call["params"]), "inputResponses": others}
    if not others:
        del params["inputResponses"]
    return {**call, "params": params}


def _told(approval: ToolApproval, text: str) -> str:
    return (
        f"{text}\n\nSomebody else decides, until {approval.expires_at}. Accept to ask whether they have; decline"
        " to go on without this call."
    )


def _asks_its_user(call: Message) -> bool:
    """Whether the host can do that, and is not in the middle of answering what the server asked of it."""
    params = _object(call.get("params"))
    meta = _object(params.get("_meta"))
    elicitation = _object(meta.get(_CAPABILITIES)).get("elicitation")
    if meta.get(_REVISION) not in _REVISIONS or not isinstance(elicitation, dict):
        return False
    modes = cast("Message", elicitation)
    of_server = "requestState" in params or any(
        not key.startswith(_OURS) for key in _responses(call)
    )
    # Without a mode it is that of forms.
    return not of_server and (not modes or isinstance(modes.get("form"), dict))


def _responses(call: Message) -> Message:
    return _object(_object(call.get("params")).get("inputResponses"))


def _object(value: Any) -> Message:
    return cast("Message", value) if isinstance(value, dict) else {}
