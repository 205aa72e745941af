"""`lictor contract approve, freeze, resume, halt, release`: what operators order about governed decisions."""

import re
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Any

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.id_prefixes import one_of
from lictor.history.stream_contents import streams_at
from lictor_bus.names import subjects
from lictor_cli.contract.sources import (
    asked,
    decision_shown,
    task_arguments,
    task_named,
    told,
)
from lictor_cli.desk_order import by_option, reason_option, user_name
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say
from lictor_cli.verb import Verb
from lictor_schema.contracts.decision_questions import ContractAnswer

_HASH = re.compile(r"sha256:[0-9a-f]{64}")


def _arguments(verb: str, parser: ArgumentParser) -> None:
    if verb not in ("halt", "release"):
        task_arguments(parser)
    if verb == "approve":
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--action",
            metavar="HASH",
            help="the action's contract, as `show` and the gate's answer name it",
        )
        what.add_argument("--bypass", action="store_true", help="the ladder's bypass")
    by_option(parser, "who orders it (default: the user's name)", required=False)
    reason_option(parser, "why, for the log")
    common_arguments(parser)


async def _run(verb: str, options: Namespace) -> int:
    quiet_logs()
    async with streams_at(options.url, "contract") as client:
        order: dict[str, Any] = {"by": user_name(options.by), "reason": options.reason}
        if verb not in ("halt", "release"):
            order |= await task_named(client, options)
        if verb == "approve":
            order["action_hash"] = await _whole_action(client, options)
        answer = await asked(client, subjects.contract_order(verb), order, ContractAnswer)
    return told(options, answer, lambda: say(printable(answer.reason)))


async def _whole_action(client: Client, options: Namespace) -> str | None:
    """The action that is meant: what is approved is one exact contract, however it was named."""
    if options.action is None or _HASH.fullmatch(options.action):
        return options.action
    shown = await decision_shown(client, options)
    if shown.standing is None:
        raise LictorError(f"{shown.reason}; {shown.remedy or 'see `lictor contract show`'}")
    hashes = (action.action_hash for action in shown.standing.actions)
    return one_of(options.action, hashes, "action", "lictor contract show TASK")


def _verb(name: str, text: str) -> Verb:
    return Verb(text, partial(_arguments, name), partial(_run, name))


APPROVE = _verb("approve", "Approve one exact action, or that the ladder's bypass is taken.")
FREEZE = _verb("freeze", "Stop a decision until somebody resumes it.")
RESUME = _verb("resume", "Let a frozen decision go on; if its task was closed, it is sealed now.")
HALT = _verb("halt", "Engage the kill-switch: every active decision freezes, and none begins.")
RELEASE = _verb(
    "release", "Release the kill-switch; frozen decisions stay frozen until each is resumed."
)
