"""Claude Code's settings with our hooks in them, or without: other settings and hooks of others stay as they are."""

import copy
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from lictor.errors import LictorError
from lictor.fast.claude_events import EVENTS

TIMEOUT_S = 30
"""After so long Claude Code gives a hook up and lets the call go on; ours answers long before."""

_OF_TOOLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_EVERY_TOOL = "*"


class SettingsRefused(LictorError):
    """The settings can't be changed safely; nothing was written."""


def hook_command(
    python: Path,
    script: Path,
    definition: str | None = None,
    *,
    url: str | None = None,
    endpoints: Path | None = None,
) -> str:
    """What the shell runs for an event.

    Isolated (`-I`), so that nothing in the agent's environment decides which code judges it. `url`, or `endpoints`,
    the file that a `lictor up` leaves, say who judges.
    """
    words = [str(python), "-I", str(script), "hook"]
    options = (("--definition", definition), ("--url", url), ("--endpoints", endpoints))
    return shlex.join([*words, *(str(word) for pair in options if pair[1] for word in pair)])


def installed(settings: dict[str, Any], command: str, *, ask_s: int = 0) -> dict[str, Any]:
    """The settings with our hook at every event, once; a call may wait `ask_s` longer, for a person who decides."""
    changed = copy.deepcopy(settings)
    hooks = _object(changed.setdefault("hooks", {}), "hooks")
    for event in EVENTS:
        groups = _groups(hooks.setdefault(event, []), event)
        ours = _hook(command, event, ask_s)
        if not _replaced(groups, event, ours):
            matcher = {"matcher": _EVERY_TOOL} if event in _OF_TOOLS else {}
            groups.append({**matcher, "hooks": [ours]})
    return changed


def uninstalled(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without our hooks, and without what held nothing else."""
    changed = copy.deepcopy(settings)
    if "hooks" not in changed:
        return changed
    hooks = _object(changed["hooks"], "hooks")
    for event in list(hooks):
        groups = _groups(hooks[event], event)
        if any(_is_ours(hook) for group in groups for hook in group["hooks"]):
            hooks[event] = _without_ours(groups)
            if not hooks[event]:
                del hooks[event]
    if settings["hooks"] and not hooks:
        del changed["hooks"]
    return changed


def _hook(command: str, event: str, ask_s: int) -> dict[str, Any]:
    if event != "PreToolUse" or not ask_s:
        return {"type": "command", "command": _for_event(command, event), "timeout": TIMEOUT_S}
    # The hook believes this and nothing else that Claude Code waits longer for it.
    waiting = _for_event(f"{command} --ask-s {ask_s}", event)
    return {"type": "command", "command": waiting, "timeout": TIMEOUT_S + ask_s}


def _for_event(command: str, event: str) -> str:
    """It names the event, so that what fails before it can read the event knows what it fails.

    A program that is gone ends the shell with another code, which would let the call go on. At the other events
    nothing is held back by it, and a stop must not be blocked for ever.
    """
    named = f"{command} --event {event}"
    return f"{named} || exit 2" if event == "PreToolUse" else named


def _replaced(groups: list[dict[str, Any]], event: str, ours: dict[str, Any]) -> bool:
    """Put our hook where one of ours stands already, for every tool; take all others of ours away."""
    for group in groups:
        matches_all = event not in _OF_TOOLS or group.get("matcher", "") in ("", _EVERY_TOOL)
        for place, hook in enumerate(group["hooks"]):
            if _is_ours(hook) and matches_all:
                before, after = group["hooks"][:place], group["hooks"][place + 1 :]
                group["hooks"] = [*before, ours, *(each for each in after if not _is_ours(each))]
                groups[:] = _without_ours(groups, keep=group)
                return True
    groups[:] = _without_ours(groups)
    return False


def _without_ours(
    groups: Sequence[dict[str, Any]], keep: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    left: list[dict[str, Any]] = []
    for group in groups:
        others = [hook for hook in group["hooks"] if not _is_ours(hook)]
        if group is keep or len(others) == len(group["hooks"]):
            left.append(group)
        elif others:
            left.append({**group, "hooks": others})
    return left


def _is_ours(hook: dict[str, Any]) -> bool:
    """Whether a command runs `lictor hook`, wherever that is installed."""
    command = hook.get("command")
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return any(
        Path(program).name == "lictor" and verb == "hook" for program, verb in pairwise(words)
    )


def _groups(value: object, event: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise SettingsRefused(f"`hooks.{event}` is not a list; correct it and install again.")
    groups = cast("list[object]", value)
    for number, group in enumerate(groups):
        place = f"hooks.{event}[{number}]"
        hooks = _object(group, place).get("hooks")
        if not isinstance(hooks, list):
            raise SettingsRefused(f"`{place}.hooks` is not a list; correct it and install again.")
        for at, hook in enumerate(cast("list[object]", hooks)):
            _object(hook, f"{place}.hooks[{at}]")
    return cast("list[dict[str, Any]]", groups)


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingsRefused(f"`{place}` is not an object; correct it and install again.")
    return cast("dict[str, Any]", value)
