"""A guarded session inside a running agent, without the network: what the asynchronous and the blocking guard share.

An agent that lives on can do what a hook can't: keep a result that nobody took, and report it again before anything
else is asked. Until it is taken, calls are denied and stops are not judged: whoever judged them would not know what
has been done. The report is kept as it was first written, because the files it tells of may have changed since. It is
also kept on disk, where the session's next process finds it when this one has ended.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lictor.errors import SessionRefused, Unreachable
from lictor.fast.answer_reader import deny, read_recorded
from lictor.fast.session_operations import (
    RESULTS,
    Ask,
    HandedOver,
    SessionOperations,
    least_said,
    unique_id,
)
from lictor.fast.unsent_results import KeptResult, Obstacle, Unsent, send_waiting
from lictor.fast.verdicts import (
    RESULTS_UNKNOWN,
    UNANSWERED,
    Advice,
    ReportVerdict,
    SessionStanding,
    StateChange,
    StopVerdict,
    ToolApproval,
    ToolVerdict,
    beyond_agent,
)

if TYPE_CHECKING:
    from lictor.fast.call_wait import Patience
    from lictor.fast.session_operations import Operation, Waiting

log = logging.getLogger("lictor.client")
OnFeedback = Callable[[Advice], None]
OnAsk = Callable[[ToolVerdict], None]
Looked = dict[str, Any]
"""A file that somebody else has looked at, in its JSON form."""
# Markup in what a provider says is escaped, so only blocks begin like this.
_BLOCKS = re.compile(r"\n\n(?=<feedback )")
_PROVIDER = re.compile(r'<feedback provider="[^"]*"')


@dataclass(frozen=True)
class MadeCall:
    """A call that was allowed and is being made."""

    call_id: str
    tool: str
    params: Any
    began_ns: int | None = None
    """None where nobody measured."""

    @classmethod
    def now(cls, call_id: str, tool: str, params: Any) -> "MadeCall":
        """It begins at this moment."""
        return cls(call_id, tool, params, time.monotonic_ns())

    @property
    def duration_ms(self) -> int | None:
        """How long it has been running."""
        if self.began_ns is None:
            return None
        return (time.monotonic_ns() - self.began_ns) // 1_000_000


@dataclass(frozen=True)
class EndedCall:
    """A call that has ended, as it is to be reported."""

    call_id: str
    tool: str
    params: Any
    outcome: str
    error: str | None = None
    duration_ms: int | None = None
    output_sha256: str | None = None
    output: object = None
    usage: Mapping[str, Any] | None = None
    resources: list[Looked] | None = None
    """The files that it names, where somebody else has looked at them."""

    def told(
        self, operations: SessionOperations, *, late: bool = False
    ) -> "Operation[ReportVerdict]":
        """Its report; `late` where files that nobody else has looked at may have changed since."""
        return operations.result(
            self.call_id,
            self.tool,
            self.params,
            self.outcome,
            error=self.error,
            duration_ms=self.duration_ms,
            output_sha256=self.output_sha256,
            output=self.output,
            usage=self.usage,
            late=late and self.resources is None,
            resources=self.resources,
        )


class Guarding:
    """One session: its questions in their right order, what could not be reported, what was not heard yet."""

    def __init__(self, operations: SessionOperations, unsent: Unsent | None = None) -> None:
        """`unsent`: where results wait for the session's next process; None where nobody outlives this one."""
        self._operations = operations
        self._unsent = unsent
        self._on_disk: dict[str, KeptResult] = {}
        self._settled_earlier = unsent is None
        """Whether what earlier processes could not report has been."""
        self._unreported: dict[str, Ask | EndedCall] = {}
        """The report as it was first written, or the call where it could not be written yet."""
        self._unheard: list[Advice] = []

    def begin(
        self, *, prompted: bool = False, deadline_at: str | None = None
    ) -> "Operation[SessionStanding]":
        """Begin the session or go on with it; raises when it can't."""
        self._settled_earlier = self._unsent is None
        standing = yield from self._operations.begin(prompted=prompted, deadline_at=deadline_at)
        what = f"session {self._operations.session_id!r} of {self._operations.runtime!r}"
        if not standing.answered:
            raise Unreachable(f"{what} could not begin: {standing.text}")
        if not standing.ok:
            raise SessionRefused(f"{what} was refused: {standing.text}")
        # Advice may have been waiting since a timer raised it.
        self._hear((yield from self._operations.collect(unique_id())))
        return standing

    def check(
        self,
        call_id: str,
        tool: str,
        params: Any,
        *,
        resources: list[Looked] | None = None,
        patience: "Patience | None" = None,
    ) -> "Waiting[ToolVerdict]":
        """May this tool be called? With `patience`, what a person has to decide is waited for."""
        verdict = yield from self._judge(call_id, tool, params, resources)
        if patience is None or not verdict.asked:
            return verdict
        from lictor.fast.call_wait import waited

        def again() -> "Operation[ToolVerdict]":
            return self._judge(call_id, tool, params, resources)

        return (yield from waited(verdict, again, self._operations.runtime, patience))

    def _judge(
        self, call_id: str, tool: str, params: Any, resources: list[Looked] | None
    ) -> "Operation[ToolVerdict]":
        obstacle = yield from self._settle()
        if obstacle is not None:
            own = deny(
                RESULTS_UNKNOWN if obstacle.here else UNANSWERED,
                f"nobody can judge {tool} now: {obstacle.text}",
                beyond_agent("see that the services run (`lictor doctor`)"),
            )
            return (yield from self.refuse(call_id, tool, own)) if obstacle.here else own
        verdict = yield from self._operations.check(call_id, tool, params, resources=resources)
        return (yield from self._advised(call_id, verdict))

    def refuse(self, call_id: str, tool: object, verdict: ToolVerdict) -> "Operation[ToolVerdict]":
        """Tell of a call that the adapter denies itself."""
        refused = yield from self._operations.refuse(call_id, tool, verdict)
        return (yield from self._advised(call_id, refused))

    def _advised(self, call_id: str, verdict: ToolVerdict) -> "Operation[ToolVerdict]":
        """The verdict with what the agent should hear: one that is only ever denied would hear nothing else."""
        if not verdict.recorded:
            return verdict
        advice = self._hear((yield from self._operations.collect(call_id)))
        fields: dict[str, Any] = {**verdict.to_dict(), "advice": advice}
        return ToolVerdict(**fields)

    def ended(
        self,
        call: MadeCall,
        outcome: str,
        error: BaseException | None = None,
        output: object = None,
    ) -> "Operation[Advice]":
        """A call has ended; what the agent should hear now."""
        recorded = yield from self._report(call, outcome, error, output)
        if not recorded.ok:
            return Advice(answered=recorded.answered)
        return self._hear((yield from self._operations.collect(call.call_id, recorded.look_at)))

    def cancel_approval(self, request_id: str, why: str) -> "Operation[ReportVerdict]":
        """The agent does not want to make a call any more that waits for a person."""
        return (yield from self._operations.cancel(request_id, why))

    def output(self, output: HandedOver) -> "Operation[Advice]":
        """The agent hands over its output; what it should hear, with what is missing."""
        return self._hear((yield from self._operations.collect(unique_id(), output=output)))

    def stop(
        self,
        reason: str,
        final_message: str | None,
        claim: Mapping[str, Any] | None,
        *,
        subagent: bool,
        tentative_output: object = None,
        files: list[Looked] | None = None,
        request_id: str | None = None,
    ) -> "Operation[StopVerdict]":
        """May the agent stop?"""
        obstacle = yield from self._settle()
        if obstacle is None:
            return (
                yield from self._operations.stop(
                    reason,
                    final_message=final_message,
                    claim=claim,
                    tentative_output=tentative_output,
                    subagent=subagent,
                    files=files,
                    request_id=request_id,
                )
            )
        return (yield from self._operations.stop_unjudged(obstacle.text))

    def used(self, usage: Mapping[str, Any], report_id: str | None) -> "Operation[ReportVerdict]":
        """Tokens or money were used."""
        return (yield from self._operations.usage(report_id or unique_id(), usage))

    def snapshot(self, snapshot_id: str, *, with_document: bool) -> "Operation[StateChange]":
        """Keep the session's state."""
        return (yield from self._operations.snapshot(snapshot_id, with_document=with_document))

    def restore(
        self, cause: str, snapshot_id: str | None, document: Mapping[str, Any] | None
    ) -> "Operation[StateChange]":
        """Set it back."""
        return (
            yield from self._operations.restore(cause, snapshot_id=snapshot_id, document=document)
        )

    def reset(self, cause: str) -> "Operation[StateChange]":
        """Forget what policies and providers know."""
        return (yield from self._operations.reset(cause))

    @property
    def in_debt(self) -> bool:
        """Whether there are results that nobody took."""
        return bool(self._unreported)

    def settle(self) -> "Operation[None]":
        """The agent ends: one more try to report what nobody took. Whatever comes of it, `keep_rest` has to follow."""
        if self._unreported:
            yield from self._settle()

    def keep_rest(self) -> None:
        """Leave what nobody took to the session's next process, which will be denied everything until it is."""
        for call_id in list(self._unreported):
            self._keep_on_disk(call_id)
        if self._unreported:
            log.warning(
                "session %s of %s ends with results that nobody took (calls %s); they are reported when it goes on",
                self._operations.session_id,
                self._operations.runtime,
                ", ".join(self._unreported),
            )

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What was advised and not taken yet, oldest first."""
        return tuple(self._unheard)

    @property
    def advice_text(self) -> str:
        """The same as one text for the agent: of each provider what it said last, since time goes on meanwhile."""
        newest: dict[str, str] = {}
        for advice in self._unheard:
            for block in _BLOCKS.split(advice.text):
                found = _PROVIDER.match(block)
                key = block if found is None else found.group()
                newest.pop(key, None)
                newest[key] = block
        return "\n\n".join(newest.values())

    def take_advice(self) -> str:
        """That text; it counts as heard from now on."""
        text = self.advice_text
        self._unheard = []
        return text

    def _hear(self, advice: Advice) -> Advice:
        if advice.text:
            self._unheard.append(advice)
        return advice

    def _report(
        self, call: MadeCall, outcome: str, error: BaseException | None, output: object
    ) -> "Operation[ReportVerdict]":
        ended = EndedCall(
            call.call_id,
            call.tool,
            call.params,
            outcome,
            error=None if error is None else f"{type(error).__name__}: {error}"[:2000],
            duration_ms=call.duration_ms,
            output=output,
        )
        return (yield from self.report(ended))

    def report(self, call: EndedCall) -> "Operation[ReportVerdict]":
        """Report a result, after those of all calls that ended before; it is kept until somebody takes it."""
        call_id, operation = call.call_id, call.told(self._operations)
        # Before anything is asked: where nobody tells how the session stands, there never is a report to keep.
        self._unreported.setdefault(call_id, call)
        try:
            ask = self._keep(call_id, next(operation))
            obstacle = yield from self._settle(before=call_id)
            if obstacle is not None:
                self._keep_on_disk(call_id)
                return ReportVerdict(ok=False, answered=False, text=obstacle.text)
            while True:
                ask = self._keep(call_id, operation.send((yield ask)))
        except StopIteration as done:
            recorded: ReportVerdict = done.value
            # Of a session that never began nobody will ever take anything, nor allow it anything.
            if recorded.ok or recorded.unknown:
                self._taken(call_id)
            else:
                self._keep_on_disk(call_id)
            return recorded

    def _keep(self, call_id: str, ask: Ask) -> Ask:
        if ask.subject.startswith(RESULTS):
            self._unreported[call_id] = ask
        return ask

    def _keep_on_disk(self, call_id: str) -> None:
        owed = self._unreported.get(call_id)
        if owed is None or self._unsent is None or call_id in self._on_disk:
            return
        fields: dict[str, Any] = (
            vars(owed) if isinstance(owed, EndedCall) else json.loads(owed.body)
        )
        names = ("call_id", "tool", "params", "outcome", "error")
        kept = self._on_disk[call_id] = self._unsent.keep({name: fields[name] for name in names})
        kept.stay()
        if not kept.whole:
            log.error(
                "the result of call %s can't be kept: it is lost when this process ends", call_id
            )

    def _taken(self, call_id: str) -> None:
        self._unreported.pop(call_id, None)
        kept = self._on_disk.pop(call_id, None)
        if kept is not None:
            kept.forget()

    def _settle(self, before: str | None = None) -> "Operation[Obstacle | None]":
        """Report what nobody has taken yet, in the order in which the calls ended; why it is not taken, or None.

        Somebody else may be about to report the same: a call counts once, and a test that passed before an edit
        must not be counted after it.
        """
        if not self._settled_earlier and self._unsent is not None:
            # A copy: other calls of the session end in other threads meanwhile.
            own = frozenset(kept.name for kept in list(self._on_disk.values()))
            obstacle = yield from send_waiting(self._operations, self._unsent, but=own)
            if obstacle is not None:
                return obstacle
            self._settled_earlier = True
        for call_id, owed in list(self._unreported.items()):
            if call_id == before:
                break
            if isinstance(owed, EndedCall):
                recorded = yield from owed.told(self._operations, late=True)
            else:
                recorded = yield from self._again(call_id, owed)
            if not recorded.ok and not recorded.unknown:
                text = f"the result of call {call_id} was not taken ({recorded.text})"
                return Obstacle(text=text, here=False)
            self._taken(call_id)
        return None

    def _again(self, call_id: str, ask: Ask) -> "Operation[ReportVerdict]":
        fields: dict[str, Any] = json.loads(ask.body)
        recorded = read_recorded(fields["request_id"], (yield ask))
        if recorded.hopeless:
            less = json.dumps(least_said(fields)).encode()
            ask = self._keep(call_id, Ask(subject=ask.subject, body=less, timeout_s=ask.timeout_s))
            recorded = read_recorded(fields["request_id"], (yield ask))
        return recorded


def tell(on_feedback: OnFeedback | None, advice: Advice) -> None:
    """Hand advice over; a listener that fails harms neither the tool's result nor the next call."""
    if not advice.text or on_feedback is None:
        return
    try:
        on_feedback(advice)
    except Exception:
        log.exception("on_feedback failed; the advice is still in `advice`")


class AskNotices:
    """Tells a listener how the request about one call stands, whenever that has changed."""

    def __init__(self, on_ask: OnAsk | None) -> None:
        self._on_ask = on_ask
        self._last: ToolApproval | None = None

    def __call__(self, verdict: ToolVerdict) -> None:
        """Hand on a verdict that a person has, or is to have, a say in."""
        if verdict.approval is None or verdict.approval == self._last or self._on_ask is None:
            return
        self._last = verdict.approval
        try:
            self._on_ask(verdict)
        except Exception:
            log.exception("on_ask failed; the request is on record all the same")
