"""The built-in feedback providers, one file each."""

from lictor_guard.plugins.feedback_provider import FeedbackProvider
from lictor_guard.providers.budget import BudgetFeedback
from lictor_guard.providers.deadline import DeadlineFeedback
from lictor_guard.providers.no_progress import NoProgress
from lictor_guard.providers.repeated_calls import RepeatedCalls
from lictor_guard.providers.static import StaticFeedback
from lictor_schema.sessions.agent_definition import (
    BudgetFeedbackSpec,
    DeadlineFeedbackSpec,
    LoopFeedbackSpec,
    NoProgressFeedbackSpec,
    StaticFeedbackSpec,
)

__all__ = [
    "BudgetFeedback",
    "DeadlineFeedback",
    "NoProgress",
    "RepeatedCalls",
    "StaticFeedback",
    "build_provider",
]

BuiltInSpec = (
    BudgetFeedbackSpec
    | DeadlineFeedbackSpec
    | LoopFeedbackSpec
    | NoProgressFeedbackSpec
    | StaticFeedbackSpec
)


def build_provider(spec: BuiltInSpec) -> FeedbackProvider:
    """The built-in provider that a definition asks for."""
    match spec:
        case DeadlineFeedbackSpec():
            return DeadlineFeedback(spec)
        case StaticFeedbackSpec():
            return StaticFeedback(spec)
        case LoopFeedbackSpec():
            return RepeatedCalls(spec)
        case BudgetFeedbackSpec():
            return BudgetFeedback(spec)
        case NoProgressFeedbackSpec():
            return NoProgress(spec)
