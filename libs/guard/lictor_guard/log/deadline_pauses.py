"""How long a session's deadline stands still while calls wait for people.

It stands still while at least one request waits that lets it, and in all for no longer than people have for one
request: an agent that has one request made after the other gets no more time than by the longest of them. A request
waits from when it was made until people had decided, as far as the log tells.
"""

from collections.abc import Iterable, Mapping

from lictor_guard.facts.approval_facts import Pauses, Span, WaitingRequest
from lictor_guard.facts.session_facts import Identity

MAX_SPANS = 64
"""So many pauses that are over are told apart while something else waits; the earliest count no more beyond that."""

Waiting = Mapping[str, WaitingRequest]


def with_pauses(
    pauses: Pauses, before: Waiting, after: Waiting, at_us: int, settled_us: int
) -> Pauses:
    """The pauses once what waits has changed; what waits no more did so until `settled_us`."""
    ended = [
        (_since(each, at_us), min(each.expires_us, settled_us, at_us))
        for name, each in before.items()
        if name not in after and each.pauses_deadline
    ]
    over = _union((*pauses.over, *ended))[-MAX_SPANS:]
    pausing = [each for each in after.values() if each.pauses_deadline]
    lengths = (each.expires_us - _since(each, at_us) for each in pausing)
    longest_us = max((pauses.longest_us, *lengths))
    if pausing:
        return Pauses(over=over, before_us=pauses.before_us, longest_us=longest_us)
    # Nothing waits whose end may turn out to have been earlier.
    return Pauses(before_us=pauses.before_us + _length(over), longest_us=longest_us)


def put_off(identity: Identity, pauses: Pauses, waiting: Waiting, at_us: int) -> Identity:
    """The session's deadline by these pauses, as it is at a moment, and how far it may still go."""
    if identity.deadline_us is None:
        return identity
    pausing = [each for each in waiting.values() if each.pauses_deadline]
    still = [(_since(each, at_us), min(each.expires_us, at_us)) for each in pausing]
    waited_us = pauses.before_us + _length(_union((*pauses.over, *still)))
    waited_us = min(waited_us, pauses.longest_us)
    until_us = max((each.expires_us for each in pausing), default=0)
    until_us = min(until_us, at_us + pauses.longest_us - waited_us)
    goes_on = until_us <= at_us
    return identity.model_copy(
        update={
            "deadline_us": identity.deadline_us - (identity.waited_us or 0) + waited_us,
            "waited_us": waited_us or None,
            "paused_since_us": None if goes_on else at_us,
            "paused_until_us": None if goes_on else until_us,
        }
    )


def _since(request: WaitingRequest, at_us: int) -> int:
    return at_us if request.since_us is None else request.since_us


def _union(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same moments in spans that don't touch, in order."""
    found: list[Span] = []
    for since_us, until_us in sorted(each for each in spans if each[0] < each[1]):
        if found and since_us <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], until_us)
        else:
            found.append((since_us, until_us))
    return tuple(found)


def _length(spans: Iterable[Span]) -> int:
    return sum(until_us - since_us for since_us, until_us in spans)
