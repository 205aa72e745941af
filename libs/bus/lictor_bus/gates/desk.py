"""Desks: what operators order, and the answers they get. Each finds a repeated order in its log."""

from typing import TypeVar

from lictor_bus.gate import OPERATORS, Gate, GateRefusal, Q, Repeats
from lictor_bus.gates.denials import (
    APPROVALS,
    FEEDBACK,
    POLICY_EVALUATOR,
    SEALER,
    SHARE_OF_CALLS,
    SUPERVISOR,
    refusals_of,
)
from lictor_bus.names import subjects
from lictor_schema.approvals.approval import ApprovalOrder
from lictor_schema.contracts.cerpa_claim import ClaimRequest, MeasurementReport
from lictor_schema.contracts.coherence_report import CoherenceAnswer, CoherenceQuestion
from lictor_schema.contracts.drift import TriageMove
from lictor_schema.contracts.patch import PatchStep
from lictor_schema.decisions.mark import MarkOrder
from lictor_schema.seals.correction import CorrectionAnswer, CorrectionOrder
from lictor_schema.seals.erasure import ErasureAnswer, ErasureOrder
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.halt import HaltAnswer, HaltNews, HaltNewsAnswer, HaltOrder

D = TypeVar("D", bound=DeskAnswer)

# Shorter than the caller's timeout of ten seconds.
_DESK_WITHIN_S = 8.0
# An episode may hold a hundred thousand messages.
_EPISODE_WITHIN_S = 110.0
_SHARE_OF_ORDERS = 7 / 8


def _desk(
    name: str,
    service: str,
    request: type[Q],
    answer: type[D],
    description: str,
    *,
    title: str | None = None,
    within_s: float = _DESK_WITHIN_S,
    away: str = "nothing is known to be stored, because the streams can't be reached",
    again: str = "ask again with the same request_id",
) -> Gate[Q, D]:
    def refuse(request_id: str, refusal: GateRefusal) -> D:
        return answer.refused(request_id, refusal.reason, refusal.remedy)

    return Gate(
        subject=subjects.desk(name),
        title=title or f"desk.{name}",
        description=description,
        request=request,
        answer=answer,
        service=service,
        asked_by=(OPERATORS,),
        refuse=refuse,
        refusals=refusals_of(service, away=away, again=again),
        within_s=within_s,
        share_of_payload=_SHARE_OF_ORDERS,
        repeats=Repeats.LOGGED,
    )


MARK = _desk(
    "mark",
    POLICY_EVALUATOR,
    MarkOrder,
    DeskAnswer,
    "An operator marks a decision as a false alarm, or takes that back.",
    title="mark",
)
TRIAGE = _desk(
    "triage",
    SUPERVISOR,
    TriageMove,
    DeskAnswer,
    "For operators: move a drift event one step forward.",
)
PATCH = _desk(
    "patch",
    SUPERVISOR,
    PatchStep,
    DeskAnswer,
    "For operators: propose, approve or reject a patch, or tell what came of applying it.",
)
CLAIM = _desk(
    "claim",
    SUPERVISOR,
    ClaimRequest,
    DeskAnswer,
    "For operators: register a claim, or a new form of one.",
)
EVENT = _desk(
    "event",
    SUPERVISOR,
    MeasurementReport,
    DeskAnswer,
    "For operators: tell what happened to a subject, and what was measured.",
)
# The sealer answers operators only: nothing that a runtime may ask reaches who holds the private key.
CORRECT = _desk(
    "correct",
    SEALER,
    CorrectionOrder,
    CorrectionAnswer,
    "For operators: seal an episode once more, with what came late, as its next version.",
    within_s=_EPISODE_WITHIN_S,
    away="nothing is known to be sealed, because the streams can't be reached",
)
ERASE = _desk(
    "erase",
    SEALER,
    ErasureOrder,
    ErasureAnswer,
    "For operators: erase messages that a sealed episode covers; its seal stays valid.",
    within_s=_EPISODE_WITHIN_S,
    away="some of it may be erased: the streams can't be reached",
    again="ask again with the same request_id: that completes it",
)
APPROVAL = _desk(
    "approval",
    APPROVALS,
    ApprovalOrder,
    DeskAnswer,
    "Keep a signed decision about a request.",
    title="approval",
    again="hand in the same decision again",
)

HALT = _desk(
    "halt",
    FEEDBACK,
    HaltOrder,
    HaltAnswer,
    "For operators: halt a session, an agent or everything, or let it go on.",
    away="the order may be stored, and it is not known that every gate holds to it",
)


def _no_news(request_id: str, refusal: GateRefusal) -> HaltNewsAnswer:
    problem = f"{refusal.reason}; {refusal.remedy}"
    return HaltNewsAnswer(request_id=request_id, known=False, problem=problem)


HALT_NEWS = Gate(
    subject=subjects.HALT_NEWS,
    title="ask.halts",
    description="The kill-switch was turned: the tool gates look at it before they allow another call.",
    request=HaltNews,
    answer=HaltNewsAnswer,
    service=FEEDBACK,
    asked_by=(SUPERVISOR,),
    refuse=_no_news,
    refusals=refusals_of(FEEDBACK, away="the tool gates can't be reached"),
    # Shorter than the time after which the caller answers without it.
    within_s=0.8,
    share_of_payload=SHARE_OF_CALLS,
    repeats=Repeats.READ,
)


def _no_report(request_id: str, refusal: GateRefusal) -> CoherenceAnswer:
    return CoherenceAnswer(request_id=request_id, problem=f"{refusal.reason}; {refusal.remedy}")


COHERENCE = Gate(
    subject=subjects.REPORT,
    title="ask.report",
    description="For operators: the coherence report, from what the streams hold now.",
    request=CoherenceQuestion,
    answer=CoherenceAnswer,
    service=SUPERVISOR,
    asked_by=(OPERATORS,),
    refuse=_no_report,
    refusals=refusals_of(SUPERVISOR, away="the streams can't be read"),
    # It verifies every seal there is.
    within_s=_EPISODE_WITHIN_S,
    share_of_payload=SHARE_OF_CALLS,
    repeats=Repeats.READ,
)
