"""The story `lictor demo` plays, through the SDK: an agent that falls silent, writes what it has not read, and claims
too early.

Each step says what the agent does and what Lictor must decide; the story breaks off with a sentence
when anything else happens, or nothing in time.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from lictor.errors import LictorError, NotInTime, ToolDenied
from lictor.governor import Governor
from lictor.history.stored_decisions import AnyDecision
from lictor.tasks import Task
from lictor_schema.decisions.decision import DecisionRecord, Disposition
from lictor_schema.decisions.guard_decision import GuardDecision

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
    governor: Governor,
    workspace: Path,
    narrate: Callable[[str], None],
    see: Callable[[AnyDecision], None],
) -> Ending:
    """Play the story to its sealed end; the agent works on files in an empty workspace."""
    narrate("the agent starts a task and owes a checkpoint every two seconds")
    task = await governor.start_task(TITLE, checkpoint_interval_s=CHECKPOINT_INTERVAL_S)
    decisions = task.decisions()
    async with aclosing(decisions):
        told = _Told(decisions, see)
        await told.until("task_started", Disposition.ALLOW)

        narrate("the agent falls silent, and its checkpoint passes")
        await told.until("task_checkpoint_due", Disposition.FORCE_CHECKPOINT)

        await _work_under_guard(governor, task, workspace, narrate, see)

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


async def _work_under_guard(
    governor: Governor,
    task: Task,
    workspace: Path,
    narrate: Callable[[str], None],
    see: Callable[[AnyDecision], None],
) -> None:
    """The agent writes over a file it has not read, is denied, and does it right."""
    importer = workspace / "importer.py"
    importer.write_text("DATE_FORMAT = '%d.%m.%Y'\n")
    target = {"file_path": str(importer)}
    edit = {**target, "content": "DATE_FORMAT = '%Y-%m-%d'\n"}

    def write(file_path: str, content: str) -> None:
        Path(file_path).write_text(content)

    def read(file_path: str) -> str:
        return Path(file_path).read_text()

    decisions = governor.all_decisions(task.task_id, since_start=True)
    session = f"session-of-{task.task_id}"
    async with (
        aclosing(decisions),
        governor.guard(session, workspace=workspace, cwd=workspace, task_id=task.task_id) as guard,
    ):
        narrate("the agent writes over a file that it has not read")
        try:
            await guard.call("Write", edit, write)
        except ToolDenied:
            see(await _denial(decisions))
        else:
            raise LictorError("the story broke off: a write over an unread file was allowed")
        if importer.read_text() == edit["content"]:
            raise LictorError("the story broke off: a denied write was made")

        narrate("the agent reads the file, and writes it")
        await guard.call("Read", target, read)
        await guard.call("Write", edit, write)


async def _denial(decisions: AsyncGenerator[AnyDecision, None]) -> GuardDecision:
    """The decision record of a denial: it follows the answer by milliseconds."""
    try:
        async with asyncio.timeout(_WAIT_S):
            async for record in decisions:
                if isinstance(record, GuardDecision):
                    return record
    except TimeoutError:
        pass
    raise NotInTime(f"the story broke off: there was no record of a denial within {_WAIT_S:g} s")


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
