"""What can go wrong in the client, each with one sentence for a human."""

from lictor.fast.errors import LictorError as LictorError
from lictor.fast.errors import NoStateDirectory as NoStateDirectory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lictor.fast.verdicts import StopVerdict, ToolApproval, ToolVerdict
    from lictor_schema.errors import FieldProblem


class Unreachable(LictorError):
    """A server or a service does not answer."""


class NotAllowed(LictorError):
    """The broker does not let this NATS user do that; nothing was done."""


class LayerUnusable(LictorError):
    """A trusted layer can't be used: no program is judged by it."""


class InvalidEvent(LictorError):
    """An event breaks the canonical schema; nothing was published."""

    def __init__(self, message: str, problems: "tuple[FieldProblem, ...]" = ()) -> None:
        super().__init__(message)
        self.problems = problems


class EventRefused(LictorError):
    """An event was not stored, or stored and then set aside by a service."""


class InvalidReceipt(LictorError):
    """A receipt contradicts itself; nothing was reported."""


class NotInTime(LictorError):
    """What was waited for did not happen in time."""


class SessionRefused(LictorError):
    """A guarded session could not begin, so nothing may be done in it."""


class ToolDenied(LictorError):
    """A tool may not be called, and was not. The text tells the agent every reason, and what would help."""

    def __init__(self, tool: str, verdict: "ToolVerdict") -> None:
        super().__init__(verdict.text)
        self.tool = tool
        self.verdict = verdict


class ToolAsked(ToolDenied):
    """A tool may not be called yet: a person decides. The same call may be made once they have approved it.

    Nobody waited, or nobody decided in time; the request stays on record. `approval` says which one it is.
    """

    def __init__(self, tool: str, verdict: "ToolVerdict", approval: "ToolApproval") -> None:
        super().__init__(tool, verdict)
        self.approval = approval


class StopBlocked(LictorError):
    """The agent may not stop yet. The text tells it what is left to do."""

    def __init__(self, verdict: "StopVerdict") -> None:
        super().__init__(verdict.text)
        self.verdict = verdict
