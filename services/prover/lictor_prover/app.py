"""The prover on the bus: PROGRAMS in, PROOFS out. The only file with a broker in it."""

from collections.abc import Sequence

from lictor_bus import streams, subjects
from lictor_bus.delivery import Delivery
from lictor_bus.errors import Refused
from lictor_bus.processor import CountingState, Parsed, Stepped, StreamOutbox, read_or_refuse
from lictor_bus.publish import Outgoing
from lictor_bus.service import Channel, Runnable, Runtime, Service, ServiceSpec
from lictor_prover import __version__
from lictor_prover.refuse import ENGINE, judge
from lictor_schema import (
    ProgramSubmission,
    ProofResult,
)
from lictor_schema.ids import proof_id

NAME = "prover"
KEEP_STATE_S = 30 * 24 * 3600


class ProverProcessor(CountingState):
    """One result a submission; the state counts them."""

    def parse(self, delivery: Delivery) -> Parsed[ProgramSubmission]:
        """Bytes to a submission for the task that the subject names."""
        submission = read_or_refuse(
            ProgramSubmission.from_json,
            delivery.body,
            "correct the named fields and submit the program again",
        )
        task = delivery.subject.rpartition(".")[2]
        if subjects.token(submission.task_id) != task:
            raise Refused(
                f"task_id: {submission.task_id!r} is not the task of subject {delivery.subject}",
                remedy="submit each program on the subject of its own task",
            )
        return Parsed(task, submission.submission_id, submission)

    def step(
        self, state: int | None, message: Parsed[ProgramSubmission], delivery: Delivery
    ) -> Stepped[int, Outgoing]:
        """Judge one program."""
        result = judge(message.value, delivery.stored_at)
        out = Outgoing(
            subjects.proof(result.verdict.value, result.task_id),
            result.to_json(),
            proof_id(result.task_id, result.submission_id, result.program_hash, ENGINE),
        )
        return Stepped((state or 0) + 1, (out,), result.verdict.value, keep_state_s=KEEP_STATE_S)


async def _loops(runtime: Runtime) -> Sequence[Runnable]:
    outbox = StreamOutbox(runtime.client, streams.PROOFS, "lictor.proof.*.{key}")
    return [runtime.worker(streams.PROGRAMS, "lictor.prog.>", ProverProcessor(), outbox)]


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Proves what a program will do before it runs. This version rejects every program.",
    streams=(streams.PROGRAMS, streams.PROOFS),
    channels=(
        Channel(
            subject="lictor.prog.{task}",
            message=ProgramSubmission,
            description="Programs submitted for proof (stream PROGRAMS).",
            reads=True,
        ),
        Channel(
            subject="lictor.proof.{verdict}.{task}",
            message=ProofResult,
            description="What was found (stream PROOFS).",
            reads=False,
        ),
    ),
)


def make_service() -> Service:
    """The prover."""
    return Service(
        spec=SPEC,
        loops=_loops,
        detail="no front-end in this version: every program is rejected",
    )
