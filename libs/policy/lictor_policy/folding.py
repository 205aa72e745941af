"""One event as the service folds it: judged, and refused when its record would be too large for the bus."""

from lictor_policy.config import EvaluatorConfig
from lictor_policy.errors import Unacceptable
from lictor_policy.evaluate import Decided, EventPosition, Outcome, step
from lictor_policy.state import TaskState
from lictor_schema.events import Event

# Any NATS server takes this much, whatever its limit is set to above the default.
MAX_RECORD_BYTES = 900 * 1024
# A closed task is remembered this long, to recognise late duplicates of its events.
KEEP_CLOSED_TASKS_S = 30 * 24 * 3600


def fold_event(
    state: TaskState | None,
    event: Event,
    position: EventPosition,
    config: EvaluatorConfig,
    decided: Decided | None = None,
) -> Outcome:
    """Judge one event; raises Unacceptable, changing nothing, when it can't be judged or told."""
    outcome = step(state, event, position, config, decided)
    if len(outcome.record_json) > MAX_RECORD_BYTES:
        raise Unacceptable(
            "payload",
            f"the decision record would have {len(outcome.record_json)} bytes,"
            f" more than {MAX_RECORD_BYTES}",
            "shorten the message or the claim; name large content in evidence_refs",
        )
    return outcome
