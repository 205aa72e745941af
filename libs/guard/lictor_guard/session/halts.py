"""What a halt says to a session: every call is denied, and the agent reads by whom, why, and who can change it."""

from lictor_guard.facts.fact import Facts
from lictor_guard.facts.part_memory import plain
from lictor_guard.facts.session_facts import HALT_ORDER, LastHaltOrder
from lictor_guard.log.entry_stamp import Fields, Stamp, identity_of, moment
from lictor_guard.session.tool_gate import ToolJudgement
from lictor_guard.text.wording import beyond_agent
from lictor_schema.contracts.decision_log import SwitchEngaged
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.halt import HaltEntry
from lictor_schema.sessions.session_log import SessionHalted, SessionResumed
from lictor_schema.sessions.session_questions import Denial

HALTED = "lictor.halted"
OPERATOR = "operator"
"""Who acts where no agent does."""

_MAX_TOLD = 4000

Halts = tuple[HaltEntry | SwitchEngaged, ...]
"""Everything that halts a session at a moment: orders, and the kill-switch of governed decisions."""


def judge_halts(halts: Halts) -> ToolJudgement | None:
    """The denial of every call of a halted session; None when nothing halts it. No policy is asked then."""
    if not halts:
        return None
    return ToolJudgement(tuple(_denial(each) for each in halts), False)


def noted_order(
    stamp: Stamp, order: HaltEntry, facts: Facts, now_us: int
) -> SessionHalted | SessionResumed | None:
    """The order in the log of the session that it is about; None when it stands there already."""
    identity, last = identity_of(facts), facts.get(HALT_ORDER)
    noted = isinstance(last, LastHaltOrder) and last.request_id == order.entry_id
    if identity is None or noted:
        return None
    fields: Fields = {
        "entry_id": stamp.new_id(),
        "at_us": moment(facts, now_us),
        "runtime": identity.runtime,
        "session_id": identity.session_id,
        "task_id": identity.task_id,
        "agent_id": OPERATOR,
        "definition_hash": stamp.guarded.hash,
        "request_id": order.entry_id,
        "by": order.by,
        "reason": order.reason,
    }
    if order.kind == "halted":
        return SessionHalted(kind="session_halted", **fields)
    return SessionResumed(kind="session_resumed", **fields)


def whom(halt: HaltEntry | SwitchEngaged) -> str:
    """What is halted by it, in words."""
    if isinstance(halt, SwitchEngaged) or halt.target.scope == "all":
        return "everything"
    return (
        "this session"
        if halt.target.scope == "session"
        else f"every session of '{halt.target.definition}'"
    )


def _denial(halt: HaltEntry | SwitchEngaged) -> Denial:
    since = utc_millis(from_micros(halt.at_us))
    by = "with the kill-switch " if isinstance(halt, SwitchEngaged) else ""
    reason = f"{halt.by} halted {whom(halt)} {by}at {since}: {halt.reason.rstrip('.')}."
    remedy = f"Make no more calls, and stop; {beyond_agent(_remedy(halt))}"
    return Denial(
        policy_id=HALTED, reason=plain(reason, _MAX_TOLD), remedy=plain(remedy, _MAX_TOLD)
    )


def _remedy(halt: HaltEntry | SwitchEngaged) -> str:
    if isinstance(halt, SwitchEngaged):
        return "release it with `lictor contract release`"
    target = {
        "session": f"{halt.target.session_id}",
        "agent": f"--agent {halt.target.definition}",
        "all": "--all",
    }[halt.target.scope]
    return f"let it go on with `lictor session resume {target}`"
