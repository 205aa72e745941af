"""The parent believes its child nothing that can't be so: what it says out of turn ends the run, and is not written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from runs_on_disk import RUN_ID, TASK_ID, MemoryJournal, at_once

from lictor_run import approved_run
from lictor_run.approved_run import Run
from lictor_run.child_orders import Approved, LayerPlace
from lictor_run.errors import NotStarted
from lictor_schema.approvals.run import RunOutcome

APPROVED = Approved(
    run_id=RUN_ID,
    program="",
    language="python",
    source_name="p",
    target="main",
    program_hash="",
    ir_hash="",
    layer_hash="",
    guarantees=(),
    python=None,
)
READY = {"say": "ready"}
ENDED = {"say": "ended", "code": None, "result": {"value": None}}
HASH = "sha256:" + "0" * 64


def _started(call: int, **more: Any) -> dict[str, Any]:
    return {
        "say": "started",
        "call": call,
        "effect": "send",
        "arguments": {},
        "undo": "impossible",
        **more,
    }


def _done(call: int) -> dict[str, Any]:
    return {"say": "done", "call": call, "result": None, "result_hash": HASH, "kept": True}


class Scripted:
    """A child that says what it was told to, whatever it is answered."""

    def __init__(self, says: list[dict[str, Any]]) -> None:
        self._says = list(says)
        self.output = bytearray()

    async def hear(self) -> dict[str, Any] | None:
        return self._says.pop(0) if self._says else None

    async def say(self, message: Any) -> None: ...

    async def ended_by_itself(self, within_s: float) -> int:
        return 0

    def kill(self) -> None: ...


async def _run(
    patch: pytest.MonkeyPatch, *says: dict[str, Any]
) -> tuple[RunOutcome, str | None, list[str]]:
    @asynccontextmanager
    async def child_process(_order: Any, _place: Any) -> AsyncIterator[Scripted]:
        yield Scripted(list(says))

    patch.setattr(approved_run, "child_process", child_process)
    journal = MemoryJournal()
    run = Run(RUN_ID, TASK_ID, journal, writer="w")
    ended = await run.execute(APPROVED, LayerPlace("."), at_once)
    code = None if ended.reason is None else ended.reason.code
    return ended.outcome, code, journal.kinds[:-1]


async def test_a_child_that_tells_the_truth_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    told = await _run(monkeypatch, READY, _started(0), _done(0), ENDED)
    assert told == (RunOutcome.EXECUTED, None, ["effect_started", "effect_done"])


@pytest.mark.parametrize(
    ("says", "outcome", "kinds"),
    [
        ([_done(0)], RunOutcome.FAILED, []),
        ([_started(1)], RunOutcome.FAILED, []),
        (
            [_started(0), _started(1)],
            RunOutcome.IN_DOUBT,
            ["effect_started", "effect_failed"],
        ),
        ([_started(0), _done(1)], RunOutcome.IN_DOUBT, ["effect_started", "effect_failed"]),
        ([_started(0), ENDED], RunOutcome.IN_DOUBT, ["effect_started", "effect_failed"]),
        ([_started(0, undo="perhaps")], RunOutcome.FAILED, []),
        ([_started(0, arguments=[1])], RunOutcome.FAILED, []),
        ([{"say": "undo_done", "call": 0}], RunOutcome.FAILED, []),
        ([{"hello": 1}], RunOutcome.FAILED, []),
        ([{"say": "ended", "code": "x"}], RunOutcome.FAILED, []),
        # Without a word about its result, or with one that it can't mean, it did not end well.
        ([{"say": "ended", "code": None}], RunOutcome.FAILED, []),
        ([{**ENDED, "result": {"value": "x" * 300_000}}], RunOutcome.FAILED, []),
        ([{**ENDED, "result": {"value": 1, "size": 1}}], RunOutcome.FAILED, []),
        (
            [{"say": "ended", "code": "x", "message": "m", "remedy": 7}],
            RunOutcome.FAILED,
            [],
        ),
        (
            [_started(0), {"say": "ended", "code": "x", "message": "m", "remedy": ""}],
            RunOutcome.IN_DOUBT,
            ["effect_started", "effect_failed"],
        ),
    ],
    ids=str,
)
async def test_a_child_that_says_what_can_not_be_ends_its_run(
    monkeypatch: pytest.MonkeyPatch,
    says: list[dict[str, Any]],
    outcome: RunOutcome,
    kinds: list[str],
) -> None:
    assert await _run(monkeypatch, READY, *says) == (outcome, "run.garbled", kinds)


async def test_a_child_that_is_not_ready_makes_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    for says in ([_started(0)], [ENDED], []):
        with pytest.raises(NotStarted):
            await _run(monkeypatch, *says)


async def test_a_reason_that_is_no_text_is_told_as_far_as_it_can_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = {"say": "ended", "code": "program.raised\ud800" * 99, "message": "\udcff is no text"}
    outcome, code, _ = await _run(monkeypatch, READY, _started(0), _done(0), ended)
    assert outcome is RunOutcome.PARTIAL
    assert str(code).startswith("program.raised?")
