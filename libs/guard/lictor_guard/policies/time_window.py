"""Tools that may be called only at certain times of certain days, by the clocks of a place.

A window that ends at or before the time it begins goes on past midnight, and belongs to the day it began on. Where
clocks are set forward, what they leave out is not there; where they are set back, what they show twice counts twice.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.errors import DefinitionError
from lictor_guard.facts.fact import OwnFacts
from lictor_guard.plugins.tool_call import Call
from lictor_guard.plugins.tool_policy import CheckContext, PolicyDecision, StatelessPolicy
from lictor_guard.text.wording import quoted
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.tool_policy import TimeWindowSpec

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Two weeks: on one day of the first, the window may fall into what a change of the clocks leaves out.
_AHEAD_DAYS = 15
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


class TimeWindow(StatelessPolicy):
    """Denies a call outside of the window, and says when it opens."""

    def __init__(self, spec: TimeWindowSpec) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._days = frozenset(WEEKDAYS.index(each) for each in spec.days)
        self._begins = time.fromisoformat(spec.begins)
        self._ends = time.fromisoformat(spec.ends)
        self._zone = _zone(spec.timezone)
        days = ", ".join(each for each in WEEKDAYS if each in spec.days)
        self._told = f"on {days} from {spec.begins} to {spec.ends} ({spec.timezone})"

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:  # noqa: ARG002
        if not any_covers(self._tools, call.tool):
            return PolicyDecision.allow()
        # A clock that ran fast and was put right must not hold the window open, nor one that went back open it again.
        times = {context.now_us, context.now_us if context.wall_us is None else context.wall_us}
        moments = [from_micros(each) for each in times]
        closed = [each for each in moments if not self._is_open(each)]
        if not closed:
            return PolicyDecision.allow()
        now = max(closed)
        tool = quoted(call.tool)
        return PolicyDecision.deny(
            f"{tool} may be called only {self._told};"
            f" it is {self._shown(now.astimezone(self._zone))}",
            f"call {tool} again at {self._shown(self._next_opening(now))}",
        )

    def _is_open(self, moment: datetime) -> bool:
        local = moment.astimezone(self._zone)
        clock, today = local.time(), local.weekday()
        if self._begins < self._ends:
            return today in self._days and self._begins <= clock < self._ends
        yesterday = (today - 1) % 7
        return (clock >= self._begins and today in self._days) or (
            clock < self._ends and yesterday in self._days
        )

    def _next_opening(self, now: datetime) -> datetime:
        opening = next(each for each in self._openings(now) if self._is_open(each))
        # Where the clocks leave out the beginning, the window is open as soon as they go on.
        while self._is_open(opening - _MINUTE):
            opening -= _MINUTE
        return opening.astimezone(self._zone)

    def _openings(self, now: datetime) -> Iterator[datetime]:
        today = now.astimezone(self._zone).date()
        for ahead in range(_AHEAD_DAYS):
            begins = datetime.combine(today + ahead * _DAY, self._begins, self._zone)
            moments = {begins.replace(fold=fold).astimezone(UTC) for fold in (0, 1)}
            yield from sorted(each for each in moments if each > now)

    def _shown(self, local: datetime) -> str:
        return f"{WEEKDAYS[local.weekday()]} {local.isoformat(sep=' ', timespec='minutes')}"


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise DefinitionError(
            f"there is no time zone {name!r}; give an IANA name such as Europe/Vienna"
        ) from None
