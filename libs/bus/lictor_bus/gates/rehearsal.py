"""The gate of the rehearser: what does this program do, under these answers of its trusted calls?"""

from lictor_bus.gate import Gate, GateRefusal, Repeats
from lictor_bus.gates.denials import PROVER, REHEARSER, refusals_of
from lictor_bus.names import subjects
from lictor_schema.proofs.rehearsal_order import RehearsalObservation, RehearsalOrder

WITHIN_S = 20.0
"""From arrival to the answer, with the time that an order waits for others."""
_SHARE_OF_ORDERS = 7 / 8


def _refuse(request_id: str, refusal: GateRefusal) -> RehearsalObservation:
    told = f"{refusal.reason}; {refusal.remedy}"
    return RehearsalObservation(request_id=request_id, runs=(), refused=told)


REHEARSE = Gate(
    subject=subjects.REHEARSAL,
    title="rehearse",
    description="Run a program with stand-ins for its trusted calls, and tell what it called.",
    request=RehearsalOrder,
    answer=RehearsalObservation,
    service=REHEARSER,
    asked_by=(PROVER,),
    refuse=_refuse,
    refusals=refusals_of(REHEARSER, away="the program was not rehearsed", again="prove it again"),
    within_s=WITHIN_S,
    share_of_payload=_SHARE_OF_ORDERS,
    repeats=Repeats.READ,
    count=lambda telemetry, answer: telemetry.rehearsed(
        "refused" if answer.refused else "performed"
    ),
)
