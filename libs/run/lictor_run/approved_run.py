"""Runs what was approved as one transaction, and takes back what a run did that did not complete.

The parent's half: it starts the child, writes down what the child reports, and lets it make an effect only when that is
durable. It never runs a program or a layer itself. What the journal can't take (`Fenced`) is not done.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar, get_args

from lictor_run.child_orders import Approved, LayerPlace, UndoOrder, UndoStep
from lictor_run.child_process import Child, child_process
from lictor_run.errors import EntryTooLarge, NotStarted
from lictor_run.run_result import heard_result, too_large
from lictor_run.transaction import EffectStage, RunEffect, effects_of, left, outcome, to_undo
from lictor_schema.approvals.run import (
    MAX_OUTPUT,
    AnyRunEntry,
    EffectDone,
    EffectFailed,
    EffectStarted,
    RunFinished,
    RunOutcome,
    RunReason,
    RunResult,
    UndoDone,
    UndoFailed,
    UndoKind,
    UndoStarted,
)
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.ids import idempotency_key, run_entry_id

E = TypeVar("E", bound=AnyRunEntry)

_MOST_LEFT = 200
_MOST_MESSAGE = 2_000
_MOST_CODE = 256
_LAST_MOMENT_S = 2.0
_REMEDY = "look at what the program and its layer use, then have the program approved again"
_GARBLED = RunReason(
    code="run.garbled", message="the process of the run said what it can't mean", remedy=_REMEDY
)


class Journal(Protocol):
    """Where a run is written down: durable when `append` returns."""

    @property
    def entries(self) -> Sequence[AnyRunEntry]:
        """All of it so far."""
        ...

    async def append(self, entry: AnyRunEntry) -> None:
        """Add an entry; Fenced when somebody else writes there. Outages are waited out."""
        ...


Begin = Callable[[], Awaitable[None]]
"""Claims the approval; returns when nobody else can run by it. Whatever it raises keeps the run from beginning."""


class Run:
    """One run, by its journal."""

    def __init__(
        self,
        run_id: str,
        task_id: str,
        journal: Journal,
        *,
        runtime: str | None = None,
        writer: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.run_id = run_id
        self._task_id = task_id
        self._runtime = runtime
        self._journal = journal
        self._writer = writer
        self._now = now
        self._output = b""

    @property
    def effects(self) -> tuple[RunEffect, ...]:
        """Its effects so far."""
        return effects_of(self._journal.entries)

    async def write(self, kind: type[E], **more: Any) -> E:
        """Add an entry to the journal."""
        number = len(self._journal.entries)
        (name,) = get_args(kind.model_fields["kind"].annotation)
        entry = kind(
            kind=name,
            entry_id=run_entry_id(self.run_id, number, self._writer),
            run_id=self.run_id,
            task_id=self._task_id,
            runtime=self._runtime,
            number=number,
            at=utc_millis(self._now()),
            **more,
        )
        await self._journal.append(entry)
        return entry

    async def execute(self, approved: Approved, place: LayerPlace, begin: Begin) -> RunFinished:
        """Run it to its end; when it does not get there, take back what it did.

        Everything is held against what was approved before `begin` is called; NotStarted when it differs.
        """
        order = {"do": "run", "approved": asdict(approved)}
        talk = _Talk(self, place.limits.wall_s, begin)
        reason = await self._converse(order, place, talk, talk.on_run)
        if not talk.is_ready:
            raise NotStarted(reason or _GARBLED)
        if reason is None:
            return await self._finish(RunOutcome.EXECUTED, None, talk.result)
        return await self.compensate(approved.layer_hash, place, reason)

    async def compensate(
        self, layer_hash: str, place: LayerPlace, reason: RunReason
    ) -> RunFinished:
        """Take back all that can be taken back, and say what became of the run."""
        while steps := to_undo(self.effects):
            told = tuple(
                UndoStep(each.call, each.effect, each.arguments, each.result) for each in steps
            )
            undoing = UndoOrder(run_id=self.run_id, layer_hash=layer_hash, steps=told)
            order = {"do": "undo", "undoing": asdict(undoing)}
            talk = _Talk(self, place.limits.wall_s, _at_once, [effect.call for effect in steps])
            written = len(self._journal.entries)
            trouble = await self._converse(order, place, talk, talk.on_undo)
            if len(self._journal.entries) == written:
                # The layer is not the one that did it, or can't be loaded: nobody here can take it back.
                why = (trouble or _GARBLED).message
                message = f"{reason.message}; and it can't be taken back: {why}"
                reason = reason.model_copy(update={"message": _cut(message)})
                break
        return await self._finish(outcome(self.effects), reason)

    async def give_up(self, reason: RunReason, became: RunOutcome | None = None) -> RunFinished:
        """Say what became of the run without taking anything back; by its journal, if that is not given."""
        return await self._finish(became or outcome(self.effects), reason)

    async def _finish(
        self, became: RunOutcome, reason: RunReason | None, result: RunResult | None = None
    ) -> RunFinished:
        effects = self.effects
        executed = became is RunOutcome.EXECUTED
        written = partial(
            self.write,
            RunFinished,
            outcome=became,
            reason=reason,
            effects=len(effects),
            undone=sum(each.stage is EffectStage.UNDONE for each in effects),
            left=() if executed else left(effects)[:_MOST_LEFT],
            output=self._output.decode(errors="replace")[:MAX_OUTPUT],
            elapsed_ms=self._elapsed_ms(),
        )
        try:
            return await written(result=result)
        except EntryTooLarge:
            if result is None or not result.kept:
                raise
            # A broker that takes less than a result may have: the run is done all the same.
            return await written(result=too_large(len(canonical_json(result.value))))

    def _elapsed_ms(self) -> int:
        """The time since its first entry, whichever runner wrote that: what a reader of the journal counts too."""
        if not self._journal.entries:
            return 0
        begun = datetime.fromisoformat(self._journal.entries[0].at)
        # Another runner's clock may be ahead.
        return max(0, round((self._now() - begun).total_seconds() * 1000))

    async def _converse(
        self,
        order: dict[str, Any],
        place: LayerPlace,
        talk: _Talk,
        on_message: Callable[[Child, dict[str, Any]], Awaitable[None]],
    ) -> RunReason | None:
        """Let a child carry out the order; None when it did, to its end."""
        async with child_process(order, place) as child:
            reason = await talk.until_it_ends(child, on_message)
            child.kill()
            if reason is not None:
                await talk.close(reason)
        self._output = (self._output + bytes(child.output))[:MAX_OUTPUT]
        return reason


class _Talk:
    """What one child says, and what is made of it."""

    def __init__(self, run: Run, wall_s: float, begin: Begin, undoes: Sequence[int] = ()) -> None:
        self._run = run
        self._begin = begin
        self._wall_s = wall_s
        self._next = 0
        self._undoes = bool(undoes)
        self._may_undo = list(undoes)
        self._open: int | None = None
        """The call whose begin or undo was reported, and whose end is not yet."""
        self.result: RunResult | None = None
        """What the target returned, once it has."""
        self.is_ready = False
        """Whether everything was found to be what was approved."""

    async def until_it_ends(
        self, child: Child, on_message: Callable[[Child, dict[str, Any]], Awaitable[None]]
    ) -> RunReason | None:
        """Read from it until it ends; None when it ends well."""
        left_s = self._wall_s
        while True:
            begun = time.monotonic()
            try:
                async with asyncio.timeout(left_s):
                    heard = await child.hear()
            except TimeoutError:
                return RunReason(
                    code="run.timeout",
                    message=f"it took longer than {self._wall_s:g} s",
                    remedy="make it shorter, or give runs more time",
                )
            # The time that the journal takes is not the program's.
            left_s -= time.monotonic() - begun
            if heard is None:
                return _crashed(await child.ended_by_itself(_LAST_MOMENT_S))
            if heard.get("say") == "ended":
                return self._end(heard)
            if heard.get("say") == "ready" and not self.is_ready:
                await self._begin()
                self.is_ready = True
                await child.say({"say": "go"})
                continue
            if not self.is_ready:
                return _GARBLED
            try:
                await on_message(child, heard)
            except (KeyError, ValueError):
                # A child that says what it can't mean is not to be trusted with anything more.
                return _GARBLED

    def _end(self, heard: dict[str, Any]) -> RunReason | None:
        if heard.get("code") is None:
            return self._ended_well(heard)
        try:
            return _reason(heard)
        except (KeyError, ValueError):
            # However malformed its report: it ended, and what it did has to be taken back.
            return _GARBLED

    def _ended_well(self, heard: dict[str, Any]) -> RunReason | None:
        if self._open is not None:
            return _GARBLED
        try:
            self.result = None if self._undoes else heard_result(heard.get("result"))
        except ValueError:
            return _GARBLED
        return None

    async def on_run(self, child: Child, heard: dict[str, Any]) -> None:
        """A message of a running program; ValueError for one that can't come now."""
        match heard:
            case {"say": "started", "call": self._next}:
                _expect(self._open is None)
                call, self._next = self._next, self._next + 1
                await self._run.write(
                    EffectStarted,
                    call=call,
                    effect=heard["effect"],
                    arguments=heard["arguments"],
                    idempotency_key=idempotency_key(self._run.run_id, call),
                    undo=UndoKind(heard["undo"]),
                )
                self._open = call
                await child.say({"say": "go"})
            case {"say": "done", "call": int(call)}:
                _expect(call == self._open)
                await self._run.write(
                    EffectDone,
                    call=call,
                    result=heard["result"],
                    result_hash=heard["result_hash"],
                    kept=heard["kept"],
                )
                self._open = None
            case {"say": "failed", "call": int(call)}:
                _expect(call == self._open)
                await self._run.write(
                    EffectFailed, call=call, happened=heard["happened"], reason=_reason(heard)
                )
                self._open = None
            case _:
                _expect(False)

    async def on_undo(self, child: Child, heard: dict[str, Any]) -> None:
        """A message of a child that takes effects back."""
        match heard:
            case {"say": "undo_started", "call": int(call)}:
                _expect(self._open is None and call in self._may_undo)
                key = idempotency_key(self._run.run_id, call, undo=True)
                await self._run.write(UndoStarted, call=call, idempotency_key=key)
                self._may_undo.remove(call)
                self._open = call
                await child.say({"say": "go"})
            case {"say": "undo_done", "call": int(call)}:
                _expect(call == self._open)
                await self._run.write(UndoDone, call=call)
                self._open = None
            case {"say": "undo_failed", "call": int(call)}:
                _expect(call == self._open)
                await self._run.write(UndoFailed, call=call, reason=_reason(heard))
                self._open = None
            case _:
                _expect(False)

    async def close(self, reason: RunReason) -> None:
        """The child is gone: write down what it left open."""
        if self._open is None:
            return
        if self._undoes:
            await self._run.write(UndoFailed, call=self._open, reason=reason)
        else:
            await self._run.write(EffectFailed, call=self._open, happened="unknown", reason=reason)


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("a child says what can't come now")


async def _at_once() -> None:
    """What was begun may be taken back without anybody's leave."""


def _crashed(status: int | None) -> RunReason:
    if status == -signal.SIGXCPU:
        return RunReason(
            code="run.cpu", message="it used more processor time than it may", remedy=_REMEDY
        )
    told = "is not known" if status is None else f"is {status}"
    message = f"the process of the run ended without a word; its status {told}"
    return RunReason(code="run.crashed", message=message, remedy=_REMEDY)


def _reason(heard: dict[str, Any]) -> RunReason:
    return RunReason(
        code=_cut(str(heard["code"]))[:_MOST_CODE],
        message=_cut(str(heard["message"])),
        remedy=heard.get("remedy"),
    )


def _cut(text: str) -> str:
    # Python puts bytes that are no text into messages as half surrogates, which no journal takes.
    readable = text[:_MOST_MESSAGE].encode(errors="replace").decode()
    return readable or "no reason was given"
