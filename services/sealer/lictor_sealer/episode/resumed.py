"""Tasks that closed while their decision was frozen: sealed as soon as somebody resumes it.

A fold of the logs of decisions. A closing that was refused as frozen was read before the resume was stored, so the
resume is still ahead of this fold; a closing that comes later is sealed by the fold of DECISIONS.
"""

from collections.abc import Collection, Mapping, Sequence

from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.fold.processor import KEEP_QUIET_S, CountingState, Parsed, Sourced, Stepped
from lictor_bus.logs.decision_log import read_entry
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, ServiceRuntime
from lictor_bus.wire.delivery import Delivery
from lictor_schema.contracts.decision_log import DecisionResumed
from lictor_sealer.episode.sealing import SealerProcessor, SealingOutbox

LOGS = subjects.DECISION_LOG.any
_KIND = b'"decision_resumed"'


class ResumedProcessor(CountingState):
    """Counts how often each decision was resumed; every other entry is sifted out before it costs anything."""

    async def begin(self) -> None:
        """Nothing is steered."""

    async def sift(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """Only what resumes a decision. The fold of all entries dead-letters what can't be read: so one letter."""
        return [each for each in deliveries if _resumed(each) is not None]

    def parse(self, delivery: Delivery) -> Parsed[DecisionResumed]:
        """The entry that resumes a decision."""
        entry = _resumed(delivery)
        if entry is None:
            raise MessageRefused(
                "this resumes no decision", remedy="report it: it was to be sifted out"
            )
        # By its place: an entry that is stored a second time is looked at a second time, and changes nothing.
        return Parsed(_key(delivery), str(delivery.sequence), entry)

    def step(
        self, state: int | None, message: Parsed[DecisionResumed], delivery: Delivery
    ) -> Stepped[int, str]:
        """The token of the task to look at."""
        del delivery
        task = subjects.token(message.value.task_id)
        return Stepped((state or 0) + 1, (task,), "resumed", keep_state_s=KEEP_QUIET_S)


class ResumedOutbox:
    """Seals what a resume allows."""

    def __init__(self, sealing: SealingOutbox) -> None:
        self._sealing = sealing

    async def published(self, keys: Collection[str]) -> Mapping[str, int]:
        """Nothing to leave out: the log is asked about every closing, restart or not."""
        del keys
        return {}

    async def publish(self, outputs: Sequence[Sourced[str]]) -> None:
        """Seal every closing of these tasks that is not sealed yet; one that is frozen again stays a dead letter."""
        for task in dict.fromkeys(each.output for each in outputs):
            await self._sealing.seal_closed(task)


def sealing_loops(runtime: ServiceRuntime, outbox: SealingOutbox) -> Sequence[Runnable]:
    """What closes is sealed, and what a resume allows."""
    resumed = ResumedProcessor()
    return [
        runtime.worker(streams.DECISIONS, subjects.DECISION.any, SealerProcessor(), outbox),
        runtime.worker(
            streams.ACTIONS,
            LOGS,
            resumed,
            ResumedOutbox(outbox),
            partition="resumed",
            steering=resumed,
        ),
    ]


def _resumed(stored: Delivery) -> DecisionResumed | None:
    if _KIND not in stored.body:
        return None
    try:
        entry = read_entry(stored, _key(stored))
    except BusError:
        return None
    return entry if isinstance(entry, DecisionResumed) else None


def _key(stored: Delivery) -> str:
    return stored.subject.rpartition(".")[2]
