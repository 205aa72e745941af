"""Every reason to deny a tool call: all are reported, not just the first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from lictor_guard.definitions.compiled_definition import (
    Guarded,
    OwnedChecker,
    OwnedPolicy,
    listed_tools,
)
from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import Facts
from lictor_guard.facts.part_memory import broken_owners, describe, plain
from lictor_guard.facts.session_facts import CallSeen, Identity, Tally
from lictor_guard.plugins.part_defaults import WholeChecker, WholePolicy
from lictor_guard.plugins.tool_call import Call
from lictor_guard.plugins.tool_policy import CheckContext, PolicyDecision
from lictor_guard.session.call_requests import PolicyAsk, policy_ask
from lictor_guard.session.limits import counts_when_allowed, exhausted, spent_budgets
from lictor_guard.text.wording import beyond_agent
from lictor_schema.sessions.session_questions import Denial

UNKNOWN_SESSION = "lictor.unknown-session"
UNKNOWN_TOOL = "lictor.unknown-tool"
OTHER_TASK = "lictor.other-task"
CALL_ID_USED = "lictor.call-id-used"
DENIED_BEFORE = "lictor.denied-before"
DEADLINE = "lictor.deadline"
BUDGET = "lictor.budget"

_MAX_DENIALS = 256
_MAX_TOLD = 4000
_MAX_JOINED = 60_000


@dataclass(frozen=True)
class ToolJudgement:
    """What the definition and the session say to a call."""

    denials: tuple[Denial, ...]
    """Every reason to deny it; empty when it may be made."""
    reserved: bool
    """Whether a policy, a checker or the budget counts it from the moment it is allowed."""
    asks: tuple[PolicyAsk, ...] = ()
    """The policies that let it be made only if people say so."""


def judge(
    guarded: Guarded,
    call: Call,
    facts: Facts,
    identity: Identity,
    tally: Tally,
    context: CheckContext,
) -> ToolJudgement:
    """Ask everybody, whoever has denied already."""
    if context.reserved:
        # It was allowed before, and must not be the reason for its own denial.
        tally = tally.model_copy(update={"running": max(0, tally.running - 1)})
    against = [
        *_against_tool(guarded, call),
        *_against_more(guarded, identity, tally, context.now_us),
        *_against_other_files(guarded, call, facts, context),
    ]
    broken = broken_owners(facts)
    reserved = counts_when_allowed(tally, guarded.definition.budgets)
    asks: list[PolicyAsk] = []
    for each in guarded.policies_for(call.tool):
        found, counts = _asked(each, call, facts, context, broken)
        reserved = reserved or counts
        if isinstance(found, PolicyAsk):
            asks.append(found)
        elif found is not None:
            against.append(found)
    reserved = (
        reserved
        or guarded.labels.reserves(call, facts)
        or any(_counts(each.policy, call) for each in guarded.policies)
        or bool(reserving_checkers(guarded, call))
    )
    return ToolJudgement(tuple(against[:_MAX_DENIALS]), reserved, tuple(asks))


def reserving_checkers(guarded: Guarded, call: Call) -> list[OwnedChecker]:
    """The checkers that must know of a call before it is made."""
    return [each for each in guarded.checkers if _counts(each.checker, call)]


def refused(by_adapter: Denial | None) -> ToolJudgement | None:
    """A call that its adapter denies itself, because it can't be asked about: nobody else has seen all of it."""
    return None if by_adapter is None else ToolJudgement((by_adapter,), False)


def misused(
    identity: Identity, task_id: str, call: Call, mark: CallSeen | None
) -> ToolJudgement | None:
    """A question that is wrong in itself: of another task, or under the id of another call."""
    against = against_other_task(identity, task_id)
    used = None if mark is None or mark.entry_id is not None else _used_by(call, mark)
    if used is not None:
        against += (id_used(call, used),)
    return ToolJudgement(against, False) if against else None


def id_used(call: Call, how: str) -> Denial:
    """The reason to deny a call under an id that belongs to another."""
    reason = f"Call id '{plain(call.call_id)}' was used: {how}."
    return _denial(CALL_ID_USED, reason, "Ask with a new call id for each call.")


def denied_before(call: Call) -> Denial:
    """The reason to deny a call again that was denied before, when there is no other any more."""
    return _denial(
        DENIED_BEFORE,
        f"Call id '{plain(call.call_id)}' was denied before; a decision on a call stays.",
        "Make the call again under a new call id.",
    )


def against_other_task(identity: Identity, task_id: str) -> tuple[Denial, ...]:
    """A session belongs to the task that it began with."""
    if identity.task_id == task_id:
        return ()
    reason = f"The session belongs to task '{identity.task_id}', not to '{task_id}'."
    remedy = beyond_agent(f"name task '{identity.task_id}', or begin another session")
    return (_denial(OTHER_TASK, reason, remedy),)


def unknown_session() -> Denial:
    """Nobody began it."""
    return _denial(UNKNOWN_SESSION, "The session has not begun.", beyond_agent("begin it first"))


def joined(texts: Iterable[str]) -> str:
    """Several texts as one, each once."""
    return plain("; ".join(dict.fromkeys(text.rstrip(".") for text in texts)), _MAX_JOINED)


def _used_by(call: Call, mark: CallSeen) -> str | None:
    if mark.outcome is not None:
        return f"that call has ended ({mark.outcome})"
    another = mark.of_another(call.signature, call.agent_id)
    return "another call was allowed under it" if another else None


def _against_tool(guarded: Guarded, call: Call) -> Iterator[Denial]:
    if call.spec is not None or guarded.definition.other_tools == "allow":
        return
    names = [spec.name for spec in listed_tools(guarded.definition)]
    near = get_close_matches(call.tool, names, n=1, cutoff=0.5)
    remedy = f"Did you mean '{near[0]}'?" if near else "Use a tool that the definition lists."
    yield _denial(UNKNOWN_TOOL, f"Tool '{call.tool}' is not in the definition.", remedy)


def _against_more(
    guarded: Guarded, identity: Identity, tally: Tally, now_us: int
) -> Iterator[Denial]:
    budgets = guarded.definition.budgets
    match exhausted(identity, tally, budgets, now_us):
        case "deadline":
            yield _denial(DEADLINE, "The session's time is up.", "Stop and report what is done.")
        case "budget":
            spent = ", ".join(spent_budgets(tally, budgets))
            reason = f"The session's budget is used up: {spent}."
            yield _denial(BUDGET, reason, "Stop and report what is done.")
        case None:
            return


def _against_other_files(
    guarded: Guarded, call: Call, facts: Facts, context: CheckContext
) -> Iterator[Denial]:
    """A call that was allowed is on the log with the labels that it may give, and they can't become more."""
    if context.reserved and guarded.labels.was_another(call, facts):
        reason = (
            f"The files that call '{plain(call.call_id)}' names are others than when it was allowed,"
            " and may give the session more labels."
        )
        yield _denial(CALL_ID_USED, reason, "Make the call again under a new call id.")


def _asked(
    each: OwnedPolicy, call: Call, facts: Facts, context: CheckContext, broken: Mapping[str, str]
) -> tuple[Denial | PolicyAsk | None, bool]:
    """What one policy says, and whether it counts the call."""
    name = each.owner.partition("/")[2]
    if each.owner in broken:
        reason = f"Policy '{name}' failed to learn of an earlier call ({broken[each.owner]})."
        return _denial(name, reason, beyond_agent("mend the policy, then reset the session")), False
    try:
        decision = each.policy.check(call, facts.of(each.owner), context)
        if not isinstance(decision, PolicyDecision):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GuardError(f"returned {type(decision).__name__}, not a PolicyDecision")
        if decision.allowed is True and decision.people is None:
            return None, bool(each.policy.reserves(call))
        if decision.asks is not None:
            asked = policy_ask(name, plain(decision.reason or "", _MAX_TOLD), decision.asks)
            return asked, bool(each.policy.reserves(call))
        return _denial(name, decision.reason or "", decision.remedy or ""), False
    except Exception as error:  # noqa: BLE001 (whatever it raises, the call is not made)
        reason = f"Policy '{name}' failed: {describe(error)}."
        remedy = beyond_agent("mend the policy; until then it denies")
        return _denial(name, reason, remedy), False


def _counts(part: WholePolicy | WholeChecker, call: Call) -> bool:
    """Whether a policy or checker counts a call that it may not gate; one that fails to say fails on the record."""
    try:
        return bool(part.reserves(call))
    except Exception:  # noqa: BLE001 (whatever a plugin raises)
        return True


def _denial(policy_id: str, reason: str, remedy: str) -> Denial:
    return Denial(
        policy_id=policy_id, reason=plain(reason, _MAX_TOLD), remedy=plain(remedy, _MAX_TOLD)
    )
