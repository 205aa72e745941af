"""How often a request is read that waits for people: an agent that polls takes the gate from nobody else.

Only what allows nothing is remembered, and only for a moment. Whoever asks as clients do, from time to time and when
they have heard of something, is always answered by what is stored now.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from lictor_guard.session.asking import ReadApproval

EVERY_NS = 200_000_000
"""So often a request is read for good."""
AT_ONCE = 10
"""So many times, where it was left alone before."""
MOST = 4096
"""So many requests are remembered; what was asked about longest ago is forgotten, and read again."""


_BEING_READ = ReadApproval(standing="waiting", problem="what people said is being read")


@dataclass(slots=True)
class _Pace:
    """One request that people are asked about."""

    found: ReadApproval | None = _BEING_READ
    """What was found last, while that allows nothing."""
    paid_until_ns: int = 0
    """Until when its reads are used up: each uses some time, and time that passes gives it back."""


class ReadPace:
    """What was found about each request, while it has to do in place of another read."""

    def __init__(self, monotonic_ns: Callable[[], int]) -> None:
        self._monotonic_ns = monotonic_ns
        self._paces: OrderedDict[str, _Pace] = OrderedDict()

    def instead(self, request_id: str) -> ReadApproval | None:
        """What is answered without a read; None if it is to be read now, which is counted."""
        pace = self._paces.setdefault(request_id, _Pace())
        self._paces.move_to_end(request_id)
        if len(self._paces) > MOST:
            self._paces.popitem(last=False)
        now_ns = self._monotonic_ns()
        if pace.found is not None and pace.paid_until_ns >= now_ns + AT_ONCE * EVERY_NS:
            return pace.found
        pace.paid_until_ns = max(pace.paid_until_ns, now_ns) + EVERY_NS
        return None

    def found(self, request_id: str, found: ReadApproval) -> None:
        """Note what a read found."""
        pace = self._paces.get(request_id)
        if pace is not None:
            pace.found = found if found.standing in (None, "waiting") else None
