"""Notices that the agent makes the same call again and again."""

from collections import Counter
from collections.abc import Sequence

from lictor_guard.facts.session_facts import RecentCall
from lictor_guard.plugins.feedback_provider import BuiltInProvider, FeedbackContext
from lictor_guard.text.wording import counted
from lictor_schema.sessions.agent_definition import LoopFeedbackSpec
from lictor_schema.sessions.feedback import Feedback, Observation

_MOST_SHOWN = 5


class RepeatedCalls(BuiltInProvider):
    """Speaks when a call with equal parameters stands `repeats` times among the last `window` calls.

    One that was reported, and not made again, is not reported again: at least one of the repetitions must have come
    since the provider last spoke. One that worked for the first time, the last time, is no loop: its agent got out.
    """

    def __init__(self, spec: LoopFeedbackSpec) -> None:
        self.name = spec.name
        self._window = spec.window
        self._repeats = spec.repeats

    def should_run(self, context: FeedbackContext) -> bool:
        """Whether there is a loop, and it goes on."""
        return bool(self._repeated(context))

    def provide(self, context: FeedbackContext) -> Feedback:
        """The calls that are repeated, most often first."""
        repeated = self._repeated(context)
        worst = repeated[0]
        looked_at = min(self._window, len(context.recent.calls))
        observations = tuple(
            Observation(
                category=calls[-1].tool,
                description=f"{counted(len(calls), 'time')} among the last {looked_at}, "
                "with the same parameters",
                evidence="outcomes: " + ", ".join(call.outcome for call in calls),
            )
            for calls in repeated[:_MOST_SHOWN]
        )
        never_worked = not _worked(worst)
        often = len(worst) >= 2 * self._repeats
        return Feedback(
            provider=self.name,
            summary=f"{worst[-1].tool} was called {counted(len(worst), 'time')} "
            "with the same parameters.",
            observations=observations,
            suggestions=(_suggestion(worst),),
            severity="warning" if never_worked or often else "caution",
        )

    def _repeated(self, context: FeedbackContext) -> list[Sequence[RecentCall]]:
        calls = context.recent.calls[-self._window :]
        fresh = {call.signature for call in calls[-context.calls_since :]}
        counts = Counter(call.signature for call in calls)
        repeated = (
            [call for call in calls if call.signature == signature]
            for signature, count in counts.most_common()
            if count >= self._repeats and signature in fresh and context.calls_since > 0
        )
        return [each for each in repeated if not _got_out(each)]


def _got_out(calls: Sequence[RecentCall]) -> bool:
    return calls[-1].outcome == "ok" and not _worked(calls[:-1])


def _worked(calls: Sequence[RecentCall]) -> bool:
    return any(call.outcome == "ok" for call in calls)


def _suggestion(calls: Sequence[RecentCall]) -> str:
    outcomes = {call.outcome for call in calls}
    if outcomes == {"denied"}:
        return "It is denied each time: do what the denial says would help, or go on without it."
    if "ok" not in outcomes:
        return "It has not worked once: change the parameters, or find out first why it fails."
    return "Its result is known: use it, or try another way."
