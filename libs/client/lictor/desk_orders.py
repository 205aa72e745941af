"""Asking a service's desk: silence and refusals are errors with a reason, never a yes."""

import uuid
from typing import TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from pydantic import ValidationError

from lictor.errors import LictorError, NotAllowed, Unreachable
from lictor_bus.errors import NotAllowed as BrokerRefuses
from lictor_bus.names import subjects
from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.services.desk_answer import DeskAnswer

ASK_WITHIN_S = 10.0
DESKS = {
    "approval": "approvals",
    "claim": "supervisor",
    "correct": "sealer",
    "erase": "sealer",
    "event": "supervisor",
    "halt": "feedback",
    "mark": "policy-evaluator",
    "patch": "supervisor",
    "triage": "supervisor",
}
"""The desks where operators give orders, and the service that has each."""

A = TypeVar("A", bound=DeskAnswer)


class DeskRefused(LictorError):
    """The desk did not do what was asked; nothing was changed."""


def new_request_id() -> str:
    """An id for a request; with the same one it can be asked again."""
    return str(uuid.uuid4())


async def ask_desk(
    client: Client, desk: str, order: Model, answer_type: type[A], timeout_s: float = ASK_WITHIN_S
) -> A:
    """What came of an order; raises DeskRefused with the reason and the remedy when nothing did."""
    of = DESKS[desk]
    try:
        reply = await client.request(subjects.desk(desk), order.to_json(), timeout=timeout_s)
    except NoRespondersError:
        raise Unreachable(
            f"the service `{of}` does not answer: no desk is open; start it with `lictor up`, or see"
            " `lictor doctor`."
        ) from None
    except BrokerRefuses:
        raise NotAllowed(
            f"this NATS user may not ask the desk of `{of}`; connect as an operator."
        ) from None
    except NatsTimeout:
        raise Unreachable(
            f"the desk of `{of}` did not answer within {timeout_s:g} s; ask again, and look whether"
            " it was done."
        ) from None
    except NatsError as error:
        raise Unreachable(f"the desk of `{of}` could not be asked: {error}") from None
    try:
        answer = answer_type.from_json(reply.data)
    except (ValidationError, CanonicalError) as error:
        raise LictorError(f"the desk of `{of}` answered something else: {error}") from None
    if answer.outcome == "refused":
        raise DeskRefused(f"{answer.reason}; {answer.remedy}.")
    return answer
