"""From proofs to requests, and to requests that are stale: PROOFS in, APPROVALS out.

A proof may come again after a crash, or later than one of a newer submission. What it leads to is judged by the places
of submissions and proofs in their streams, never by when they come, and a request that is there is not made twice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from lictor_approval.decision_validity import ApprovalLimits, requested, withdrawn
from lictor_approval.errors import BrokenLog, NotApprovable, StepRefused
from lictor_approval.request_binding import asked
from lictor_approval.request_life import RequestLife
from lictor_approval.stale_requests import layer_changed, proved_anew, shown_otherwise, superseded
from lictor_approvals.request_log import RequestLog
from lictor_bus.errors import MessageRefused
from lictor_bus.fold.processor import read_or_refuse
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_all, read_from
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalRequest, ApprovalState
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofResult, ProofVerdict

log = logging.getLogger("lictor.approvals")

Submissions = Sequence[tuple[int, ProgramSubmission]]
LayersHere = Callable[[], Sequence[str]]
"""The hashes of the trusted layers that are here now, the current one first."""
Automatic = Callable[[RequestLife, ProgramSubmission], Awaitable[str | None]]
"""What a policy says about a request, signed; None to ask somebody."""


async def submissions_of(client: TolerantClient, runtime: str | None, task_id: str) -> Submissions:
    """What a runtime submitted in a task, each with its place; what can't be read was nobody's submission."""
    found: list[tuple[int, ProgramSubmission]] = []
    async for stored in read_all(client, streams.PROGRAMS, subjects.program(runtime, task_id)):
        try:
            submission = read_or_refuse(ProgramSubmission.from_json, stored.body, "")
        except MessageRefused:
            continue
        if (submission.runtime, submission.task_id) == (runtime, task_id):
            found.append((stored.sequence, submission))
    return found


def why_stale(life: RequestLife, submissions: Submissions, layers: Sequence[str]) -> str | None:
    """Why a request is out of date, as far as this is known without a new proof."""
    return superseded(life.program, submissions) or layer_changed(life.program, layers)


class RequestIntake:
    """Makes requests of proofs."""

    def __init__(
        self,
        client: TolerantClient,
        requests: RequestLog,
        *,
        layers: LayersHere,
        automatic: Automatic,
        decide: Callable[[str, str], Awaitable[None]],
        limits: ApprovalLimits,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._requests = requests
        self._layers = layers
        self._automatic = automatic
        self._decide = decide
        self._limits = limits
        self._now = now

    async def begin(self) -> None:
        """Look at what is open: its timers are set anew, and what became stale meanwhile is reported."""
        await self._requests.catch_up()
        await self._requests.watch_the_clock(*self._requests.open_now())
        for life in self._requests.open_programs():
            binding = life.program.binding
            submissions = await submissions_of(self._client, binding.runtime, binding.task_id)
            await self._make_stale(life, why_stale(life, submissions, self._layers()))

    async def take_in(self, delivery: Delivery) -> str:
        """What becomes of one result; they come in their order."""
        result = read_or_refuse(
            ProofResult.from_json, delivery.body, "only the prover may publish on PROOFS"
        )
        runtime, task_id = result.runtime, result.task_id
        if delivery.subject != subjects.proof(runtime, result.verdict.value, task_id):
            raise MessageRefused(
                f"verdict `{result.verdict.value}` of task {task_id!r} of runtime {runtime!r} is not that of"
                f" subject {delivery.subject}",
                remedy="only the prover may publish on PROOFS",
            )
        submissions = await submissions_of(self._client, runtime, task_id)
        sequence, submission = _submission(result, submissions)
        await self._requests.catch_up()
        for life in self._requests.open_programs(runtime, task_id):
            why = proved_anew(life.program, submission, result, delivery.sequence)
            await self._make_stale(life, why or superseded(life.program, submissions))
        try:
            request = asked(
                submission,
                sequence,
                result,
                delivery.sequence,
                at=delivery.stored_at,
                within=self._limits.decide_within,
            )
        except NotApprovable as error:
            log.info("submission %s: nobody is asked: %s", submission.submission_id, error)
            return "not_approvable"
        return await self._ask(request, submission, submissions, result)

    async def _ask(
        self,
        request: ApprovalRequest,
        submission: ProgramSubmission,
        submissions: Submissions,
        result: ProofResult,
    ) -> str:
        layers = await asyncio.to_thread(self._layers)
        why_not = superseded(request, submissions) or layer_changed(request, layers)

        def step(life: RequestLife | None) -> ApprovalEntry | None:
            return requested(request) if life is None and why_not is None else None

        try:
            changed = await self._requests.change(request.request_id, step)
        except BrokenLog as error:
            raise MessageRefused(error.reason, remedy=error.remedy) from None
        life = changed.life
        if life is None:
            log.info("submission %s: nobody is asked: %s", request.binding.submission_id, why_not)
            return "not_asked"
        if life.state.is_open:
            await self._requests.watch_the_clock(life)
        asked_for = life.program
        if asked_for.proof_sequence != request.proof_sequence:
            named = await self._proof_of(asked_for)
            if named is not None and shown_otherwise(asked_for, named) is None:
                # Proved anew, and no less: it shows what another proof says, and is asked about with that one.
                return "known"
            forged = "the request names a proof that does not say what it shows"
        else:
            forged = shown_otherwise(asked_for, result)
        if forged is not None and life.state.is_open:
            # This service makes each request from its proof: somebody else wrote to its log.
            log.error("ALARM: request %s is withdrawn: %s", request.request_id, forged)
            await self._make_stale(life, forged)
        elif life.state is ApprovalState.REQUESTED:
            signed = await self._automatic(life, submission)
            if signed is not None:
                await self._decide(request.request_id, signed)
        return "asked" if changed.sequence is not None else "known"

    async def _proof_of(self, request: ApprovalRequest) -> ProofResult | None:
        """The proof that a request names, if it is there and about the same submission."""
        binding, at = request.binding, request.proof_sequence
        subject = subjects.proof(binding.runtime, ProofVerdict.PROVED.value, binding.task_id)
        found = await read_from(self._client, streams.PROOFS, subject, at, 1)
        if not found or found[0].sequence != at:
            return None
        try:
            result = read_or_refuse(ProofResult.from_json, found[0].body, "")
        except MessageRefused:
            return None
        return result if result.submission_id == binding.submission_id else None

    async def _make_stale(self, life: RequestLife, why: str | None) -> None:
        if why is None:
            return

        def step(now: RequestLife | None) -> ApprovalEntry | None:
            if now is None or not now.state.is_open:
                return None
            return withdrawn(now, ApprovalState.STALE, self._now(), why)

        try:
            await self._requests.change(life.request.request_id, step)
        except (StepRefused, BrokenLog) as error:
            log.error("request %s: %s", life.request.request_id, error)


def _submission(result: ProofResult, submissions: Submissions) -> tuple[int, ProgramSubmission]:
    """The submission that a proof is about; the first, where the very same was submitted again."""
    found = [
        (sequence, each)
        for sequence, each in submissions
        if each.submission_id == result.submission_id
        and program_hash(each.program, result.program_hash_of) == result.program_hash
    ]
    if not found:
        raise MessageRefused(
            f"stream PROGRAMS holds no submission {result.submission_id} of program"
            f" {result.program_hash}",
            remedy="submit the program again",
        )
    questions = {_question(each) for _, each in found}
    if len(questions) > 1:
        raise MessageRefused(
            f"submission {result.submission_id} was made {len(questions)} times with the same program and"
            " other names, targets, agents, layers or values: which one was proved is unknown",
            remedy="submit each program under an id of its own",
        )
    return found[0]


def _question(submission: ProgramSubmission) -> tuple[str | None, ...]:
    return (
        submission.agent_id,
        submission.language,
        submission.source_name,
        submission.target,
        submission.layer_hash,
        # Not the values themselves: `1` and `True` are the same to Python.
        None if submission.inputs is None else content_hash(submission.inputs),
    )
