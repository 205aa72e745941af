"""What the records of a task, and all else that the streams hold about it, show of how it ended; pure.

The log of a governed decision has signs of its own (`lictor_contracts.decision.outcome`). The outcome of an episode
is the worst of all of them, so it is never better than anything that it covers.
"""

from collections.abc import Iterator, Sequence

from lictor_contracts.decision.outcome_signs import Sign
from lictor_schema.approvals.run import RunOutcome
from lictor_schema.decisions.decision import NO_RULE_MATCHED, DecisionRecord, Disposition
from lictor_schema.decisions.receipt import ReceiptStatus
from lictor_schema.events.claim import TaskStatus
from lictor_schema.seals.episode import OutcomeCode
from lictor_schema.seals.episode_sources import (
    MAX_NOTES,
    EpisodeSources,
    GateNote,
    ReceiptNote,
    RunNote,
)
from lictor_sealer.episode.task_records import RecordsSeen

MAX_REASON = 8000
"""How much is said about an outcome; its sources are in the log and the streams."""

_ENDED_WELL = (RunOutcome.EXECUTED,)
_FOR_GOOD = (
    "lictor.contract.ended",
    "lictor.contract.too-long",
    "lictor.contract.result-unknown",
    "sealer.malformed-request",
)
_DONE = "lictor.contract.already-done"
_DID_NOTHING = (RunOutcome.FAILED, RunOutcome.COMPENSATED)


def record_signs(seen: RecordsSeen) -> Iterator[Sign]:
    """What the records show; the last one closes the task."""
    yield _closing(seen.last)
    sent, back = seen.spawned, seen.completed
    if sent > back:
        yield Sign(OutcomeCode.PARTIAL, f"{sent - back} of {sent} child runs were never heard of")


def _closing(last: DecisionRecord) -> Sign:
    status = None if last.episode is None else last.episode.final_status
    decision = last.decision
    said = "closed" if status is None else f"reported {status.value}"
    what = f"the task was {said}"
    if decision.decision is not Disposition.ALLOW:
        judged = f"{decision.policy_id} said {decision.decision.value}: {decision.reason}"
        return Sign(OutcomeCode.FAIL, f"{what}, and {judged}")
    if decision.policy_id == NO_RULE_MATCHED:
        judged = "no rule stood against it"
    else:
        judged = f"{decision.policy_id} let it: {decision.reason}"
    # Records of older evaluators say no status.
    left = OutcomeCode.SUCCESS if status in (None, TaskStatus.COMPLETED) else OutcomeCode.FAIL
    return Sign(left, f"{what}, and {judged}")


def source_signs(
    sources: EpisodeSources | None, *, governed: bool, did_something: bool
) -> Iterator[Sign]:
    """What everything else about the task shows.

    ``governed`` is whether a decision of it ever began, ``did_something`` whether an action was sent under that.
    """
    if sources is None:
        return
    yield from _runs(sources.runs)
    yield from _denials(sources.gates, governed, did_something)
    newest: dict[str, ReceiptNote] = {each.record_id: each for each in sources.receipts}
    for each in newest.values():
        if each.status is ReceiptStatus.FAILED:
            why = f"what decision {each.record_id} demands could not be carried out"
            yield Sign(OutcomeCode.PARTIAL, why)


def denial_weight(note: GateNote) -> int:
    """How much an answer of a gate weighs on the outcome; 0 for nothing."""
    if note.gate != "action" or note.decision != "deny" or note.policy_id == _DONE:
        return 0
    return 2 if note.policy_id in _FOR_GOOD else 1


def _denials(gates: Sequence[GateNote], governed: bool, did_something: bool) -> Iterator[Sign]:
    """Actions that were denied without an entry in a decision's log.

    Where nothing was done, each was an action that was not done; else those that can't have been allowed after that.
    """
    began = "" if governed else "no decision began, and "
    for each in gates:
        if not denial_weight(each):
            continue
        why = f"{began}an action was denied: {each.reason}"
        if not (governed and did_something):
            yield Sign(OutcomeCode.FAIL, why)
        elif each.policy_id in _FOR_GOOD:
            yield Sign(OutcomeCode.PARTIAL, why)


def _runs(runs: Sequence[RunNote]) -> Iterator[Sign]:
    """A run that did not do what was approved; where none did, it is no part of a success that is left."""
    some = any(run.outcome in _ENDED_WELL for run in runs)
    if len(runs) >= MAX_NOTES:
        yield Sign(
            OutcomeCode.PARTIAL, f"of more than {MAX_NOTES} runs only the first were looked at"
        )
    for run in runs:
        if run.outcome in _ENDED_WELL:
            continue
        ended = "had not ended" if run.outcome is None else f"ended as {run.outcome.value}"
        nothing = run.outcome in _DID_NOTHING and not some
        why = f"run {run.run_id} {ended}" + (f" ({run.reason})" if run.reason else "")
        yield Sign(OutcomeCode.FAIL if nothing else OutcomeCode.PARTIAL, why)
