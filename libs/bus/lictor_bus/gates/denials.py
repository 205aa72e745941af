"""What gates have in common: how denials are named, what they look like, and how answers are counted."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from lictor_bus.gate import GateRefusal, Refusals
from lictor_schema.contracts.decision_questions import ContractAnswer
from lictor_schema.gates.gate import GateAnswer
from lictor_schema.sessions.session_questions import SessionAnswer

if TYPE_CHECKING:
    from lictor_bus.service.telemetry import ServiceTelemetry

POLICY_EVALUATOR = "policy-evaluator"
FEEDBACK = "feedback"
SUPERVISOR = "supervisor"
SEALER = "sealer"
APPROVALS = "approvals"
PROVER = "prover"
RUNNER = "runner"
REHEARSER = "rehearser"

G = TypeVar("G", bound=GateAnswer)

# Whatever a call's parameters grow to when they are written again, and whatever its result adds to them, an entry must
# fit into the server's limit: else a call could be made whose result can't be recorded.
SHARE_OF_CALLS = 1 / 8
SHARE_OF_REPORTS = 3 / 8


def refusals_of(service: str, **ids: str) -> Refusals:
    """The names and texts of a service's denials; ids that differ from the rule are given."""
    return Refusals(
        **{
            "malformed": f"{service}.malformed-request",
            "broken": f"{service}.internal-error",
            "unavailable": "lictor.unavailable",
            "unrecorded": "lictor.unrecorded",
            **ids,
        }
    )


def denies(answer: type[G], **more: Any) -> Callable[[str, GateRefusal], G]:
    """A denial as an answer of this type."""

    def deny(request_id: str, refusal: GateRefusal) -> G:
        return answer(
            request_id=request_id,
            decision="deny",
            reason=refusal.reason,
            remedy=refusal.remedy,
            policy_id=refusal.policy_id,
            **more,
        )

    return deny


def counts_decisions(gate: str) -> "Callable[[ServiceTelemetry, GateAnswer], None]":
    """Counts the answers of a gate by what was decided."""
    return lambda telemetry, answer: telemetry.gate_answered(gate, answer.decision)


def counts_outcomes(
    operation: str,
) -> "Callable[[ServiceTelemetry, SessionAnswer | ContractAnswer], None]":
    """Counts the answers about an operation by whether it was done."""
    return lambda telemetry, answer: telemetry.session_answered(operation, answer.ok)
