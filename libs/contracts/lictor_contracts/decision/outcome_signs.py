"""How a decision ended: the worst of everything that its log and its records show.

Each thing that is shown is a sign: the best outcome that it leaves possible, and why. Nobody chooses an outcome; it is
`worst` of all signs, so no sign can be forgotten by one who looks at another.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from lictor_schema.seals.episode import OutcomeCode

_BADNESS: Final = {
    OutcomeCode.SUCCESS: 0,
    OutcomeCode.PARTIAL: 1,
    OutcomeCode.ABSTAIN: 2,
    OutcomeCode.FAIL: 3,
    OutcomeCode.BYPASSED: 4,
}


class Sign(NamedTuple):
    """Something that was seen of a decision."""

    at_best: OutcomeCode
    """The best outcome that it leaves possible."""
    why: str
    """What was seen, in words."""


def badness(outcome: OutcomeCode) -> int:
    """How bad an outcome is; larger is worse."""
    return _BADNESS[outcome]


def worst(signs: Iterable[Sign]) -> OutcomeCode:
    """The outcome that all signs leave possible; `success` where there is none."""
    return max((each.at_best for each in signs), key=badness, default=OutcomeCode.SUCCESS)


def in_words(signs: Iterable[Sign]) -> str:
    """What was seen, the worst first."""
    seen = sorted(signs, key=lambda each: -badness(each.at_best))
    return "; ".join(dict.fromkeys(each.why for each in seen if each.why))
