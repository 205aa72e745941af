"""Waiting for a person: the gate is asked again until somebody has decided, or the host wants to wait no longer.

Nothing is allowed because a wait ended. What is heard meanwhile only says that it is time to ask; only the gate's
answer allows. Gates that are away for a while don't end the wait: the request is on record.
"""

import time

from lictor.fast.frozen_values import Value
from lictor.fast.session_operations import Pause, approval_hints
from lictor.fast.verdicts import UNANSWERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lictor.fast.session_operations import Operation, Waiting
    from lictor.fast.verdicts import ToolVerdict

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
_FOR_NOW = (UNANSWERED, "lictor.unavailable", "lictor.unrecorded")
"""Denials that say nothing about the call: nobody could judge it at that moment."""


class Patience(Value):
    """How long to wait, and who knows what time it is."""

    seconds: float
    now: "Callable[[], float]" = time.monotonic


def waited(
    first: "ToolVerdict",
    again: "Callable[[], Operation[ToolVerdict]]",
    runtime: str,
    patience: Patience,
) -> "Waiting[ToolVerdict]":
    """The verdict once somebody decided; the last that asked when nobody did in time."""
    until = patience.now() + patience.seconds
    asked = verdict = first
    pause_s = FIRST_PAUSE_S
    while verdict.asked or (asked.asked and _is_for_now(verdict)):
        asked = verdict if verdict.asked else asked
        approval = asked.approval
        left = until - patience.now()
        if left <= 0 or approval is None:
            return asked
        wanted = max(pause_s, (verdict.retry_after_ms or 0) / 1000)
        heard = yield Pause(
            seconds=min(wanted, left),
            heard_on=approval_hints(runtime, approval.request_id),
            verdict=asked,
        )
        if not isinstance(heard, bytes):
            return asked
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        verdict = yield from again()
    return verdict


def _is_for_now(verdict: "ToolVerdict") -> bool:
    denied_by = [each.policy_id for each in verdict.denials]
    return bool(denied_by) and all(each in _FOR_NOW for each in denied_by)
