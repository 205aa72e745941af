"""What the verbs of `lictor contract` share: how they name a task, ask, and tell the answer."""

import json
import uuid
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from nats.aio.client import Client

from lictor.fast.verdicts import UNANSWERED
from lictor.governed_decision import ask_contract
from lictor.history.id_prefixes import TASK, whole_or_given
from lictor_bus.names import subjects
from lictor_cli.desk_order import user_name
from lictor_cli.main import FAILED, OK, UNREACHABLE
from lictor_cli.output.terminal import printable, say_json, warn
from lictor_schema.contracts.decision_questions import ContractAnswer, DecisionShowAnswer

A = TypeVar("A", bound=ContractAnswer)


def task_arguments(parser: ArgumentParser) -> None:
    """The task, and its runtime."""
    parser.add_argument("task", metavar="TASK", help="the task's id, or its first characters")
    parser.add_argument(
        "--runtime", metavar="NAME", default="python", help="its runtime (default: python)"
    )


async def task_named(client: Client, options: Namespace) -> dict[str, str]:
    """The task in full, as questions and orders name it."""
    task_id = await whole_or_given(client, TASK, options.task)
    return {"runtime": options.runtime, "task_id": task_id}


async def decision_shown(client: Client, options: Namespace) -> DecisionShowAnswer:
    """How the decision on a task stands."""
    question = {**await task_named(client, options), "agent_id": user_name()}
    subject = subjects.contract_request("show", options.runtime)
    return await asked(client, subject, question, DecisionShowAnswer)


async def asked(client: Client, subject: str, question: dict[str, Any], answer_type: type[A]) -> A:
    """The answer to a question or an order, which gets an id and the time."""
    request_id = str(uuid.uuid4())
    stamped = {
        "request_id": request_id,
        "requested_at": datetime.now(UTC).isoformat(),
        **question,
    }
    body = json.dumps(stamped).encode()
    return await ask_contract(client, subject, body, request_id, answer_type)


def told(options: Namespace, answer: ContractAnswer, tell: Callable[[], None]) -> int:
    """Say what was answered, a refusal too, and return the exit code."""
    if options.json:
        say_json(json.loads(answer.to_json()))
    elif not answer.ok:
        warn(f"{printable(answer.reason)}; {printable(answer.remedy or 'nothing helps')}")
    else:
        tell()
    if answer.policy_id == UNANSWERED:
        return UNREACHABLE
    return OK if answer.ok else FAILED
