"""Says the same each time; its trigger decides when."""

from lictor_guard.plugins.feedback_provider import BuiltInProvider, FeedbackContext
from lictor_schema.sessions.agent_definition import StaticFeedbackSpec
from lictor_schema.sessions.feedback import Feedback


class StaticFeedback(BuiltInProvider):
    """A fixed message."""

    def __init__(self, spec: StaticFeedbackSpec) -> None:
        self.name = spec.name
        self._feedback = Feedback(provider=spec.name, summary=spec.text, severity=spec.severity)

    def provide(self, context: FeedbackContext) -> Feedback:  # noqa: ARG002
        """The message."""
        return self._feedback
