"""The decision of a task that closes: its log ends before its episode is assembled from it.

What is asked after that is refused, so the episode is the same whenever it is assembled, also by another process.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from lictor_bus.errors import MessageRefused
from lictor_bus.logs.allowed_calls import SeenCalls
from lictor_bus.logs.decision_log import read_entry
from lictor_bus.logs.governed_decisions import DecisionAt, Decisions, Folds
from lictor_bus.names import subjects
from lictor_bus.wire.delivery import Delivery
from lictor_contracts.decision.question_stamp import Decided, QuestionStamp
from lictor_contracts.decision.questions import close
from lictor_contracts.decision.state import Deciding, Switch, fold, fold_switch
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.decision_log import DecisionClosed, SwitchEngaged, SwitchReleased
from lictor_schema.core.ids import episode_id
from lictor_schema.core.time import to_micros
from lictor_sealer.episode.assembly import claimed_outcome
from lictor_sealer.episode.task_records import RecordsSeen

FOLDS: Final = Folds(fold, fold_switch, Switch(), ContractError)


class Closings:
    """Closes the decisions of tasks that were closed."""

    def __init__(self, decisions: Decisions[Deciding, Switch], calls: SeenCalls) -> None:
        self._decisions = decisions
        self._calls = calls

    async def close(self, seen: RecordsSeen, closing: Delivery) -> Deciding | None:
        """The decision that governed these records, as it was closed; None when none did.

        Raises MessageRefused for one that is frozen: it can't be sealed before somebody resumes it.
        """
        first, last = seen.first, seen.last
        key = subjects.decision_key(seen.runtime, first.task_id)
        episode = episode_id(first.task_id, first.event_id)
        if (await self._decisions.known(key)).state is None:
            return None
        closed = await self._closed_by(key, last.record_id)
        if closed is not None:
            return closed

        async def decide(at: DecisionAt[Deciding, Switch]) -> Decided | None:
            if at.state is None or not _governs(at.state, seen, episode, closing):
                return None
            asked = QuestionStamp(
                last.record_id,
                seen.runtime,
                first.task_id,
                last.agent_id,
                closing.stored_at_ns // 1000,
                at.after,
            )
            return close(
                at.state,
                at.switch,
                asked,
                record_id=last.record_id,
                claimed=claimed_outcome(seen),
                calls_seen=await self._calls.until(
                    at.state.begun, at.state.ended_us, closing.stored_at_ns // 1000
                ),
            )

        decided = await self._decisions.change_if(key, decide)
        if decided is None:
            return None
        if not decided.answer.ok:
            raise MessageRefused(
                f"task_id: {decided.answer.reason}",
                remedy="have somebody other than its actor resume it (`lictor contract resume`): it is sealed then",
            )
        return await self._closed_by(key, last.record_id)

    async def closed(self, runtime: str, task_id: str, record_id: str) -> Deciding | None:
        """The decision that a record closed, as it was then; None when it closed none."""
        return await self._closed_by(subjects.decision_key(runtime, task_id), record_id)

    async def _closed_by(self, key: str, record_id: str) -> Deciding | None:
        """The decision as it was when a record closed it, with the kill-switch's turns meanwhile; None for none."""
        async for state, entry, sequence in self._decisions.folded(key):
            if isinstance(entry, DecisionClosed) and entry.record_id == record_id:
                turns = (await self._decisions.switch()).entries
                return replace(state, switched=_meanwhile(turns, state.begun_at, sequence))
        return None

    async def entries(self, closed: Deciding) -> AsyncIterator[Delivery]:
        """The log of a decision that was closed, as it is stored: from its beginning to its closing."""
        begun = closed.begun
        key = subjects.decision_key(begun.runtime, begun.task_id)
        async for stored in self._decisions.stored(key):
            entry = read_entry(stored, key)
            if entry is None or getattr(entry, "episode_id", None) != begun.episode_id:
                continue
            yield stored
            if isinstance(entry, DecisionClosed):
                return

    async def switched(self, since_us: int, until_us: int) -> AsyncIterator[Delivery]:
        """How the kill-switch was turned between two moments, and how it stood at the first."""
        standing: Delivery | None = None
        async for stored in self._decisions.stored(subjects.SWITCH_KEY):
            entry = read_entry(stored, subjects.SWITCH_KEY)
            if entry is None or entry.at_us > until_us:
                continue
            if entry.at_us <= since_us:
                standing = stored
                continue
            if standing is not None:
                yield standing
                standing = None
            yield stored
        if standing is not None:
            yield standing


def _governs(state: Deciding, seen: RecordsSeen, episode: str, closing: Delivery) -> bool:
    """Whether a decision is that of the run which a record closes.

    By the id of the run's episode; but a correction of the episode before may have taken up the record that this id
    came from. Then by its time: of a task there is one open decision at once.
    """
    if state.begun.episode_id == episode:
        return True
    began = datetime.fromisoformat(seen.first.recorded_at)
    return state.closed is None and (
        to_micros(began) <= state.begun.at_us <= closing.stored_at_ns // 1000
    )


def _meanwhile(
    turns: tuple[tuple[int, SwitchEngaged | SwitchReleased], ...], begun_at: int, closed_at: int
) -> tuple[SwitchEngaged | SwitchReleased, ...]:
    """The turns between two places in the stream, and the one before that still held at the first."""
    before = [each for sequence, each in turns if sequence < begun_at]
    held = before[-1:] if before and isinstance(before[-1], SwitchEngaged) else []
    return (*held, *(each for sequence, each in turns if begun_at < sequence < closed_at))
