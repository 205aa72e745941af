"""`lictor contract`: how a governed decision stands, and what operators order about it."""

import getpass
import json
import re
import uuid
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import Any

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.gate_questions import UNANSWERED
from lictor.governed_decision import ask_contract
from lictor.history.id_prefixes import TASK, one_of, whole_or_given
from lictor.installation.broker_connection import reach
from lictor.installation.endpoints import nats_url
from lictor_bus.names import subjects
from lictor_bus.wire.connection import close_nats
from lictor_cli.main import FAILED, OK, UNREACHABLE
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor_schema.contracts.decision_questions import (
    ContractAnswer,
    DecisionShowAnswer,
    DecisionStanding,
)

HELP = "Show a governed decision; approve its actions, freeze or resume it; halt or release all of them."

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_ORDERS = {
    "approve": "approve one exact action, or that the ladder's bypass is taken",
    "freeze": "stop a decision until somebody resumes it",
    "resume": "let a frozen decision go on; if its task was closed, it is sealed now",
    "halt": "engage the kill-switch: every active decision freezes, and none begins",
    "release": "release the kill-switch; frozen decisions stay frozen until each is resumed",
}


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="show|approve|freeze|resume|halt|release"
    )
    show = verbs.add_parser("show", help="how a decision stands", allow_abbrev=False)
    _task(show)
    common_arguments(show)
    for name, summary in _ORDERS.items():
        order = verbs.add_parser(name, help=summary, allow_abbrev=False)
        if name not in ("halt", "release"):
            _task(order)
        if name == "approve":
            what = order.add_mutually_exclusive_group(required=True)
            what.add_argument(
                "--action",
                metavar="HASH",
                help="the action's contract, as `show` and the gate's answer name it",
            )
            what.add_argument("--bypass", action="store_true", help="the ladder's bypass")
        order.add_argument(
            "--by", metavar="NAME", default=None, help="who orders it (default: the user's name)"
        )
        order.add_argument("--reason", metavar="TEXT", required=True, help="why, for the log")
        common_arguments(order)


def _task(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="the task's id, or its first characters")
    parser.add_argument(
        "--runtime", metavar="NAME", default="python", help="its runtime (default: python)"
    )


async def run(options: Namespace) -> int:
    """Show it, or order something."""
    quiet_logs()
    client = await reach(nats_url(options.url), "lictor-contract")
    try:
        answer = await _ask(client, options)
    finally:
        await close_nats(client)
    if options.json:
        say_json(json.loads(answer.to_json()))
    elif not answer.ok:
        warn(f"{printable(answer.reason)}; {printable(answer.remedy or 'nothing helps')}")
    elif isinstance(answer, DecisionShowAnswer) and answer.standing is not None:
        _say(answer.standing, answer.halted_by)
    else:
        say(printable(answer.reason))
    if answer.policy_id == UNANSWERED:
        return UNREACHABLE
    return OK if answer.ok else FAILED


async def _ask(client: Client, options: Namespace) -> ContractAnswer:
    request_id = str(uuid.uuid4())
    question: dict[str, Any] = {
        "request_id": request_id,
        "requested_at": datetime.now(UTC).isoformat(),
    }
    answer_type: type[ContractAnswer] = ContractAnswer
    if options.verb not in ("halt", "release"):
        task_id = await whole_or_given(client, TASK, options.task)
        question |= {"runtime": options.runtime, "task_id": task_id}
    if options.verb == "show":
        question["agent_id"] = _user(None)
        subject, answer_type = (
            subjects.contract_request("show", options.runtime),
            DecisionShowAnswer,
        )
    else:
        question |= {"by": _user(options.by), "reason": options.reason}
        subject = subjects.contract_order(options.verb)
    if options.verb == "approve":
        question["action_hash"] = await _whole_action(client, options)
    body = json.dumps(question).encode()
    return await ask_contract(client, subject, body, request_id, answer_type)


async def _whole_action(client: Client, options: Namespace) -> str | None:
    """The action that is meant: what is approved is one exact contract, however it was named."""
    if options.action is None or _HASH.fullmatch(options.action):
        return options.action
    shown = await _ask(client, Namespace(verb="show", runtime=options.runtime, task=options.task))
    standing = shown.standing if isinstance(shown, DecisionShowAnswer) else None
    if standing is None:
        raise LictorError(f"{shown.reason}; {shown.remedy or 'see `lictor contract show`'}")
    hashes = (action.action_hash for action in standing.actions)
    return one_of(options.action, hashes, "action", "lictor contract show TASK")


def _user(named: str | None) -> str:
    try:
        return named or getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "operator"


def _say(standing: DecisionStanding, halted_by: str | None) -> None:
    rung = standing.rung
    lines = [
        ("decision", f"{standing.decision_type}, episode {standing.episode_id}"),
        ("state", f"{standing.state.value}: {standing.reason} (by {standing.by})"),
        ("halted", None if halted_by is None else f"the kill-switch is engaged by {halted_by}"),
        ("begun", f"{standing.begun_at}, deadline {standing.deadline_at}"),
        ("ended", "yes" if standing.ended else "no"),
        ("rung", None if rung is None or rung.step is None else rung.step.value),
        ("entries", str(standing.entries)),
    ]
    for name, text in lines:
        if text is not None:
            say(f"{name:<9} {printable(text)}")
    for action in standing.actions:
        approvers = ", ".join(action.approvers) or "nobody"
        ended = action.outcome or ("dispatched" if action.dispatches else "not dispatched")
        say(
            f"action    {printable(action.action_id)}  {printable(action.action_type)}  "
            f"{action.decision}, {ended}, approved by {printable(approvers)}"
        )
        say(f"          {action.action_hash}")
        for reason in action.reasons:
            say(f"          {printable(reason.message)}; {printable(reason.remedy)}")
