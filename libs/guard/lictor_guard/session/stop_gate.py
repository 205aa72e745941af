"""May the agent stop? The one judgement for every runtime: done, used up, not done yet, or given up on."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from lictor_guard.checkers import ask
from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.facts.fact import Facts, full_name
from lictor_guard.facts.session_fact_changes import tally_of
from lictor_guard.facts.session_facts import (
    BROKEN,
    SESSION,
    TALLY,
    Broken,
    LastStop,
    SubagentBlocks,
    blocks_name,
    stop_name,
)
from lictor_guard.feedback.rendering import visible
from lictor_guard.plugins.completion_checker import CompletionContext
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.session_questions import (
    FeedbackRequest,
    SeenFile,
    StopBypass,
    StopGateRequest,
    StopStatus,
)

SUBAGENTS_TOGETHER = 4
"""So many times `max_blocks` all subagents together are sent back: each may be under a name of its own."""
ASKED_AGAIN_US = 60_000_000
"""So long a stop is asked about again: far longer than an adapter waits for an answer."""
STRUCTURED_OUTPUT = "structured_output"
"""The reason that a checker is shown when an agent hands over its output and has not stopped yet."""
_NOT_TOLD = "the checker does not tell what is missing"
_LONGEST = 8_000
_NOT_CHECKED: dict[StopBypass, str] = {
    "deadline": "the deadline has passed",
    "budget": "the budget is used up",
    "halt": "the session is halted",
}


@dataclass(frozen=True)
class StopOutcome:
    """How a stop was judged."""

    allowed: bool
    status: StopStatus
    reason: str
    """Why, as the agent may read it: without how often it was sent back, and how often that is done."""
    remedy: str | None = None
    """What is missing, for the agent to read."""
    counted: str | None = None
    """Why, with that count, for records and operators; None where it is the same."""
    bypass: StopBypass | None = None
    attempt: int = 0
    """How often this agent's stop was blocked, this time included."""
    escalated: bool = False


def names_for_stop(guarded: Guarded, request: StopGateRequest) -> frozenset[str]:
    """The facts that `judge_stop` looks at."""
    names = {stop_name(request.agent_id, subagent=request.subagent)}
    if request.subagent:
        names.add(blocks_name(request.agent_id))
    return names_for_output(guarded) | names


def names_for_output(guarded: Guarded) -> frozenset[str]:
    """The facts that `missing_in_output` looks at."""
    kept = (full_name(each.owner, key) for each in guarded.checkers for key in each.checker.keys())  # noqa: SIM118
    return frozenset((TALLY, BROKEN, *kept))


def needs_standing(guarded: Guarded, *, subagent: bool) -> bool:
    """Whether the judgement needs to know how the task stands."""
    return (
        guarded.checker is not None
        and guarded.checker.needs_standing
        and _checked(guarded, subagent=subagent)
    )


def asked_before(request: StopGateRequest, facts: Facts, now_us: int) -> LastStop | None:
    """The judgement of this very question, which somebody asks again because no answer reached him.

    It is judged again, since only what stands now may be answered, but on the blocks that there were before it.
    """
    last = facts.get(stop_name(request.agent_id, subagent=request.subagent))
    if not isinstance(last, LastStop) or last.request_id != request.request_id:
        return None
    # An adapter that gives every stop one id must not be sent back for ever, also if its agent calls nothing between.
    again = last.calls == tally_of(facts).calls and now_us - last.at_us <= ASKED_AGAIN_US
    return last if again else None


def is_repeated(last: LastStop, outcome: StopOutcome) -> bool:
    """Whether judging it again came to the same, so that nothing is to be written down."""
    return (last.allowed, last.status, last.bypass, last.attempt, last.escalated) == (
        outcome.allowed,
        outcome.status,
        outcome.bypass,
        outcome.attempt,
        outcome.escalated,
    )


def judge_stop(
    guarded: Guarded,
    request: StopGateRequest,
    facts: Facts,
    standing: TaskStanding | None,
    now_us: int,
    exhausted: StopBypass | None,
) -> StopOutcome:
    """May the agent stop? `exhausted` says what is used up, or that it is halted: its work is not checked then."""
    completion = guarded.definition.completion
    if guarded.checker is None or completion is None:
        return StopOutcome(True, "unchecked", "the definition has no completion checker")
    if not _checked(guarded, subagent=request.subagent):
        return StopOutcome(True, "unchecked", "the definition does not check stops of subagents")
    blocks = _blocks(request, facts, now_us)
    if exhausted is not None:
        return StopOutcome(
            True,
            "bypassed",
            f"{_NOT_CHECKED[exhausted]}, so whether the work is complete was not checked",
            bypass=exhausted,
            attempt=blocks,
        )
    handed_over = request.tentative_output
    context = _context(
        request.session,
        facts,
        standing,
        now_us,
        reason=request.reason,
        output=request.final_message if handed_over is None else handed_over,
        files=request.files,
        final_message=request.final_message,
    )
    result = ask(guarded.checker, context)
    if result.complete:
        note = f": {_shown(result.feedback)}" if result.feedback else ""
        return StopOutcome(True, "complete", f"the work is complete{note}", attempt=blocks)
    missing = _shown(result.feedback or _NOT_TOLD)
    remedy = f"<blocker>\n{escape(missing)}\n</blocker>"
    of_all = _blocks_of_subagents(request, facts, now_us)
    if blocks >= completion.max_blocks or of_all >= completion.max_blocks * SUBAGENTS_TOGETHER:
        sent_back = f"{_times(blocks)} of being sent back to it"
        if blocks < completion.max_blocks:
            sent_back = f"{_times(of_all)} of sending subagents back to it"
        ends = f"so it ends as incomplete and a person must look: {missing}"
        return StopOutcome(
            True,
            "incomplete",
            f"the work is not complete, {ends}",
            remedy,
            counted=f"the work is not complete after {sent_back}, {ends}",
            attempt=blocks,
            escalated=True,
        )
    attempt = blocks + 1
    return StopOutcome(
        False,
        "incomplete",
        "the work is not complete",
        remedy,
        counted=f"the work is not complete (blocked stop {attempt} of {completion.max_blocks})",
        attempt=attempt,
    )


def missing_in_output(
    guarded: Guarded,
    request: FeedbackRequest,
    facts: Facts,
    standing: TaskStanding | None,
    now_us: int,
    exhausted: StopBypass | None,
) -> str | None:
    """What the output that an agent hands over lacks; None if nothing, or nobody checks it. It counts as no stop."""
    output = request.output
    if output is None or guarded.checker is None or exhausted is not None:
        return None
    if not _checked(guarded, subagent=output.subagent):
        return None
    context = _context(
        request.session,
        facts,
        standing,
        now_us,
        reason=STRUCTURED_OUTPUT,
        output=output.value,
        files=output.files,
    )
    result = ask(guarded.checker, context)
    return None if result.complete else _shown(result.feedback or _NOT_TOLD)


def _checked(guarded: Guarded, *, subagent: bool) -> bool:
    completion = guarded.definition.completion
    return completion is not None and (completion.subagents or not subagent)


def _blocks(request: StopGateRequest, facts: Facts, now_us: int) -> int:
    """How often this agent was sent back already; a subagent and the session's agent don't share it."""
    last = asked_before(request, facts, now_us)
    if last is not None:
        return last.blocks_before
    if request.subagent:
        own = facts.get(blocks_name(request.agent_id))
        return own.count if isinstance(own, SubagentBlocks) else 0
    return tally_of(facts).blocks


def _blocks_of_subagents(request: StopGateRequest, facts: Facts, now_us: int) -> int:
    """How often subagents were sent back since work was given; none for the session's agent."""
    if not request.subagent:
        return 0
    last = asked_before(request, facts, now_us)
    counted = last is not None and not last.allowed
    return tally_of(facts).subagent_blocks - (1 if counted else 0)


def _context(
    session_id: str,
    facts: Facts,
    standing: TaskStanding | None,
    now_us: int,
    *,
    reason: str,
    output: object,
    files: tuple[SeenFile, ...] | None,
    final_message: str | None = None,
) -> CompletionContext:
    broken = facts.get(BROKEN)
    return CompletionContext(
        now_us=now_us,
        session_id=session_id,
        stop_reason=reason,
        final_message=final_message,
        files=None if files is None else {each.path: each for each in files},
        standing=standing,
        facts=facts.of(SESSION),
        everyone=facts,
        broken=broken.owners if isinstance(broken, Broken) else {},
        tentative_output=output,
    )


def _shown(text: str) -> str:
    """What a checker says: nothing in it is hidden, and it is not too long."""
    told = visible(text[:_LONGEST])
    return told if len(text) <= _LONGEST else f"{told} (cut)"


def _times(number: int) -> str:
    return "1 time" if number == 1 else f"{number} times"
