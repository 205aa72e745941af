"""How far the handling of a drift event is: new, triaged, patch planned, patched, verified; one step at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lictor_contracts.action.judgement import is_somebody, one_person
from lictor_contracts.drift.events import worst
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.drift import DriftEvent, DriftSeverity, TriageState


class TriageRefused(ContractError):
    """A move that is not legal; says which one would be."""


@dataclass(frozen=True, slots=True)
class TriageStep:
    """One step, and who took it."""

    state: TriageState
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Triage:
    """Where one drift event stands, and how it came there."""

    drift_id: str
    severity: DriftSeverity
    """The worst it was delivered with."""
    received_at: datetime
    moves: tuple[TriageStep, ...] = ()

    @property
    def state(self) -> TriageState:
        """Where it stands."""
        return self.moves[-1].state if self.moves else TriageState.NEW


def received(current: Triage | None, event: DriftEvent) -> Triage:
    """A drift event has come in; one that is known keeps its place and its worst severity."""
    if current is None:
        return Triage(event.drift_id, event.severity, event.detected_at)
    if current.drift_id != event.drift_id:
        raise TriageRefused(
            f"drift {event.drift_id} is not {current.drift_id}; give it a triage of its own"
        )
    return replace(current, severity=worst(current.severity, event.severity))


def moved(current: Triage, to: TriageState, by: str, at: datetime) -> Triage:
    """Take the next step. Repeating the last step changes nothing; anything else is refused."""
    step = TriageStep(to, by, at)
    if current.moves and current.moves[-1] == step:
        return current
    if not current.state.may_become(to):
        raise TriageRefused(
            f"drift {current.drift_id} is {current.state.value} and can't become {to.value};"
            f" {_legal(current.state)}"
        )
    if not is_somebody(by):
        raise TriageRefused(
            f"drift {current.drift_id}: nobody is named for the move to {to.value}; say who makes it"
        )
    last = current.moves[-1].at if current.moves else current.received_at
    if at < last:
        raise TriageRefused(
            f"drift {current.drift_id}: the move to {to.value} is dated {at.isoformat()}, before"
            f" what came before it ({last.isoformat()}); correct the clock that dated it"
        )
    return replace(current, moves=(*current.moves, step))


def refuse_alone(current: Triage, to: TriageState, by: str, *, patch_applied: bool) -> None:
    """Refuse that one person alone says of red drift that it is patched, when no patch of its cause was applied."""
    if to is not TriageState.PATCHED or current.severity is not DriftSeverity.RED or patch_applied:
        return
    if all(one_person(by, each.by) for each in current.moves):
        raise TriageRefused(
            f"drift {current.drift_id} is red, no patch of its cause was applied since, and {by}"
            " alone has handled it; apply a patch, or have somebody else say that it is patched"
        )


def _legal(state: TriageState) -> str:
    following: Sequence[TriageState] = [each for each in TriageState if state.may_become(each)]
    return f"it may become {following[0].value}" if following else "nothing follows"
