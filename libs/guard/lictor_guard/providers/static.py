"""Says the same each time; its trigger decides when."""

from lictor_guard.provider import BuiltInProvider, FeedbackContext
from lictor_schema import Feedback, StaticFeedbackSpec


class StaticFeedback(BuiltInProvider):
    """A fixed message."""

    def __init__(self, spec: StaticFeedbackSpec) -> None:
        self.name = spec.name
        self._feedback = Feedback(provider=spec.name, summary=spec.text, severity=spec.severity)

    def provide(self, context: FeedbackContext) -> Feedback:  # noqa: ARG002
        """The message."""
        return self._feedback
