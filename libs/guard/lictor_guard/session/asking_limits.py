"""How many requests a session may have people look at: so many at a time, and so many that it takes back again."""

from collections.abc import Sequence

from lictor_guard.facts.approval_facts import Asking
from lictor_guard.session.call_requests import PolicyAsk
from lictor_guard.text.wording import counted
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import from_micros

TOO_MANY_WAITING = "lictor.approval.too-many-waiting"
TOO_MANY_TAKEN_BACK = "lictor.approval.too-many-taken-back"
TAKEN_BACK_EACH = 4
"""So many requests may be taken back for each that may wait, before people had their time for the first of them."""

Against = tuple[str, str, str]
"""By what a request is denied, why, and what to do."""


def too_many(
    asking: Asking, asks: Sequence[PolicyAsk], replaced: str | None, now_us: int
) -> Against | None:
    """What stands against one more request in place of another; None if nothing does."""
    for each in asks:
        against = _waiting(asking, each, replaced, now_us) or _taken_back(asking, each, now_us)
        if against is not None:
            return against
    return None


def _waiting(asking: Asking, each: PolicyAsk, replaced: str | None, now_us: int) -> Against | None:
    policy = each.ask.policy_id
    waiting = sum(
        policy in one.policies
        for name, one in asking.waiting.items()
        if name != replaced and one.expires_us > now_us
    )
    if waiting < each.max_waiting:
        return None
    return (
        TOO_MANY_WAITING,
        f"{counted(each.max_waiting, 'call')} that policy '{policy}' asks people about wait already",
        "go on with a call that waits as soon as somebody has decided, or cancel one",
    )


def _taken_back(asking: Asking, each: PolicyAsk, now_us: int) -> Against | None:
    """Against asking, taking it back and asking anew without end: each time somebody is told."""
    policy = each.ask.policy_id
    found = (asking.taken_back or {}).get(policy)
    if found is None or now_us >= found.until_us:
        return None
    if found.count < TAKEN_BACK_EACH * each.max_waiting:
        return None
    until = utc_millis(from_micros(found.until_us))
    return (
        TOO_MANY_TAKEN_BACK,
        f"{counted(found.count, 'request')} that policy '{policy}' made were taken back before anybody decided:"
        " cancelled, or asked anew because a file or a reason was another",
        f"go on with a call that waits, as it was asked about; more may be asked after {until}",
    )
