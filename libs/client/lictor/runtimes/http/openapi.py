"""The OpenAPI 3.1 document of the HTTP adapter, from the models that it reads and writes.

python -m lictor.runtimes.http.openapi FILE           write it
python -m lictor.runtimes.http.openapi --check FILE   exit 1 when the file is missing or stale
"""

import json
import sys
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from lictor.runtimes.http.application import OPERATIONS, SESSIONS
from lictor.runtimes.http.approvals import MAX_WAIT_S
from lictor.runtimes.http.bodies import ApprovalReply, CheckReply, Refusal

_STATUSES = {
    "400": "The question is malformed, or names files that the server looks at itself",
    "401": "The token is missing or wrong",
    "413": "The body is too large",
    "503": "Nobody could answer: the broker or the service is away",
}


_SESSION = {
    "name": "session_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 512},
}
_REQUEST = {
    "name": "request_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "format": "uuid"},
}
_WAIT = {
    "name": "wait",
    "in": "query",
    "schema": {"type": "number", "minimum": 0, "maximum": MAX_WAIT_S, "default": 0},
}


def document() -> str:
    """The document as indented JSON."""
    models: list[Any] = [
        *((operation.body, "validation") for operation in OPERATIONS.values()),
        *((operation.reply, "serialization") for operation in OPERATIONS.values()),
        (ApprovalReply, "serialization"),
        (Refusal, "serialization"),
    ]
    names, definitions = models_json_schema(
        list(dict.fromkeys(models)), ref_template="#/components/schemas/{model}"
    )
    paths: dict[str, Any] = {
        f"{SESSIONS}/{{session_id}}/{name}": {
            "post": {
                "operationId": name,
                "summary": (operation.body.__doc__ or "").strip(),
                "parameters": [_SESSION],
                "requestBody": {
                    "required": True,
                    "content": _json(names[operation.body, "validation"]),
                },
                "responses": _responses(
                    names[operation.reply, "serialization"],
                    names[Refusal, "serialization"],
                    operation.reply.__doc__ or "",
                ),
            }
        }
        for name, operation in OPERATIONS.items()
    }
    refusal = names[Refusal, "serialization"]
    paths[f"{SESSIONS}/{{session_id}}/check"]["post"]["responses"]["202"] = {
        "description": "A person decides: not allowed yet. `approval` names the request",
        "headers": {"Location": {"description": "Where it is shown", "schema": {"type": "string"}}},
        "content": _json(names[CheckReply, "serialization"]),
    }
    shown = _responses(names[ApprovalReply, "serialization"], refusal, ApprovalReply.__doc__ or "")
    shown["404"] = {"description": "No such request of the session", "content": _json(refusal)}
    paths[f"{SESSIONS}/{{session_id}}/approvals/{{request_id}}"] = {
        "get": {
            "operationId": "approval",
            "summary": "How does a request to people stand? Waits until they have decided, or the time is over.",
            "parameters": [_SESSION, _REQUEST, _WAIT],
            "responses": shown,
        }
    }
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Lictor over HTTP",
            "version": "1",
            "description": "Judge an agent's tool calls and stops, and guide it in between."
            " Only `decision: allow` allows anything.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": definitions["$defs"],
        },
    }
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _responses(reply: Any, refusal: Any, told: str) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": told.strip(), "content": _json(reply)}}
    for status, meaning in _STATUSES.items():
        # Nobody answered: where there is a verdict on that, it has the form of every verdict.
        either = {"anyOf": [reply, refusal]} if status == "503" else refusal
        responses[status] = {"description": meaning, "content": _json(either)}
    return responses


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _main(arguments: list[str]) -> int:
    check = arguments[:1] == ["--check"]
    (name,) = arguments[1:] if check else arguments
    file = Path(name)
    if check:
        if not file.exists() or file.read_text("utf-8") != document():
            sys.stderr.write(f"{file} is missing or stale: run `./taskw schemas`\n")
            return 1
        return 0
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
