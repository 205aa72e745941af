"""The decision of a task that closes: its log ends before its episode is assembled from it.

What is asked after that is refused, so the episode is the same whenever it is assembled, also by another process.
"""

from collections.abc import Sequence

from lictor_bus import subjects
from lictor_bus.delivery import Delivery
from lictor_bus.errors import Refused
from lictor_contracts.asked import Asked, Decided
from lictor_contracts.deciding import close
from lictor_contracts.deciding_state import Deciding
from lictor_schema.ids import episode_id
from lictor_sealer.decisions import At, Decisions
from lictor_sealer.episode import StoredRecord, claimed_outcome


class Closings:
    """Closes the decisions of tasks that were closed."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    async def close(self, stored: Sequence[StoredRecord], closing: Delivery) -> Deciding | None:
        """The decision that governed these records, as it was closed; None when none did.

        Raises Refused for one that is frozen: it can't be sealed before somebody resumes it.
        """
        first, last = stored[0].record, stored[-1].record
        key = subjects.decision_key(first.runtime, first.task_id)
        episode = episode_id(first.task_id, first.event_id)
        if (await self._decisions.known(key)).state is None:
            return None
        closed = await self._decisions.closed_by(key, last.record_id)
        if closed is not None:
            return closed

        def decide(at: At) -> Decided | None:
            if at.state is None or at.state.begun.episode_id != episode:
                return None
            asked = Asked(
                last.record_id,
                first.runtime,
                first.task_id,
                last.agent_id,
                closing.stored_at_ns // 1000,
                at.after,
            )
            claimed = claimed_outcome(stored)
            return close(at.state, at.switch, asked, record_id=last.record_id, claimed=claimed)

        decided = await self._decisions.change_if(key, decide)
        if decided is None:
            return None
        if not decided.answer.ok:
            raise Refused(
                f"task_id: {decided.answer.reason}",
                remedy="have somebody other than its actor resume it (`lictor contract resume`): it is sealed then",
            )
        return await self._decisions.closed_by(key, last.record_id)
