"""Who may decide on a call, and how many of them are still needed.

Each approver whom a policy names has one seat, and each seat counts once. Who has a seat may fill it, or name somebody
else of the approvers' file who may fill it too; so a delegation never makes two voices of one. A person fills one seat
of a policy, however many they may. The agent that wants to call and its runtime have none, and fill none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lictor_approval.signed_decisions import Approvers
from lictor_contracts.action.judgement import one_person
from lictor_schema.approvals.call_approval import CallBinding
from lictor_schema.sessions.session_questions import CallAsk
from lictor_seal import TrustedKey

MAX_HANDS = 2
"""So often a seat is passed on: who has it names another, who may name one more."""

Seats = Mapping[str, int]
"""The seats that a person may fill, by whose they are: how often each was passed on."""


@dataclass(frozen=True, slots=True)
class AskProgress:
    """How far the people are whom one policy asks."""

    ask: CallAsk
    may_fill: Mapping[str, Seats]
    """By person, the seats that they may fill."""
    approved_by: tuple[str, ...]
    """Who has approved and may, in the order they did."""
    filled: int
    """How many seats their approvals fill."""

    @property
    def missing(self) -> int:
        """How many more must approve."""
        return max(0, self.ask.needed - self.filled)


def seats_of(
    ask: CallAsk,
    approvers: Approvers,
    binding: CallBinding,
    delegations: Iterable[tuple[str, str]] = (),
) -> Mapping[str, Seats]:
    """By person, the seats that they may fill, after these delegations (who, to whom) in their order."""
    may_fill: dict[str, dict[str, int]] = {
        each.key.name: {each.key.name: 0}
        for each in approvers.people_named(ask.approvers)
        if asking_side(each, binding) is None
    }
    for giver, taker in delegations:
        taken = approvers.person(taker)
        if taken is None or taken.key.name == giver or asking_side(taken, binding):
            continue
        for seat, hands in may_fill.get(giver, {}).items():
            if hands < MAX_HANDS:
                fills = may_fill.setdefault(taken.key.name, {})
                fills[seat] = min(hands + 1, fills.get(seat, hands + 1))
    return may_fill


def asking_side(approver: TrustedKey, binding: CallBinding) -> str | None:
    """Whom an approver's name, or the id of the key, makes one who decides nothing here: the agent, or its runtime."""
    sides = {"the agent": binding.agent_id, "the runtime of the agent": binding.runtime}
    own = (approver.key.name, approver.key.key_id)
    return next((who for who, name in sides.items() if any(one_person(e, name) for e in own)), None)


def progress(
    ask: CallAsk, may_fill: Mapping[str, Seats], approved_by: Sequence[str]
) -> AskProgress:
    """How far they are with these approvals; one by somebody who may fill no seat is not counted."""
    counted = tuple(dict.fromkeys(name for name in approved_by if may_fill.get(name)))
    return AskProgress(ask, may_fill, counted, _filled({name: may_fill[name] for name in counted}))


def _filled(may_fill: Mapping[str, Seats]) -> int:
    """The most seats that these people can fill, each one of them: a maximum matching, by augmenting paths."""
    taken: dict[str, str] = {}

    def seated(person: str, tried: set[str]) -> bool:
        for seat in may_fill[person]:
            if seat not in tried:
                tried.add(seat)
                if seat not in taken or seated(taken[seat], tried):
                    taken[seat] = person
                    return True
        return False

    return sum(seated(person, set()) for person in may_fill)
