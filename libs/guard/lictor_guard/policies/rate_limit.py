"""No more than so many calls of some tools in any window of time.

A call counts from the moment it is allowed, so that calls made side by side can't pass together. For limits up to
EXACT, the time of each call is kept, and the window slides exactly. Beyond, the calls of one SLICES-th of the window
are kept as one, at the time of the last: never too many pass, but a call may have to wait up to that much longer.
"""

from collections.abc import Sequence

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.facts.fact import Changes, Fact, OwnFacts, key_of, remembered
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import NOTHING, CheckContext, PolicyDecision, StatelessPolicy
from lictor_guard.text.wording import listed, quoted
from lictor_schema.core.time import SECOND_US, from_micros
from lictor_schema.sessions.tool_policy import RateLimitSpec

EXACT = 128
SLICES = 128
_WINDOW = "window"

Mark = tuple[int, int]
"""A time, and how many calls stand for it."""


class CallTimes(Fact, kind="call-times", retention="log"):
    """The calls of the window, oldest first. It logs what was done: no restore gives calls back."""

    marks: tuple[Mark, ...]


class CallCounted(Fact, kind="call-counted", retention="log"):
    """This call has been counted and has not ended: asking again does not count again."""

    at_us: int


class RateLimit(StatelessPolicy):
    """Denies a call when the window holds as many as are allowed."""

    def __init__(self, spec: RateLimitSpec) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._limit = spec.limit
        self._window_s = spec.window_s
        self._window_us = spec.window_s * SECOND_US
        self._slice_us = 1 if spec.limit <= EXACT else max(1, self._window_us // SLICES)

    def keys(self, call: Call) -> Sequence[str]:
        return (_WINDOW, _call_key(call)) if self.reserves(call) else ()

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:
        if not self.reserves(call) or _counted(call, facts):
            return PolicyDecision.allow()
        marks = _marks(facts)
        now_us = _not_before(marks, context.now_us)
        current = self._current(marks, now_us)
        excess = sum(count for _, count in current) - self._limit + 1
        if excess <= 0:
            return PolicyDecision.allow()
        free_us = self._free_us(current, excess)
        seconds = -(-(free_us - now_us) // SECOND_US)
        return PolicyDecision.deny(
            f"{listed([quoted(each) for each in self._tools])} may be called {self._limit}"
            f" times in {self._window_s} s, and that is used up",
            f"call {quoted(call.tool)} again in {seconds} s, at {_told(free_us)}",
        )

    def reserves(self, call: Call) -> bool:
        return any_covers(self._tools, call.tool)

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:
        if not self.reserves(call) or _counted(call, facts):
            return NOTHING
        return {
            _WINDOW: self._with_one_more(facts, context),
            _call_key(call): CallCounted(at_us=context.now_us),
        }

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        if not self.reserves(call):
            return NOTHING
        if _counted(call, facts):
            return {_call_key(call): None}
        # It was made though nobody asked; a call that never ran does not count.
        return {_WINDOW: self._with_one_more(facts, context)} if result.ran else NOTHING

    def _with_one_more(self, facts: OwnFacts, context: CheckContext) -> CallTimes:
        marks = _marks(facts)
        now_us = _not_before(marks, context.now_us)
        kept = self._current(marks, now_us)
        last = kept[-1] if kept else None
        if last is not None and last[0] // self._slice_us == now_us // self._slice_us:
            return CallTimes(marks=(*kept[:-1], (now_us, last[1] + 1)))
        return CallTimes(marks=(*kept, (now_us, 1)))

    def _current(self, marks: Sequence[Mark], now_us: int) -> Sequence[Mark]:
        """The marks that the window holds now; a call leaves it when the window's length has passed."""
        return [each for each in marks if each[0] + self._window_us > now_us]

    def _free_us(self, current: Sequence[Mark], excess: int) -> int:
        """When so many of the calls will have left the window."""
        for time_us, count in current:
            excess -= count
            if excess <= 0:
                return time_us + self._window_us
        raise AssertionError("a window can't hold fewer calls than it has too many")


def _marks(facts: OwnFacts) -> Sequence[Mark]:
    times = remembered(facts, _WINDOW, CallTimes)
    return () if times is None else times.marks


def _not_before(marks: Sequence[Mark], now_us: int) -> int:
    """A clock that was set back must not make calls leave, or enter, in the wrong order."""
    return max(now_us, marks[-1][0]) if marks else now_us


def _counted(call: Call, facts: OwnFacts) -> bool:
    return remembered(facts, _call_key(call), CallCounted) is not None


def _call_key(call: Call) -> str:
    return key_of("call", call.call_id)


def _told(time_us: int) -> str:
    return from_micros(time_us).isoformat(timespec="seconds")
