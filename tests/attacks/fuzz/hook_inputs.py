"""Hostile inputs of `lictor hook`: whatever comes in, a call is denied and a stop is not waved through in silence.

Nobody judges here (no broker is there), so the only right answer to a call is a denial: exit code 2, or the JSON that
Claude Code takes for one. Each input goes to a process of its own, forked from one that has loaded the hook.
"""

import json
import os
import random
import tempfile
from collections.abc import Sequence
from typing import Any, cast

from fuzz.bundles import altered
from fuzz.tally import Tally, Told, silent

from lictor.fast import claude_events, hook, jsontext, nats_wire, session_operations

LOADED = (claude_events, jsontext, nats_wire, session_operations)
"""What the hook imports when it runs, so that each child need not."""
EVENTS = ("PreToolUse", "Stop", "SubagentStop", "PostToolUse", "SessionStart")
_TEXTS = ("", "x", "\0", "\ud800", "é\u2028", "../../..", "a" * 70_000, "PreToolUse", "null", "-0")
_KEYS = (
    "hook_event_name", "tool_name", "tool_input", "session_id", "cwd", "stop_hook_active",
    "tool_use_id", "transcript_path", "HOOK_EVENT_NAME", "tool_name ", "hookSpecificOutput", "",
)  # fmt: skip


def event(name: str) -> dict[str, Any]:
    """An event as Claude Code sends it."""
    return {
        "hook_event_name": name,
        "session_id": "s-1",
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": "/",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
        "tool_use_id": "toolu_1",
        "stop_hook_active": False,
    }


def value(draw: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    match draw.randrange(9 if depth < 3 else 6):
        case 0:
            return draw.choice(_TEXTS)
        case 1:
            return draw.choice((0, -1, 2**63, 10**400, 1.5, -0.0, 1e300))
        case 2:
            return draw.choice((True, False, None))
        case 3:
            return draw.choice(EVENTS)
        case 4 | 5:
            return {}
        case 6:
            return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
        case _:
            return {draw.choice(_KEYS): value(draw, depth + 1) for _ in range(draw.randrange(4))}


def hostile(name: str, draw: random.Random) -> bytes:
    """One input for a hook that was registered for that event."""
    fields = event(name)
    match draw.randrange(8):
        case 0:
            text = json.dumps(value(draw)).encode()
        case 1 | 2:
            fields[draw.choice(_KEYS)] = value(draw)
            text = json.dumps(fields).encode()
        case 3:
            del fields[draw.choice(list(fields))]
            text = json.dumps(fields).encode()
        case 4:
            # A key named twice: two readers, two events.
            again = json.dumps({draw.choice(_KEYS): value(draw)})[1:-1]
            text = json.dumps(fields)[:-1].encode() + b"," + again.encode() + b"}"
        case 5:
            text = draw.choice((
                b"", b"\0", b"\xff\xfe", b"[" * 200_000, b'{"a":' * 50_000, b"NaN", b"{}", b"{}{}",
                b"\xef\xbb\xbf" + json.dumps(fields).encode(), json.dumps(fields).encode("utf-16"),
                b" " * 1_000_000, b'"' + b"x" * 1_000_000,
            ))  # fmt: skip
        case _:
            text = altered(json.dumps(fields).encode(), draw, json.dumps(event("Stop")).encode())
    return text


def answered(arguments: Sequence[str], given: bytes) -> tuple[int, bytes]:
    """The exit code and the output of a hook that is given this."""
    out_end, out = os.pipe()
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(stdin.fileno(), 0)
                os.dup2(out, 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                os.close(out_end)
                code = hook.main(arguments)
            finally:
                # 1, as Python ends with after an exception: what lets a call through.
                os._exit(code)
    os.close(out)
    with os.fdopen(out_end, "rb") as reading:
        told = reading.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told


def is_right(name: str, code: int, told: bytes) -> bool:
    """Whether Claude Code does nothing by this answer that nobody judged."""
    if code == hook.BLOCK:
        return True
    try:
        output = json.loads(told)
    except ValueError:
        return False
    if code != 0 or not isinstance(output, dict):
        return False
    fields = cast("dict[str, Any]", output)
    if name == "PreToolUse":
        specific = fields.get("hookSpecificOutput")
        return isinstance(specific, dict) and specific.get("permissionDecision") == "deny"
    if name in ("Stop", "SubagentStop"):
        # One that was blocked before may pass, but not in silence.
        return fields.get("decision") == "block" or bool(fields.get("systemMessage"))
    return "permissionDecision" not in json.dumps(fields)


def fuzz(count: int, seed: int, told: Told = silent) -> Tally:
    """Ask so many times; wrong is what would have let something through."""
    draw, tally = random.Random(seed), Tally(told)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_STATE_HOME": folder, "LICTOR_NATS_URL": "nats://127.0.0.1:1"}
        while tally.applied < count:
            # Calls most of all.
            name = draw.choices(EVENTS, (8, 2, 1, 1, 1))[0]
            given = hostile(name, draw)
            named = draw.random() < 0.8 or not _is_event(given, name)
            arguments = ("--definition", "coder", *(("--event", name) if named else ()))
            code, answer = answered(arguments, given)
            tally.begin()
            if is_right(name, code, answer):
                tally.refused += 1
            else:
                tally.wrong.append(f"number {tally.applied}: {name}, exit {code}: {given[:200]!r}")
    return tally


def _is_event(given: bytes, name: str) -> bool:
    """Whether a plain reader takes it for such an event, as a hook that was not told what it is for must."""
    try:
        fields = json.loads(given)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(fields, dict) and cast("dict[str, Any]", fields).get("hook_event_name") == name
    )
