"""Gates of the policy evaluator: may this be reported or dispatched, and what became of its decisions."""

from dataclasses import replace

from lictor_bus.gate import OPERATORS, RUNTIMES, Gate, GateRefusal, Q, Repeats
from lictor_bus.gates.denials import (
    FEEDBACK,
    POLICY_EVALUATOR,
    SHARE_OF_CALLS,
    SHARE_OF_REPORTS,
    counts_decisions,
    denies,
    refusals_of,
)
from lictor_bus.names import subjects
from lictor_schema.decisions.receipt import ReceiptAnswer, ReceiptReport
from lictor_schema.gates.gate import DispatchGateRequest, GateAnswer, ReportGateRequest
from lictor_schema.gates.task_standing import StandingRequest, TaskStanding

# Together with its record, shorter than the two seconds after which the caller takes silence as a denial.
_JUDGE_WITHIN_S = 1.4
_RECORD_WITHIN_S = 0.4

_EVALUATOR = refusals_of(
    POLICY_EVALUATOR,
    unavailable="lictor.gate.unavailable",
    unrecorded="lictor.gate.unrecorded",
    on_record="a pack wants every answer on record",
)


def _judging(name: str, request: type[Q], description: str) -> Gate[Q, GateAnswer]:
    return Gate(
        subject=subjects.GATE.documented(gate=name),
        title=f"gate.{name}",
        description=f"Gate `{name}`: {description}",
        request=request,
        answer=GateAnswer,
        service=POLICY_EVALUATOR,
        asked_by=(RUNTIMES, OPERATORS),
        refuse=denies(GateAnswer),
        refusals=_EVALUATOR,
        within_s=_JUDGE_WITHIN_S,
        share_of_payload=SHARE_OF_REPORTS,
        repeats=Repeats.REMEMBERED,
        records=(subjects.GATED.where(gate=name),),
        # A record holds the whole question.
        records_unreadable=False,
        record_within_s=_RECORD_WITHIN_S,
        count=counts_decisions(name),
    )


REPORT = _judging("report", ReportGateRequest, "may this message be shown to the operator?")
DISPATCH = _judging("dispatch", DispatchGateRequest, "may this task or subagent be dispatched?")


def _refuses_receipt(record_id: str, refusal: GateRefusal) -> ReceiptAnswer:
    field, reason = "report", refusal.reason
    if refusal.problems:
        field, reason = refusal.problems[0].path[:256], refusal.problems[0].problem
    return ReceiptAnswer.refused(record_id, field, reason, refusal.remedy)


RECEIPT = Gate(
    subject=subjects.RECEIPT_REPORT.pattern,
    title="receipt",
    description="What a runtime did with a decision: checked, then kept exactly once.",
    request=ReceiptReport,
    answer=ReceiptAnswer,
    service=POLICY_EVALUATOR,
    asked_by=(RUNTIMES,),
    refuse=_refuses_receipt,
    refusals=refusals_of(
        POLICY_EVALUATOR,
        away="nothing is known to be stored, because the streams can't be reached",
        again="report again with the same report_id",
    ),
    # Shorter than the caller's timeout of five seconds.
    within_s=4.0,
    share_of_payload=SHARE_OF_REPORTS,
    repeats=Repeats.LOGGED,
    named_by="record_id",
    count=lambda telemetry, answer: telemetry.receipt_answered(answer.outcome),
)


def _no_standing(request_id: str, refusal: GateRefusal) -> TaskStanding:
    problem = f"{refusal.reason}; {refusal.remedy}"
    return TaskStanding(request_id=request_id, known=False, problem=problem)


STANDING = Gate(
    subject=subjects.STANDING,
    title="ask.standing",
    description="How a task stands, for other services: its status and its evidence.",
    request=StandingRequest,
    answer=TaskStanding,
    service=POLICY_EVALUATOR,
    asked_by=(FEEDBACK,),
    refuse=_no_standing,
    refusals=replace(_EVALUATOR, away="the task's state can't be read"),
    # Shorter than the half second after which the caller continues without an answer.
    within_s=0.4,
    share_of_payload=SHARE_OF_CALLS,
    repeats=Repeats.READ,
)
