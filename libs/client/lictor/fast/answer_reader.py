"""From the bytes of an answer to a verdict. What can't be read, or answers something else, never allows anything."""

from lictor.fast import jsontext
from lictor.fast.frozen_values import Value
from lictor.fast.verdicts import (
    MALFORMED_ANSWER,
    REFUSED_FOR_GOOD,
    TOO_LARGE,
    UNANSWERED,
    Advice,
    DenialReason,
    ReportVerdict,
    SessionStanding,
    StateChange,
    StopVerdict,
    ToolApproval,
    ToolVerdict,
    beyond_agent,
    with_remedy,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SAME_VERSION = "make sure that the services and this client have the same version"
_STANDINGS = ("waiting", "approved", "rejected", "expired", "cancelled", "stale", "edited")
_STOP_STATUSES = ("complete", "incomplete", "bypassed", "unchecked")


class Silence(Value):
    """No answer: why, and what would help."""

    reason: str
    remedy: str = "see that the services run (`lictor doctor`), and try again"
    too_large: bool = False
    unwritable: bool = False

    @property
    def hopeless(self) -> bool:
        """Whether the question never left, and never will as it is; one that says less may."""
        return self.too_large or self.unwritable

    @property
    def for_agent(self) -> str:
        """What the agent can do about it: it can say less, and it can't start a service."""
        return self.remedy if self.hopeless or not self.remedy else beyond_agent(self.remedy)


Answer = bytes | Silence


class Unusable(Exception):
    """An answer can't be used; the message says why."""


def deny(policy_id: str, reason: str, remedy: str) -> ToolVerdict:
    """A denial that this side makes itself."""
    return _denied((DenialReason(policy_id=policy_id, reason=reason, remedy=remedy),))


def read_check(tool: str, request_id: str, answer: Answer) -> ToolVerdict:
    """The verdict on a call."""
    if isinstance(answer, Silence):
        return deny(
            TOO_LARGE if answer.too_large else UNANSWERED,
            f"nobody could judge this call of {tool}: {answer.reason}",
            answer.for_agent,
        )
    try:
        content = _content(request_id, answer, may_deny=True)
        denials = tuple(_reason(each) for each in _items(content, "denials"))
        decision = content.get("decision")
        record_id, definition_hash = _text(content, "record_id"), _text(content, "definition_hash")
        approval = _approval(content)
        if decision == "allow":
            if denials:
                raise Unusable("it allows the call and gives reasons against it")
            if approval is not None and approval.standing not in ("approved", "edited"):
                raise Unusable(f"it allows the call by a request that is {approval.standing}")
            return ToolVerdict(
                allowed=True, text="", definition_hash=definition_hash, approval=approval
            )
        if decision == "ask":
            return _asked(content, denials, approval, definition_hash)
        if not denials:
            denials = (_reason(content),)
    except Unusable as error:
        return deny(
            MALFORMED_ANSWER,
            f"nobody could judge this call of {tool}: {_unusable(error)}",
            beyond_agent(_SAME_VERSION),
        )
    return _denied(denials, record_id, definition_hash, approval)


def read_standing(request_id: str, answer: Answer) -> SessionStanding:
    """How a session stands."""
    if isinstance(answer, Silence):
        return SessionStanding(ok=False, answered=False, reason=answer.reason, remedy=answer.remedy)
    try:
        content = _content(request_id, answer)
        params: Any = content.get("resource_params") or {}
        if not isinstance(params, dict):
            raise Unusable("resource_params is not an object")
        return SessionStanding(
            ok=content.get("ok") is True,
            reason=_text(content, "reason") or "",
            remedy=_text(content, "remedy"),
            definition=_text(content, "definition"),
            version=_text(content, "version"),
            definition_hash=_text(content, "definition_hash"),
            deadline_at=_text(content, "deadline_at"),
            resource_params={tool: _texts(params, tool) for tool in params},  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            mounts=_texts(content, "mounts"),
            look_at=_texts(content, "look_at"),
            tell_output=content.get("tell_output") is True,
            stop_on_silence="allow" if content.get("stop_on_silence") == "allow" else "block",
            policy_id=_text(content, "policy_id"),
        )
    except Unusable as error:
        return SessionStanding(
            ok=False, answered=False, reason=_unusable(error), remedy=_SAME_VERSION
        )


def read_recorded(request_id: str, answer: Answer) -> ReportVerdict:
    """Whether a report was taken."""
    if isinstance(answer, Silence):
        return ReportVerdict(
            ok=False, answered=False, text=_no_answer(answer), hopeless=answer.hopeless
        )
    try:
        content = _content(request_id, answer)
        policy_id = _text(content, "policy_id")
        return ReportVerdict(
            ok=content.get("ok") is True,
            text=_told(content),
            duplicate=content.get("duplicate") is True,
            look_at=_texts(content, "look_at"),
            hopeless=policy_id == REFUSED_FOR_GOOD,
            policy_id=policy_id,
        )
    except Unusable as error:
        return ReportVerdict(
            ok=False, answered=False, text=with_remedy(_unusable(error), _SAME_VERSION)
        )


def read_advice(request_id: str, answer: Answer) -> Advice:
    """What the agent should hear; nothing when that can't be told."""
    if isinstance(answer, Silence):
        return Advice(answered=False)
    try:
        content = _content(request_id, answer)
        if content.get("ok") is not True:
            return Advice()
        return Advice(
            text=_text(content, "text") or "",
            feedback=tuple(_items(content, "feedback")),
            failures=tuple(_items(content, "failures")),
        )
    except Unusable:
        return Advice(answered=False)


def read_stop(on_silence: str, request_id: str, answer: Answer) -> StopVerdict:
    """The verdict on a stop."""
    if isinstance(answer, Silence):
        text = with_remedy(answer.reason, answer.for_agent)
        return _unjudged(on_silence, UNANSWERED, f"nobody could judge the stop: {text}")
    try:
        content = _content(request_id, answer, may_deny=True)
        status, attempt = content.get("status"), content.get("attempt", 0)
        if status not in _STOP_STATUSES or not isinstance(attempt, int):
            raise Unusable("it does not tell the status of the work")
        allowed = content.get("decision") == "allow"
        if not allowed and attempt == 0:
            # Every stop that was judged and blocked was counted.
            policy_id = _text(content, "policy_id") or UNANSWERED
            return _unjudged(
                on_silence, policy_id, f"nobody could judge the stop: {_told(content)}"
            )
        return StopVerdict(
            allowed=allowed,
            status=status,
            text=_told(content),
            policy_id=_text(content, "policy_id") or UNANSWERED,
            bypass=_text(content, "bypass"),
            attempt=attempt,
            escalated=content.get("escalated") is True,
            record_id=_text(content, "record_id"),
            definition_hash=_text(content, "definition_hash"),
        )
    except Unusable as error:
        text = with_remedy(_unusable(error), beyond_agent(_SAME_VERSION))
        return _unjudged(on_silence, MALFORMED_ANSWER, f"nobody could judge the stop: {text}")


def read_state(request_id: str, answer: Answer) -> StateChange:
    """Whether a state was kept, set back or reset."""
    if isinstance(answer, Silence):
        return StateChange(ok=False, answered=False, text=_no_answer(answer))
    try:
        content = _content(request_id, answer)
        document = content.get("document")
        return StateChange(
            ok=content.get("ok") is True,
            text=_told(content),
            snapshot_id=_text(content, "snapshot_id"),
            state_hash=_text(content, "state_hash"),
            document=document if isinstance(document, dict) else None,  # pyright: ignore[reportUnknownArgumentType]
        )
    except Unusable as error:
        return StateChange(
            ok=False, answered=False, text=with_remedy(_unusable(error), _SAME_VERSION)
        )


def _denied(
    denials: "tuple[DenialReason, ...]",
    record_id: "str | None" = None,
    definition_hash: "str | None" = None,
    approval: "ToolApproval | None" = None,
) -> ToolVerdict:
    told = [with_remedy(f"{each.reason} [{each.policy_id}]", each.remedy) for each in denials]
    if approval is not None and approval.params is not None:
        proposal = jsontext.write(approval.params).decode()
        told.append(f"A person would let this call be made with these parameters: {proposal}")
    return ToolVerdict(
        allowed=False,
        text="\n".join(told),
        denials=denials,
        record_id=record_id,
        definition_hash=definition_hash,
        approval=approval,
    )


def _asked(
    content: "dict[str, Any]",
    denials: "tuple[DenialReason, ...]",
    approval: "ToolApproval | None",
    definition_hash: "str | None",
) -> ToolVerdict:
    """A call that waits for a person: nothing stands against it, and nothing allows it."""
    if approval is None or approval.standing != "waiting":
        raise Unusable("it asks people and does not say by which request")
    if denials:
        raise Unusable("it asks people and gives reasons against the call")
    retry_after_ms = content.get("retry_after_ms")
    if retry_after_ms is not None and not _is_count(retry_after_ms):
        raise Unusable("retry_after_ms is not a whole number")
    reason = _text(content, "reason") or ""
    if approval.request_id not in reason:
        reason = f"Request {approval.request_id} is waiting for a person: {reason}"
    remedy = _text(content, "remedy") or "call the tool again when it is approved"
    return ToolVerdict(
        allowed=False,
        text=with_remedy(reason, remedy),
        definition_hash=definition_hash,
        asked=True,
        approval=approval,
        retry_after_ms=retry_after_ms,
    )


def _approval(content: "dict[str, Any]") -> "ToolApproval | None":
    """The request that an answer tells of; Unusable for one that is told of in part, or as nobody knows it."""
    told: Any = content.get("approval")
    if told is None:
        return None
    if not isinstance(told, dict):
        raise Unusable("approval is not an object")
    fields: dict[str, Any] = told  # pyright: ignore[reportUnknownVariableType]
    request_id, standing = _text(fields, "request_id"), _text(fields, "standing")
    expires_at = _text(fields, "expires_at")
    params: Any = fields.get("params")
    if not request_id or not expires_at or standing not in _STANDINGS:
        raise Unusable("it does not tell which request waits for people, or how that stands")
    if (params is not None) != (standing == "edited") or not isinstance(params, dict | None):
        raise Unusable("other parameters are told exactly where a person wants them")
    return ToolApproval(
        request_id=request_id,
        standing=standing,
        expires_at=expires_at,
        guidance=_text(fields, "guidance"),
        decided_by=_texts(fields, "decided_by"),
        params=params,  # pyright: ignore[reportUnknownArgumentType]
    )


def _unjudged(on_silence: str, policy_id: str, text: str) -> StopVerdict:
    return StopVerdict(
        allowed=on_silence == "allow",
        status="unanswered",
        text=text,
        policy_id=policy_id,
        answered=False,
    )


def _content(request_id: str, answer: bytes, *, may_deny: bool = False) -> "dict[str, Any]":
    """The answer's fields; a service that could not read a question says no without knowing its id."""
    try:
        content = jsontext.parse(answer)
    except ValueError as error:
        raise Unusable(f"it is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise Unusable("it is not an object")
    fields: dict[str, Any] = content  # pyright: ignore[reportUnknownVariableType]
    refused = fields.get("decision") == "deny" if may_deny else fields.get("ok") is False
    if fields.get("request_id") != request_id and not refused:
        raise Unusable("it answers another question")
    return fields


def _reason(content: "dict[str, Any]") -> DenialReason:
    policy_id, reason = _text(content, "policy_id"), _text(content, "reason")
    if not policy_id or not reason:
        raise Unusable("it denies without saying why")
    remedy = _text(content, "remedy") or beyond_agent("the policy does not say what would help")
    return DenialReason(policy_id=policy_id, reason=reason, remedy=remedy)


def _told(content: "dict[str, Any]") -> str:
    return with_remedy(_text(content, "reason") or "", _text(content, "remedy"))


def _no_answer(silence: Silence) -> str:
    return with_remedy(silence.reason, silence.remedy)


def _unusable(error: Unusable) -> str:
    return f"the service's answer can't be used, since {error}"


def _text(content: "dict[str, Any]", name: str) -> "str | None":
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise Unusable(f"{name} is not text")
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _texts(content: "dict[str, Any]", name: str) -> "tuple[str, ...]":
    value: Any = content.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):  # pyright: ignore[reportUnknownVariableType]
        raise Unusable(f"{name} is not a list of texts")
    return tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _items(content: "dict[str, Any]", name: str) -> "list[dict[str, Any]]":
    value: Any = content.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):  # pyright: ignore[reportUnknownVariableType]
        raise Unusable(f"{name} is not a list of objects")
    return value  # pyright: ignore[reportUnknownVariableType]
