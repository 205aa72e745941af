"""Laws of the journal: nothing that may have happened is forgotten, and nothing is taken back that may not be."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lictor_run.transaction import EffectStage, effects_of, left, outcome, to_undo
from lictor_schema.approvals.run import (
    AnyRunEntry,
    EffectDone,
    EffectFailed,
    EffectStarted,
    RunOutcome,
    RunReason,
    UndoDone,
    UndoFailed,
    UndoKind,
    UndoStarted,
)
from lictor_schema.core.ids import idempotency_key, run_entry_id

RUN_ID = "00000000-0000-4000-8000-00000000000b"
WHY = RunReason(code="x", message="y")
HASH = "sha256:" + "0" * 64


def _entry(kind: Any, call: int, **more: Any) -> Any:
    return kind(
        kind=kind.model_fields["kind"].annotation.__args__[0],
        entry_id=run_entry_id(RUN_ID, call, "w"),
        run_id=RUN_ID,
        task_id="t",
        number=0,
        at="2026-01-31T12:00:00.000Z",
        call=call,
        **more,
    )


@st.composite
def journals(draw: st.DrawFn) -> list[AnyRunEntry]:
    """The journal of a run that was ended at any point, and of the taking back that may have followed."""
    entries: list[AnyRunEntry] = []
    calls = draw(st.integers(0, 5))
    for call in range(calls):
        undo = draw(st.sampled_from(UndoKind))
        key = idempotency_key(RUN_ID, call)
        entries.append(
            _entry(EffectStarted, call, effect="e", arguments={}, idempotency_key=key, undo=undo)
        )
        last = call == calls - 1
        ended = draw(st.sampled_from(["done", "no", "yes", "unknown", ""] if last else ["done"]))
        if ended == "done":
            kept = draw(st.booleans())
            entries.append(_entry(EffectDone, call, result=None, result_hash=HASH, kept=kept))
        elif ended:
            entries.append(_entry(EffectFailed, call, happened=ended, reason=WHY))
    for effect in to_undo(effects_of(entries))[: draw(st.integers(0, 5))]:
        key = idempotency_key(RUN_ID, effect.call, undo=True)
        entries.append(_entry(UndoStarted, effect.call, idempotency_key=key))
        match draw(st.sampled_from(["done", "failed", ""])):
            case "done":
                entries.append(_entry(UndoDone, effect.call))
            case "failed":
                entries.append(_entry(UndoFailed, effect.call, reason=WHY))
            case _:
                break
    return entries


@given(journals())
def test_what_may_be_there_is_to_be_undone_or_named(entries: list[AnyRunEntry]) -> None:
    effects = effects_of(entries)
    named = set(left(effects))
    for effect in effects:
        gone = effect.stage in (EffectStage.NOT_DONE, EffectStage.UNDONE)
        assert (effect.call in named) == (not gone and effect.undo is not UndoKind.NEEDLESS)
    assert {effect.call for effect in to_undo(effects)} <= named


@given(journals())
def test_effects_are_taken_back_from_the_last_to_the_first(entries: list[AnyRunEntry]) -> None:
    calls = [effect.call for effect in to_undo(effects_of(entries))]
    assert calls == sorted(calls, reverse=True)


@given(journals())
def test_only_a_declared_undo_is_called_and_in_doubt_only_one_that_is_made_for_it(
    entries: list[AnyRunEntry],
) -> None:
    for effect in to_undo(effects_of(entries)):
        assert effect.undo in (UndoKind.POSSIBLE, UndoKind.ALWAYS)
        if effect.undo is UndoKind.POSSIBLE:
            assert effect.stage is EffectStage.DONE
            assert effect.has_result


@given(journals())
def test_a_run_that_left_something_is_never_told_as_undone(entries: list[AnyRunEntry]) -> None:
    effects = effects_of(entries)
    became = outcome(effects)
    needs_somebody = became in (RunOutcome.PARTIAL, RunOutcome.IN_DOUBT)
    assert needs_somebody == bool(left(effects))
    assert became is not RunOutcome.EXECUTED
    unknown = any(
        effect.stage in (EffectStage.STARTED, EffectStage.UNDOING)
        and effect.undo is not UndoKind.NEEDLESS
        for effect in effects
    )
    assert became is RunOutcome.IN_DOUBT or not unknown
