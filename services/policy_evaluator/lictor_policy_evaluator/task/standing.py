"""How a task stands, told to other services: never older than its last event. What can't be told is said to be so."""

import asyncio
import logging
from collections import Counter

from nats.aio.msg import Msg
from pydantic import ValidationError
from redis.exceptions import RedisError

from lictor_bus.errors import BusError
from lictor_bus.service.gate_questions import UNKNOWN_REQUEST
from lictor_policy.errors import StateError
from lictor_policy.task.state import read_evidence, shows_again
from lictor_policy_evaluator.task.current_state import Current, NotCaughtUp, TaskStates
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import describe_validation_error
from lictor_schema.events.claim import TaskStatus
from lictor_schema.gates.task_standing import StandingRequest, TaskStanding

log = logging.getLogger("lictor.standing")

# Together shorter than the half second after which whoever asks goes on without an answer.
TELL_WITHIN_S = 0.4
CATCH_UP_WITHIN_S = 0.3


class Standings:
    """Answers to the question how a task stands."""

    def __init__(self, tasks: TaskStates) -> None:
        self._tasks = tasks

    async def tell(self, message: Msg) -> bytes:
        """The standing, or what is wrong; never silence."""
        return (await self._tell(message)).to_json()

    async def _tell(self, message: Msg) -> TaskStanding:
        try:
            request = StandingRequest.from_json(message.data)
        except ValidationError as error:
            wrong = describe_validation_error(error)[0]
            return _untold(
                UNKNOWN_REQUEST, f"the question is malformed: {wrong.path} {wrong.problem}"
            )
        except CanonicalError as error:
            return _untold(UNKNOWN_REQUEST, f"the question is malformed: {error}")
        try:
            async with asyncio.timeout(TELL_WITHIN_S):
                found = await self._tasks.now(request.runtime, request.task_id, CATCH_UP_WITHIN_S)
            return stand(request.request_id, found)
        except NotCaughtUp:
            return _untold(
                request.request_id, "the task's last event has not been judged yet; ask again"
            )
        except (BusError, RedisError, OSError, TimeoutError, StateError) as error:
            log.warning("standing: %s: %s", type(error).__name__, error)
            return _untold(
                request.request_id,
                f"the task's state can't be read ({type(error).__name__}); ask again, and if it"
                " stays so, see `lictor doctor`",
            )
        except Exception as error:
            log.exception("a standing could not be told")
            return _untold(request.request_id, f"telling it failed inside: {type(error).__name__}")


def stand(request_id: str, found: Current) -> TaskStanding:
    """What the state says of the task.

    An artefact that was shown under several ids counts once. Of a great many items the state keeps the strongest one by
    one, so there may be more of a quality than this counts, and never fewer.
    """
    state = found.state
    if state is None or not state.started:
        return TaskStanding(request_id=request_id, known=False, state_sequence=found.sequence)
    counts = Counter(read_evidence(note)[2] for note in state.evidence if not shows_again(note))
    return TaskStanding(
        request_id=request_id,
        known=True,
        closed=state.closed,
        status=TaskStatus(state.status),
        evidence=dict(counts),
        items_total=state.items_total,
        state_sequence=found.sequence,
    )


def _untold(request_id: str, problem: str) -> TaskStanding:
    return TaskStanding(request_id=request_id, known=False, problem=problem)
