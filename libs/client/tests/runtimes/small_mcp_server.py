"""A small MCP server on stdio, for the proxy's tests: it writes down every message that reaches it."""

import json
import os
import sys
import time
from pathlib import Path
from threading import Lock, Thread

SEEN = Path(sys.argv[1])
WRITING = Lock()


def answer(request):
    method, params = request.get("method"), request.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1"},
        }
    if method == "tools/list":
        names = ("echo", "fail", "break", "slow", "die", "environment")
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return {}


def call(name, arguments):
    if name == "die":
        os._exit(7)
    if name == "slow":
        while not Path(arguments["until"]).exists():
            time.sleep(0.005)
    if name == "say":
        # Whatever a server could say besides, before the answer.
        with WRITING:
            sys.stdout.write("".join(json.dumps(line) + "\n" for line in arguments["lines"]))
            sys.stdout.flush()
    if name == "break":
        raise RuntimeError("no such thing")
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    return {**text(json.dumps(arguments)), "isError": name == "fail"}


def text(said):
    return {"content": [{"type": "text", "text": said}]}


def respond(request):
    try:
        return {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
    except RuntimeError as error:
        return {
            "jsonrpc": "2.0",
            "id": request["id"],
            "error": {"code": -32000, "message": str(error)},
        }


def wants_answer(message):
    return "id" in message and "method" in message


def serve(value):
    if isinstance(value, list):
        told = [respond(each) for each in value if wants_answer(each)]
    else:
        told = respond(value) if wants_answer(value) else None
    if told:
        with WRITING:
            # Spaces that a proxy which writes anew would lose.
            sys.stdout.write(json.dumps(told, separators=(" , ", " : ")) + "\n")
            sys.stdout.flush()


for line in sys.stdin.buffer:
    with SEEN.open("ab") as seen:
        seen.write(line)
    Thread(target=serve, args=(json.loads(line),), daemon=True).start()
