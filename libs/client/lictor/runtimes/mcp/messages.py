"""The messages of the Model Context Protocol that a proxy has to understand: JSON-RPC 2.0, one message a line.

What a proxy judges must be what the server does. So a line that two readers could take for different messages is
refused: keys that are named twice, keys that differ from ours only in case, methods that are no plain word or look
like a call and are none, ids that are neither a text nor a whole number, requests that are answers too, a bare carriage
return in the middle. What ends a line for some readers is escaped.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from lictor.fast import jsontext

CALL = "tools/call"
CANCELLED = "notifications/cancelled"
PARSE_ERROR, INVALID_REQUEST, SERVER_ENDED = -32700, -32600, -32000
_ENVELOPE = frozenset(("jsonrpc", "id", "method", "params"))
_CALL_PARAMS = frozenset(("name", "arguments", "task", "inputResponses", "requestState"))
# What else some readers take for the end of a line. JSON has them in texts only, where an escape means the same.
_LINE_ENDS = {char.encode(): f"\\u{ord(char):04x}".encode() for char in "\u0085\u2028\u2029"}

_MOST_ID = 2**53 - 1

Message = dict[str, Any]


class Refused(Exception):
    """A line from the host that is not passed on; the message says why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True)
class HostLine:
    """A line from the host: one message, or several in a batch."""

    line: bytes
    """As the server gets it."""
    messages: tuple[Message, ...]
    is_batch: bool


def read_host(line: bytes) -> HostLine:
    """A line from the host; raises Refused for what must not reach the server."""
    if b"\r" in line.rstrip(b"\r\n"):
        raise Refused(PARSE_ERROR, "a message holds a carriage return, which ends it for some")
    try:
        value = jsontext.parse(line)
    except ValueError as error:
        raise Refused(PARSE_ERROR, f"a message can't be read: {error}") from None
    is_batch = isinstance(value, list)
    messages: list[Any] = cast("list[Any]", value) if is_batch else [value]
    if not messages:
        raise Refused(INVALID_REQUEST, "a batch is empty")
    for message in messages:
        _refuse_doubtful(message)
    for end, escaped in _LINE_ENDS.items():
        line = line.replace(end, escaped)
    return HostLine(line, tuple(messages), is_batch)


def read_server(line: bytes) -> Any:
    """A line from the server; None when it is no message, which is the host's business."""
    try:
        return jsontext.parse(line)
    except ValueError:
        return None


def is_call(message: Message) -> bool:
    """Whether it calls a tool."""
    return message.get("method") == CALL


def is_answer(message: object) -> bool:
    """Whether it answers a request."""
    return isinstance(message, dict) and "id" in message and "method" not in message


def is_request(message: Message) -> bool:
    """Whether it wants an answer."""
    return "id" in message and "method" in message


def is_two_things(message: Message) -> bool:
    """Whether some would take it for a request, and some for an answer."""
    return "method" in message and ("result" in message or "error" in message)


def id_key(message_id: object) -> str:
    """A name for an id: 1, 1.0 and "1" have the same, because some servers answer one by the other."""
    if isinstance(message_id, float) and message_id.is_integer():
        message_id = int(message_id)
    return message_id if isinstance(message_id, str) else json.dumps(message_id, sort_keys=True)


class RequestIds:
    """The ids of one side's requests that the other has not answered: each is used by one request at a time.

    Otherwise the answer to one would be taken for that of the other. A request that was cancelled may still be
    answered, so its id stays in use.
    """

    def __init__(self) -> None:
        self._in_use: set[str] = set()

    def claim(self, sent: Iterable[Message]) -> None:
        """Note the requests among these messages; Refused if an id is in use, and then none is noted."""
        claimed: set[str] = set()
        for message in filter(is_request, sent):
            key = id_key(message["id"])
            if key in self._in_use or key in claimed:
                raise Refused(INVALID_REQUEST, f"id {key} is in use by another request")
            claimed.add(key)
        self._in_use |= claimed

    def release(self, message_id: object) -> bool:
        """Note the answer to a request; whether there was one to answer."""
        key = id_key(message_id)
        found = key in self._in_use
        self._in_use.discard(key)
        return found


def cancelled_id(message: Message) -> object | None:
    """The request that a notification cancels."""
    if message.get("method") != CANCELLED:
        return None
    params = message.get("params")
    return cast("Message", params).get("requestId") if isinstance(params, dict) else None


def tool_and_arguments(message: Message) -> tuple[Any, Any]:
    """What a call asks for; a call without arguments has none."""
    params = message.get("params")
    if not isinstance(params, dict):
        return None, None
    fields = cast("Message", params)
    return fields.get("name"), fields.get("arguments", {})


def is_task(message: Message) -> bool:
    """Whether the call is to run on after its answer, and be asked for later."""
    params = message.get("params")
    return isinstance(params, dict) and "task" in params


def outcome_of(answer: Message) -> tuple[str, str | None]:
    """How a call ended, and what went wrong."""
    if "error" in answer:
        error = answer["error"]
        told = cast("Message", error).get("message") if isinstance(error, dict) else error
        return "failed", str(told)
    result = answer.get("result")
    if not isinstance(result, dict):
        return "failed", "the server gave no result"
    if cast("Message", result).get("isError") is True:
        return "failed", _first_text(cast("Message", result))
    if cast("Message", result).get("resultType", "complete") != "complete":
        return "interrupted", "the server wants more before it makes the call"
    return "ok", None


def text_of(answer: Message) -> str | None:
    """The texts that a server answered a call with; None where there are none."""
    result = answer.get("result")
    return "\n".join(_texts(cast("Message", result))) or None if isinstance(result, dict) else None


def with_advice(answer: Message, advice: str) -> Message | None:
    """The answer with one more text; None where it has no place for one."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return None
    fields = cast("Message", result)
    content = fields.get("content")
    if not isinstance(content, list):
        return None
    return {**answer, "result": {**fields, "content": [*cast("list[Any]", content), _text(advice)]}}


def denial(message_id: object, text: str) -> Message:
    """The answer to a call that was not made: a tool's error, which a model reads, not the protocol's."""
    # Hosts that speak MCP 2026-07-28 take no result without its type; older ones ignore it.
    result = {"resultType": "complete", "content": [_text(text)], "isError": True}
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def error(message_id: object, code: int, text: str) -> Message:
    """An error of the protocol."""
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def write(value: object) -> bytes:
    """A message as a line."""
    # In ASCII: a lone surrogate that came as an escape can leave only as one.
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _refuse_doubtful(message: object) -> None:
    if not isinstance(message, dict):
        raise Refused(INVALID_REQUEST, "a message is not an object")
    fields = cast("Message", message)
    _refuse_lookalikes(fields, _ENVELOPE)
    if "method" in fields:
        _refuse_doubtful_method(fields["method"])
    if is_two_things(fields):
        raise Refused(INVALID_REQUEST, "a message is a request and an answer")
    if is_request(fields) and not _is_plain_id(fields["id"]):
        raise Refused(INVALID_REQUEST, "a request's id is neither a text nor a whole number")
    if is_call(fields) and isinstance(fields.get("params"), dict):
        _refuse_lookalikes(fields["params"], _CALL_PARAMS)


def _refuse_doubtful_method(method: object) -> None:
    if not isinstance(method, str) or not re.fullmatch(r"[!-~]+", method):
        raise Refused(INVALID_REQUEST, "a message's method is not a plain word")
    if method != CALL and _letters(method) == _letters(CALL):
        raise Refused(INVALID_REQUEST, f"some take the method {method!r} for {CALL}")


def _is_plain_id(message_id: object) -> bool:
    """Some readers drop, round or mix up all others, and null is the id of errors that answer nothing."""
    if isinstance(message_id, str):
        return True
    if isinstance(message_id, bool) or not isinstance(message_id, int | float):
        return False
    return abs(message_id) <= _MOST_ID and int(message_id) == message_id


def _letters(method: str) -> str:
    return re.sub(r"[^a-z]", "", method.lower())


def _refuse_lookalikes(fields: Mapping[str, Any], known: frozenset[str]) -> None:
    for name in fields:
        if name not in known and name.casefold() in known:
            raise Refused(INVALID_REQUEST, f"a message names {name!r}, which some take for another")


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _first_text(result: Message) -> str:
    return next(_texts(result), "the tool reports an error")


def _texts(result: Message) -> Iterator[str]:
    content = result.get("content")
    for item in cast("list[Any]", content) if isinstance(content, list) else ():
        if isinstance(item, dict) and isinstance(cast("Message", item).get("text"), str):
            yield cast("Message", item)["text"]
