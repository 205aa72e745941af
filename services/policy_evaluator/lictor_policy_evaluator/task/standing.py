"""The standing of a task, for other services: never older than its last event. If unknown, the answer says so."""

from collections import Counter

from lictor_bus.gate import GateRefusal
from lictor_bus.gates.task import STANDING
from lictor_policy.errors import TaskStateError
from lictor_policy.task.state import read_evidence, shows_again
from lictor_policy_evaluator.task.current_state import Current, NotCaughtUp, TaskStates
from lictor_schema.events.claim import TaskStatus
from lictor_schema.gates.task_standing import StandingRequest, TaskStanding

# Shorter than the gate's own limit.
CATCH_UP_WITHIN_S = 0.3


class Standings:
    """Answers to the question how a task stands."""

    def __init__(self, tasks: TaskStates) -> None:
        self._tasks = tasks

    async def tell(self, request: StandingRequest) -> TaskStanding:
        """The standing; the problem where it is unknown."""
        try:
            found = await self._tasks.now(request.runtime, request.task_id, CATCH_UP_WITHIN_S)
        except NotCaughtUp:
            problem = "the task's last event has not been judged yet; ask again"
            return TaskStanding(request_id=request.request_id, known=False, problem=problem)
        return stand(request.request_id, found)


def explain(error: Exception, _request: object) -> GateRefusal | None:
    """A state that can't be read is an outage, not a defect."""
    if not isinstance(error, TaskStateError):
        return None
    return GateRefusal(
        STANDING.refusals.unavailable,
        "the task's stored state can't be read",
        "ask again; if it stays so, see `lictor doctor`",
    )


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
