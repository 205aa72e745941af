"""What authors of tool policies, feedback providers and completion checkers import.

Everything else in this library may change between releases; these names change only with a note in the changelog.
"""

from lictor_guard.errors import FactError, GuardError
from lictor_guard.facts.fact import Changes, Fact, OwnFacts, Retention, key_of, remembered
from lictor_guard.facts.session_facts import Tally
from lictor_guard.plugins.completion_checker import (
    CompletionChecker,
    CompletionContext,
    CompletionResult,
    PlainChecker,
    SeenFilesystem,
)
from lictor_guard.plugins.feedback_provider import (
    FeedbackContext,
    FeedbackProvider,
    PlainProvider,
    RecentToolCall,
)
from lictor_guard.plugins.tool_call import Call, Result, StandingLabel
from lictor_guard.plugins.tool_policy import (
    NOTHING,
    CheckContext,
    PeopleAsked,
    PolicyDecision,
    Restored,
    StatelessPolicy,
    ToolPolicy,
)
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.feedback import Feedback, Observation
from lictor_schema.sessions.session_questions import SeenFile

__all__ = [
    "NOTHING",
    "Call",
    "Changes",
    "CheckContext",
    "CompletionChecker",
    "CompletionContext",
    "CompletionResult",
    "Fact",
    "FactError",
    "Feedback",
    "FeedbackContext",
    "FeedbackProvider",
    "GuardError",
    "Observation",
    "OwnFacts",
    "PeopleAsked",
    "PlainChecker",
    "PlainProvider",
    "PolicyDecision",
    "RecentToolCall",
    "Restored",
    "Result",
    "Retention",
    "SeenFile",
    "SeenFilesystem",
    "StandingLabel",
    "StatelessPolicy",
    "Tally",
    "TaskStanding",
    "ToolPolicy",
    "key_of",
    "remembered",
]
