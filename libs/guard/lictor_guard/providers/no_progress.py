"""Notices that many calls went by without new evidence for the task."""

from collections.abc import Sequence

from lictor_guard.facts.fact import Changes, Fact
from lictor_guard.plugins.feedback_provider import BuiltInProvider, FeedbackContext
from lictor_guard.plugins.tool_policy import NOTHING
from lictor_guard.text.wording import counted
from lictor_schema.sessions.agent_definition import NoProgressFeedbackSpec
from lictor_schema.sessions.feedback import Feedback, Observation

_SEEN = "seen"


class EvidenceSeen(Fact, kind="evidence-seen", retention="log"):
    """How much evidence there was when the provider last saw it change, and after how many calls."""

    count: int = 0
    call_index: int = 0


class NoProgress(BuiltInProvider):
    """Speaks after `calls` calls without new evidence; silent while the task's standing is unknown."""

    needs_standing = True

    def __init__(self, spec: NoProgressFeedbackSpec) -> None:
        self.name = spec.name
        self._calls = spec.calls

    def keys(self) -> Sequence[str]:
        """What it saw last."""
        return (_SEEN,)

    def should_run(self, context: FeedbackContext) -> bool:
        """Whether the evidence is what it was, for too many calls."""
        count = _evidence(context)
        if count is None or count != _seen(context).count:
            return False
        return self._idle(context) >= self._calls

    def provide(self, context: FeedbackContext) -> Feedback:
        """For how many calls nothing was proved."""
        idle = self._idle(context)
        return Feedback(
            provider=self.name,
            summary=f"No new evidence was attached to the task in the last {counted(idle, 'call')}.",
            observations=(
                Observation(
                    category="evidence",
                    description=f"{counted(_seen(context).count, 'item')} attached in all",
                ),
            ),
            suggestions=(
                "Attach what shows the progress made so far, such as test results.",
                "If there is none, say what stands in the way and change the approach.",
            ),
            severity="warning" if idle >= 2 * self._calls else "caution",
        )

    def remember(self, context: FeedbackContext, spoke: bool) -> Changes:  # noqa: ARG002
        """From which call on the evidence is what it is now."""
        count = _evidence(context)
        if count is None or count == _seen(context).count:
            return NOTHING
        return {_SEEN: EvidenceSeen(count=count, call_index=context.tally.calls)}

    def _idle(self, context: FeedbackContext) -> int:
        return context.tally.calls - _seen(context).call_index


def _seen(context: FeedbackContext) -> EvidenceSeen:
    found = context.facts.get(_SEEN)
    return found if isinstance(found, EvidenceSeen) else EvidenceSeen()


def _evidence(context: FeedbackContext) -> int | None:
    standing = context.standing
    if standing is None or standing.problem is not None or not standing.known or standing.closed:
        return None
    return standing.evidence_count
