"""What the amounts in a parameter come to, over a window or the whole session, stays under a limit.

An amount counts from the moment that its call is allowed, so that calls side by side can't pass together. It is given
back only if the call is reported as never run; a call that failed may have paid. Amounts are exact (`text.amounts`).
What was spent is spent: neither a restore nor a reset gives it back.

As in `rate_limit`, the amounts of one SLICES-th of the window are kept as one, at the time of the last: never too much
passes, but a call may have to wait that much longer.
"""

from collections.abc import Sequence

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.facts.fact import Changes, Fact, OwnFacts, key_of, remembered
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import NOTHING, CheckContext, PolicyDecision, StatelessPolicy
from lictor_guard.policies.parameters import MAX_TEXTS, MISSING, UNREACHABLE, reached
from lictor_guard.text.amounts import NoAmountError, spelled_amount, units_of
from lictor_guard.text.wording import beyond_agent, listed, quoted
from lictor_schema.core.time import SECOND_US, from_micros
from lictor_schema.sessions.sequence_policy import TotalSpec

SLICES = 128
_SPENT = "spent"


class Spent(Fact, kind="spent", retention="lasting"):
    """The amounts of the window, oldest first."""

    marks: tuple[tuple[int, int], ...] = ()
    """A time, and what was spent until then since the mark before, in units (`text.amounts`)."""
    last_call: str | None = None
    """The call that was counted last."""
    unknown_call: str | None = None
    """The last call that ran with an amount that nobody can tell."""
    unknown_us: int = 0


class AmountCounted(Fact, kind="amount-counted", retention="lasting"):
    """What a call that was allowed and has not ended was counted with."""

    units: int
    at_us: int


class Total(StatelessPolicy):
    """Denies a call whose amount would go beyond the limit."""

    def __init__(self, spec: TotalSpec) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._param = spec.param
        self._limit = units_of(spec.limit)
        self._window_s = spec.window_s
        self._window_us = None if spec.window_s is None else spec.window_s * SECOND_US
        self._slice_us = None if self._window_us is None else max(1, self._window_us // SLICES)

    def keys(self, call: Call) -> Sequence[str]:
        return (_SPENT, _call_key(call)) if self.reserves(call) else ()

    def reserves(self, call: Call) -> bool:
        return any_covers(self._tools, call.tool)

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:
        if not self.reserves(call) or _counted(call, facts) is not None:
            return PolicyDecision.allow()
        param = quoted(self._param)
        try:
            amount = self._amount(call)
        except NoAmountError as error:
            return PolicyDecision.deny(
                f"parameter {param} {error}, and its amounts are added up",
                f"give {param} a plain number, such as 12.50, without a sign or a currency",
            )
        spent = _spent(facts)
        now_us = _not_before(spent, context.now_us)
        if spent.unknown_call is not None and self._holds(spent.unknown_us, now_us):
            return PolicyDecision.deny(
                f"what call {quoted(spent.unknown_call)} had in {param} is not known, so nobody can"
                " tell what is left",
                beyond_agent("look at what that call did"),
            )
        marks = self._current(spent, now_us)
        left = self._limit - sum(units for _, units in marks)
        if amount <= left:
            return PolicyDecision.allow()
        return PolicyDecision.deny(
            f"{self._told()} and {spelled_amount(self._limit - left)} is used, last by call"
            f" {quoted(spent.last_call or '')}; {spelled_amount(amount)} is too much"
            if marks
            else f"{self._told()}; {spelled_amount(amount)} is too much",
            self._remedy(call, marks, amount, left, now_us),
        )

    def on_allowed(self, call: Call, facts: OwnFacts, context: CheckContext) -> Changes:
        if not self.reserves(call) or _counted(call, facts) is not None:
            return NOTHING
        try:
            amount = self._amount(call)
        except NoAmountError:
            # Only where another section's policy let it pass: this one does not gate it, but adds it up.
            return {_SPENT: self._unknown(call, facts, context)}
        spent = _spent(facts)
        at_us = _not_before(spent, context.now_us)
        return {
            _SPENT: self._with(call, spent, amount, at_us),
            _call_key(call): AmountCounted(units=amount, at_us=at_us),
        }

    def on_result(
        self, call: Call, result: Result, facts: OwnFacts, context: CheckContext
    ) -> Changes:
        if not self.reserves(call):
            return NOTHING
        counted = _counted(call, facts)
        forget: Changes = {} if counted is None else {_call_key(call): None}
        if not result.ran:
            return forget if counted is None else {**forget, _SPENT: self._without(counted, facts)}
        try:
            amount = self._amount(call)
        except NoAmountError:
            if counted is not None and self._is_missing(call):
                # A report may leave out the parameters.
                return forget
            return {**forget, _SPENT: self._unknown(call, facts, context)}
        more = amount - (0 if counted is None else counted.units)
        if more <= 0:
            return forget
        spent = _spent(facts)
        at_us = _not_before(spent, context.now_us)
        return {**forget, _SPENT: self._with(call, spent, more, at_us)}

    def _amount(self, call: Call) -> int:
        """All that the parameter stands for, added up."""
        total = 0
        for number, value in enumerate(reached(call.params, self._param)):
            if number == MAX_TEXTS:
                raise NoAmountError(f"stands for more than {MAX_TEXTS} values")
            if value is MISSING or value is None:
                raise NoAmountError("is missing")
            if value is UNREACHABLE:
                raise NoAmountError("can't be looked at: what should hold it is no object")
            total += units_of(value)
        return total

    def _is_missing(self, call: Call) -> bool:
        return self._param.split(".")[0] not in call.params and self._param not in call.params

    def _holds(self, time_us: int, now_us: int) -> bool:
        return self._window_us is None or time_us + self._window_us > now_us

    def _current(self, spent: Spent, now_us: int) -> list[tuple[int, int]]:
        """The marks that the window holds now."""
        return [each for each in spent.marks if self._holds(each[0], now_us)]

    def _slice(self, time_us: int) -> int:
        return 0 if self._slice_us is None else time_us // self._slice_us

    def _with(self, call: Call, spent: Spent, amount: int, at_us: int) -> Spent:
        marks = self._current(spent, at_us)
        if marks and self._slice(marks[-1][0]) == self._slice(at_us):
            amount += marks.pop()[1]
        marks.append((at_us, amount))
        return _stored(spent, marks, last_call=call.call_id)

    def _without(self, counted: AmountCounted, facts: OwnFacts) -> Spent:
        spent = _spent(facts)
        slice_ = self._slice(counted.at_us)
        left = [
            (time_us, units - (counted.units if self._slice(time_us) == slice_ else 0))
            for time_us, units in spent.marks
        ]
        return _stored(spent, [each for each in left if each[1] > 0])

    def _unknown(self, call: Call, facts: OwnFacts, context: CheckContext) -> Spent:
        spent = _spent(facts)
        at_us = _not_before(spent, context.now_us)
        return spent.model_copy(update={"unknown_call": call.call_id, "unknown_us": at_us})

    def _told(self) -> str:
        during = "the session" if self._window_s is None else f"{self._window_s} s"
        tools = listed([quoted(each) for each in self._tools])
        return f"{quoted(self._param)} of {tools} may come to {spelled_amount(self._limit)} in {during}"

    def _remedy(
        self, call: Call, marks: Sequence[tuple[int, int]], amount: int, left: int, now_us: int
    ) -> str:
        less = f"ask for at most {spelled_amount(left)}" if left > 0 else ""
        later = ""
        if self._window_us is not None and amount <= self._limit:
            missing = amount - left
            for time_us, units in marks:
                missing -= units
                if missing <= 0:
                    free_us = time_us + self._window_us
                    seconds = -(-(free_us - now_us) // SECOND_US)
                    at = from_micros(free_us).isoformat(timespec="seconds")
                    later = f"call {quoted(call.tool)} again in {seconds} s, at {at}"
                    break
        nothing = beyond_agent("the limit of the session is used up")
        return " or ".join(each for each in (less, later) if each) or nothing


def _spent(facts: OwnFacts) -> Spent:
    return remembered(facts, _SPENT, Spent) or Spent()


def _stored(before: Spent, marks: Sequence[tuple[int, int]], last_call: str | None = None) -> Spent:
    return before.model_copy(
        update={
            "marks": tuple(marks),
            "last_call": last_call or before.last_call,
        }
    )


def _counted(call: Call, facts: OwnFacts) -> AmountCounted | None:
    return remembered(facts, _call_key(call), AmountCounted)


def _not_before(spent: Spent, now_us: int) -> int:
    """A clock that was set back must not make amounts leave, or enter, in the wrong order."""
    return max(now_us, spent.marks[-1][0]) if spent.marks else now_us


def _call_key(call: Call) -> str:
    return key_of("call", call.call_id)
