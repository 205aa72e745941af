"""What the journal of a run says: which effects happened, which are to be taken back, and what became of it all; pure.

A run is all or compensated. When it ends early, every effect that is known to have happened is taken back, the last one
first. What can't be, and what nobody knows, is named, for somebody to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from lictor_schema.approvals.run import (
    AnyRunEntry,
    EffectDone,
    EffectFailed,
    EffectStarted,
    RunFinished,
    RunOutcome,
    UndoDone,
    UndoFailed,
    UndoKind,
    UndoStarted,
)


class EffectStage(StrEnum):
    """How far an effect is."""

    STARTED = "started"
    """It may have happened."""
    DONE = "done"
    HAPPENED = "happened"
    """It happened, and what it returned is not known or not usable."""
    NOT_DONE = "not_done"
    UNDOING = "undoing"
    """It may have been taken back."""
    UNDONE = "undone"
    STUCK = "stuck"
    """Taking it back failed."""


@dataclass(frozen=True, slots=True)
class RunEffect:
    """One call of a run, by all that its journal says."""

    call: int
    effect: str
    arguments: Mapping[str, Any]
    undo: UndoKind
    stage: EffectStage = EffectStage.STARTED
    result: Any = None
    has_result: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether nothing of it is there, or nothing that matters."""
        return (
            self.stage in (EffectStage.NOT_DONE, EffectStage.UNDONE)
            or self.undo is UndoKind.NEEDLESS
        )

    @property
    def is_in_doubt(self) -> bool:
        """Whether nobody knows if something of it is there."""
        return not self.is_settled and self.stage in (
            EffectStage.STARTED,
            EffectStage.UNDOING,
            EffectStage.STUCK,
        )

    @property
    def can_be_undone(self) -> bool:
        """Whether its undo may be called now."""
        if self.is_settled or self.stage is EffectStage.STUCK:
            return False
        if self.undo is UndoKind.ALWAYS:
            return True
        return self.undo is UndoKind.POSSIBLE and self.stage is EffectStage.DONE and self.has_result


def effects_of(entries: Iterable[AnyRunEntry]) -> tuple[RunEffect, ...]:
    """The calls of a run in their order."""
    found: dict[int, RunEffect] = {}
    for entry in entries:
        match entry:
            case EffectStarted():
                found[entry.call] = RunEffect(entry.call, entry.effect, entry.arguments, entry.undo)
            case EffectDone():
                found[entry.call] = replace(
                    found[entry.call],
                    stage=EffectStage.DONE,
                    result=entry.result,
                    has_result=entry.kept,
                )
            case EffectFailed():
                found[entry.call] = replace(found[entry.call], stage=_FAILED[entry.happened])
            case UndoStarted():
                found[entry.call] = replace(found[entry.call], stage=EffectStage.UNDOING)
            case UndoDone():
                found[entry.call] = replace(found[entry.call], stage=EffectStage.UNDONE)
            case UndoFailed():
                found[entry.call] = replace(found[entry.call], stage=EffectStage.STUCK)
            case _:
                pass
    return tuple(found[call] for call in sorted(found))


_FAILED: Mapping[str, EffectStage] = {
    "no": EffectStage.NOT_DONE,
    "yes": EffectStage.HAPPENED,
    "unknown": EffectStage.STARTED,
}


def to_undo(effects: Iterable[RunEffect]) -> tuple[RunEffect, ...]:
    """What is to be taken back, in the order in which it is to be done: the last first."""
    return tuple(effect for effect in reversed(tuple(effects)) if effect.can_be_undone)


def left(effects: Iterable[RunEffect]) -> tuple[int, ...]:
    """The calls of a run that ended early that somebody has to look at."""
    return tuple(effect.call for effect in effects if not effect.is_settled)


def outcome(effects: Iterable[RunEffect]) -> RunOutcome:
    """What became of a run that ended early, once everything was tried to take it back."""
    effects = tuple(effects)
    if any(effect.is_in_doubt for effect in effects):
        return RunOutcome.IN_DOUBT
    if left(effects):
        return RunOutcome.PARTIAL
    if any(effect.stage is EffectStage.UNDONE for effect in effects):
        return RunOutcome.COMPENSATED
    return RunOutcome.FAILED


def finished(entries: Iterable[AnyRunEntry]) -> RunFinished | None:
    """The end of a run, if its journal has one."""
    return next((entry for entry in entries if isinstance(entry, RunFinished)), None)
