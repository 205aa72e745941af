"""Telling the tool gates that the kill-switch was turned: tool calls halt with governed decisions."""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

import logging
import uuid

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from pydantic import ValidationError

from lictor_bus.names import subjects
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.sessions.halt import HaltNews, HaltNewsAnswer

log = logging.getLogger("lictor.supervisor")

# Within the time for an answer to an operator.
_WITHIN_S = 0.9


async def tell_tool_gates(client: Client) -> str | None:
    """See to it that every later tool call is judged by the kill-switch; else, how far that is known."""
    news = HaltNews(request_id=str(uuid.uuid4()))
    try:
        reply = await client.request(subjects.HALT_NEWS, news.to_json(), timeout=_WITHIN_S)
        answer = HaltNewsAnswer.from_json(reply.data)
    except NoRespondersError:
        return "no tool gate is open: the service `feedback` does not run"
    except (NatsError, OSError, TimeoutError) as error:
        problem = type(error).__name__
    except (ValidationError, CanonicalError) as error:
        problem = str(error)
    else:
        if answer.known and answer.request_id == news.request_id:
            return None
        problem = answer.problem or "a stray answer"
    log.warning("the tool gates did not say that they know of the kill-switch: %s", problem)
    return "the tool gates have not confirmed it: each looks by itself, within 6 seconds"
