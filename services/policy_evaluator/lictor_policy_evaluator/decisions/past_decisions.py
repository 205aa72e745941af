"""What other engines decided about the events of a partition, read along with the events when they are folded anew.

An upgrade folds the stream with another engine. What was decided is on record, published and acted on: a task that
was closed then must not wake up because the newer engine would have decided otherwise.
"""

import json
import logging
from collections.abc import Mapping, Sequence

from nats.aio.client import Client

from lictor_bus.names import subjects
from lictor_bus.names.streams import DECISIONS
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import PAGE, read_all
from lictor_policy.judge.step import PastDecision, decided_in

log = logging.getLogger("lictor.policy-evaluator")


def event_sequence(stored: Delivery) -> int:
    """The sequence of the event that a stored decision is about; 0 when it is no decision of ours."""
    try:
        return int(json.loads(stored.body)["event_sequence"])
    except (ValueError, KeyError, TypeError):
        log.warning("DECISIONS %d is not a decision record", stored.sequence)
        return 0


_ON_EVENTS = subjects.DECISION.any


class PastDecisions:
    """Reads the decisions of one partition, which stand in the order of its events."""

    def __init__(self, client: Client, partition: int, partitions: int) -> None:
        self._client = client
        self._partition = partition
        self._partitions = partitions
        self._after = 0
        self._until = 0

    async def about(self, sequences: Sequence[int]) -> Mapping[int, PastDecision]:
        """What is on record about these events; they come in order, or from the start again."""
        if not sequences:
            return {}
        if sequences[0] <= self._until:
            self._after = 0
        self._until = sequences[-1]
        wanted = set(sequences)
        found: dict[int, PastDecision] = {}
        async for stored in read_all(self._client, DECISIONS, _ON_EVENTS, PAGE, after=self._after):
            task = stored.subject.rpartition(".")[2]
            if subjects.partition_of(task, self._partitions) == self._partition:
                told = decided_in(stored.body)
                if told is not None and told[0] > self._until:
                    break
                if told is not None and told[0] in wanted:
                    found[told[0]] = told[1]
            self._after = stored.sequence
        return found
