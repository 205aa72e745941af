"""Reports how much time is left until the session's deadline."""

from lictor_guard.errors import GuardError
from lictor_guard.plugins.feedback_provider import BuiltInProvider, FeedbackContext
from lictor_guard.text.wording import in_words
from lictor_schema.core.time import SECOND_US
from lictor_schema.sessions.agent_definition import DeadlineFeedbackSpec
from lictor_schema.sessions.feedback import Feedback

_SUGGESTIONS = (
    "Finish what matters most first.",
    "Write down what is done and what is still open while there is time.",
)


class DeadlineFeedback(BuiltInProvider):
    """Informs while there is time; warns from `warn_s` seconds left on."""

    def __init__(self, spec: DeadlineFeedbackSpec) -> None:
        self.name = spec.name
        self._warn_us = spec.warn_s * SECOND_US

    def should_run(self, context: FeedbackContext) -> bool:
        """Only a session with a deadline has time left."""
        return context.deadline_us is not None

    def provide(self, context: FeedbackContext) -> Feedback:
        """Time worked and time left."""
        if context.deadline_us is None:
            raise GuardError(
                f"provider {self.name} reports a deadline, and the session has none: set deadline_s"
            )
        left_us = context.deadline_us - context.now_us
        worked = in_words(context.now_us - context.began_us)
        if left_us <= 0:
            return Feedback(
                provider=self.name,
                summary=f"The deadline has been reached, after {worked} of work.",
                suggestions=("Stop and hand over what there is, now.",),
                severity="warning",
            )
        summary = f"Time worked: {worked}. Time left before the deadline: {in_words(left_us)}."
        if left_us > self._warn_us:
            return Feedback(provider=self.name, summary=summary)
        return Feedback(
            provider=self.name, summary=summary, suggestions=_SUGGESTIONS, severity="warning"
        )
