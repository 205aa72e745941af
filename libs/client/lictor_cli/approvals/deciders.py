"""Who may decide on a call, and how many are missing: by the file of approvers where there is one, else as claimed.

Nothing relies on what is shown here: the approval service judges each decision, and the gate judges them again.
"""

import os
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lictor.errors import LictorError
from lictor_approval.call_decisions import counted
from lictor_approval.errors import ConfigRefused
from lictor_approval.quorum import AskProgress, progress, seats_of
from lictor_approval.request_life import RequestLife
from lictor_approval.signed_decisions import Approvers
from lictor_schema.sessions.session_questions import CallAsk


def approvers_option(parser: ArgumentParser) -> None:
    """The file that says who is in a group, and who has a key."""
    parser.add_argument(
        "--approvers",
        metavar="FILE",
        help="the file of approvers, to name who may decide (default: LICTOR_APPROVERS)",
    )


@dataclass(frozen=True, slots=True)
class AskShown:
    """What one policy asks, for people to look at."""

    ask: CallAsk
    approved_by: tuple[str, ...]
    missing: int
    may_decide: tuple[str, ...] | None
    """By name; None without a file of approvers."""

    @property
    def whom(self) -> str:
        """Whom it asks, as its definition names them."""
        named = ", ".join(self.ask.approvers) or "any approver"
        return named if self.ask.needed == 1 else f"{self.ask.needed} of {named}"


@dataclass(frozen=True)
class Deciders:
    """Looks up who may decide; what many requests ask alike is looked up once."""

    approvers: Approvers | None
    now: datetime
    _seen: dict[tuple[str, str, str], tuple[AskShown, ...]] = field(
        default_factory=dict[tuple[str, str, str], tuple[AskShown, ...]]
    )

    @classmethod
    def here(
        cls, given: str | None, now: datetime, environment: Mapping[str, str] = os.environ
    ) -> "Deciders":
        """By the file that is named, or that of LICTOR_APPROVERS; one of these that can't be read is none."""
        path = given or environment.get("LICTOR_APPROVERS")
        try:
            return cls(Approvers.load(Path(path), None) if path else None, now)
        except ConfigRefused as error:
            if given:
                raise LictorError(str(error)) from None
            return cls(None, now)

    def asks(self, life: RequestLife) -> tuple[AskShown, ...]:
        """What each policy asks, and how far the people are."""
        if life.decisions:
            return self._looked_up(life)
        binding = life.call.binding
        key = (binding.asks_hash, binding.agent_id, binding.runtime)
        if key not in self._seen:
            self._seen[key] = self._looked_up(life)
        return self._seen[key]

    def _looked_up(self, life: RequestLife) -> tuple[AskShown, ...]:
        request, approvers = life.call, self.approvers
        if approvers is None:
            by = tuple(each.decision.by for each in life.agreed)
            return tuple(
                AskShown(ask, by, max(0, ask.needed - len(by)), None) for ask in request.asks
            )
        if life.decisions:
            found = counted(request, life.decisions, approvers, self.now).progress(
                request, approvers
            )
        else:
            found = tuple(
                progress(ask, seats_of(ask, approvers, request.binding), ()) for ask in request.asks
            )
        return tuple(self._shown(each, approvers) for each in found)

    def _shown(self, found: AskProgress, approvers: Approvers) -> AskShown:
        trusted = {
            each.key.name for each in approvers.people.keys if each.problem_at(self.now) is None
        }
        may = tuple(name for name in found.may_fill if name in trusted)
        return AskShown(found.ask, found.approved_by, found.missing, may)


def time_left(until: str, now: datetime) -> str:
    """How long people may still decide, or it may still be used."""
    seconds = int((datetime.fromisoformat(until) - now).total_seconds())
    if seconds <= 0:
        return "none"
    for size, unit, smaller, name in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{seconds} s"
