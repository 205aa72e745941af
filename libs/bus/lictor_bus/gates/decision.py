"""Gates about governed decisions."""

from typing import TypeVar

from lictor_bus.gate import OPERATORS, RUNTIMES, Gate, GateRefusal, Q, Repeats
from lictor_bus.gates.denials import (
    SEALER,
    SHARE_OF_CALLS,
    SUPERVISOR,
    counts_decisions,
    counts_outcomes,
    denies,
    refusals_of,
)
from lictor_bus.names import subjects
from lictor_schema.contracts.decision_questions import (
    ActionGateAnswer,
    ActionGateRequest,
    ApproveRequest,
    ContractAnswer,
    DecisionBeginAnswer,
    DecisionReport,
    DecisionShowAnswer,
    SwitchOrder,
    TaskOrder,
    VerifyAnswer,
    VerifyRequest,
)
from lictor_schema.gates.gate import GateRequest

C = TypeVar("C", bound=ContractAnswer)

# Together with its record, shorter than the two seconds after which a client takes silence for a denial.
_JUDGE_WITHIN_S = 1.4
_RECORD_WITHIN_S = 0.4

# Sealed episodes hold these ids: from before the supervisor was a service of its own.
_CONTRACTS = refusals_of(SEALER, away="the decision's log can't be read or written")

ACTION = Gate(
    subject=subjects.GATE.documented(gate="action"),
    title="gate.action",
    description="Gate `action`: may this action be dispatched?",
    request=ActionGateRequest,
    answer=ActionGateAnswer,
    service=SUPERVISOR,
    asked_by=(RUNTIMES,),
    refuse=denies(ActionGateAnswer),
    refusals=_CONTRACTS,
    within_s=_JUDGE_WITHIN_S,
    share_of_payload=SHARE_OF_CALLS,
    repeats=Repeats.LOGGED,
    records=(subjects.GATED.where(gate="action"),),
    record_within_s=_RECORD_WITHIN_S,
    count=counts_decisions("action"),
)


def _contract(
    subject: str,
    operation: str,
    request: type[Q],
    answer: type[C],
    description: str,
    *,
    asked_by: tuple[str, ...],
    repeats: Repeats = Repeats.LOGGED,
) -> Gate[Q, C]:
    def refuse(request_id: str, refusal: GateRefusal) -> C:
        return answer(
            request_id=request_id,
            ok=False,
            reason=refusal.reason,
            remedy=refusal.remedy,
            policy_id=refusal.policy_id,
        )

    return Gate(
        subject=subject,
        title=f"contract.{operation}",
        description=description,
        request=request,
        answer=answer,
        service=SUPERVISOR,
        asked_by=asked_by,
        refuse=refuse,
        refusals=_CONTRACTS,
        within_s=_JUDGE_WITHIN_S,
        share_of_payload=SHARE_OF_CALLS,
        repeats=repeats,
        count=counts_outcomes(f"contract.{operation}"),
    )


def _of_decision(
    operation: str,
    request: type[Q],
    answer: type[C],
    description: str,
    *,
    asked_by: tuple[str, ...] = (RUNTIMES,),
    repeats: Repeats = Repeats.LOGGED,
) -> Gate[Q, C]:
    subject = subjects.CONTRACT_REQUEST.documented(operation=operation)
    return _contract(
        subject, operation, request, answer, description, asked_by=asked_by, repeats=repeats
    )


def _order(operation: str, request: type[Q], description: str) -> Gate[Q, ContractAnswer]:
    subject, told = subjects.contract_order(operation), f"For operators: {description}"
    return _contract(subject, operation, request, ContractAnswer, told, asked_by=(OPERATORS,))


CONTRACT_BEGIN = _of_decision(
    "begin", GateRequest, DecisionBeginAnswer, "A task's decision begins under its envelope."
)
CONTRACT_REPORT = _of_decision(
    "report", DecisionReport, ContractAnswer, "Something happened to a decision; counted once."
)
CONTRACT_VERIFY = _of_decision(
    "verify", VerifyRequest, VerifyAnswer, "Is what an action did what was expected?"
)
CONTRACT_SHOW = _of_decision(
    "show",
    GateRequest,
    DecisionShowAnswer,
    "How a decision stands; changes nothing.",
    asked_by=(RUNTIMES, OPERATORS),
    repeats=Repeats.READ,
)
CONTRACT_APPROVE = _order(
    "approve", ApproveRequest, "Approve one exact action, or the ladder's bypass."
)
CONTRACT_FREEZE = _order("freeze", TaskOrder, "Stop a decision.")
CONTRACT_RESUME = _order("resume", TaskOrder, "Let a frozen decision go on; its actor can't.")
CONTRACT_HALT = _order(
    "halt", SwitchOrder, "Engage the kill-switch: active decisions freeze, none begins."
)
CONTRACT_RELEASE = _order(
    "release", SwitchOrder, "Release the kill-switch; frozen decisions stay frozen."
)
