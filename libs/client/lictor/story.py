"""The story `lictor demo` plays: an agent that falls silent and claims too early, through the SDK.

Each step says what the agent does and what Lictor must decide; the story breaks off with a sentence
when anything else happens, or nothing in time.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from lictor.errors import LictorError, NotInTime
from lictor.governor import Governor
from lictor_schema import DecisionRecord, Disposition

CHECKPOINT_INTERVAL_S = 2
_WAIT_S = 10.0
TITLE = "Migrate the invoice importer"


@dataclass(frozen=True)
class Ending:
    """What the story left: the task, every decision on it, and its sealed bundle."""

    task_id: str
    records: tuple[DecisionRecord, ...]
    bundle: bytes


async def play(
    governor: Governor, narrate: Callable[[str], None], see: Callable[[DecisionRecord], None]
) -> Ending:
    """Play the story to its sealed end."""
    narrate("the agent starts a task and owes a checkpoint every two seconds")
    task = await governor.start_task(TITLE, checkpoint_interval_s=CHECKPOINT_INTERVAL_S)
    decisions = task.decisions()
    async with aclosing(decisions):
        told = _Told(decisions, see)
        await told.until("task_started", Disposition.ALLOW)

        narrate("the agent falls silent, and its checkpoint passes")
        await told.until("task_checkpoint_due", Disposition.FORCE_CHECKPOINT)

        narrate("the agent shows what it did, and sends the checkpoint it owes")
        await task.attach_evidence(
            "The parser is migrated: 38 of 42 tests pass",
            refs=[{"kind": "log", "ref": "ci/runs/1186/report.xml"}],
            quality="moderate",
            evidence_class="tool_output",
            supports=["progress"],
        )
        await told.until("task_evidence_attached", Disposition.ALLOW)
        await task.checkpoint(
            "The parser is migrated and 38 of 42 tests pass; the date formats are next.",
            claim="the parser is migrated",
            structure={
                "current_status": "in progress",
                "completed_this_segment": "the parser is migrated",
                "next_step": "fix the four date format tests",
                "next_report_condition": "when the tests pass, or in ten minutes",
                "operator_intervention_needed": "no",
            },
        )
        await told.until("task_checkpoint_sent", Disposition.ALLOW)

        narrate("the agent claims completion without evidence for it")
        await task.claim_complete("The importer is migrated.", message="Done, all good!")
        await told.until("task_claimed_complete", Disposition.DOWNGRADE_STATUS)

        narrate("the agent attaches the test report")
        await task.attach_evidence(
            "42 of 42 tests pass on the migrated importer",
            refs=[{"kind": "log", "ref": "ci/runs/1187/report.xml"}],
            quality="strong",
            evidence_class="verification_output",
            supports=["completion", "verified_completion"],
        )
        await told.until("task_evidence_attached", Disposition.ALLOW)

        narrate("the agent claims completion again")
        await task.claim_complete(
            "The importer is migrated; all 42 tests pass.",
            message="The importer is migrated; see ci/runs/1187.",
        )
        await told.until("task_claimed_complete", Disposition.ALLOW)
        if not told.records[-1].task_closed:
            raise LictorError("the story broke off: the completed task was not closed")

    narrate("the task is closed, and its episode is sealed")
    return Ending(task.task_id, tuple(told.records), await task.sealed(_WAIT_S))


class _Told:
    """The decisions so far, and the wait for the next that matters."""

    def __init__(
        self,
        decisions: AsyncGenerator[DecisionRecord, None],
        see: Callable[[DecisionRecord], None],
    ) -> None:
        self.records: list[DecisionRecord] = []
        self._decisions = decisions
        self._see = see

    async def until(self, event_type: str, wanted: Disposition) -> None:
        """Take decisions until the next on such an event; it must be the wanted one."""
        try:
            async with asyncio.timeout(_WAIT_S):
                record = await self._next_on(event_type)
        except TimeoutError:
            raise NotInTime(
                f"the story broke off: there was no decision on {event_type} within {_WAIT_S:g} s"
            ) from None
        found = record.decision
        if found.decision is not wanted:
            raise LictorError(
                f"the story broke off: {wanted.value} was expected on {event_type}, but"
                f" {found.policy_id} decided {found.decision.value} ({found.reason})"
            )

    async def _next_on(self, event_type: str) -> DecisionRecord:
        async for record in self._decisions:
            self.records.append(record)
            self._see(record)
            if record.event_type == event_type:
                return record
        raise AssertionError("decisions go on for ever")
