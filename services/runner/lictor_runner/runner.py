"""Runs what is approved: each approval once, whatever happens to the runner, the broker or the program.

    approved -> all is read anew, and held against the approval, in a child that runs nothing yet
             -> `executing` is appended to the request's log: of all runners, one can
             -> every effect is written to RUNS, then made, then its result is written
             -> what became of it is appended to the request's log

A runner that finds `executing` when a message comes to it finds a run whose runner is gone. It never runs it again: it
takes back what the journal says was done.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from lictor_approval.decision_validity import permission, ran, withdrawn
from lictor_approval.errors import ApprovalError, BrokenLog, ConfigRefused
from lictor_approval.request_binding import why_not_journal_of
from lictor_approval.request_life import RequestLife, folded
from lictor_approval.signed_decisions import Approvers
from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.ledger import WholeLedger, WholeLog
from lictor_bus.logs.certificates import load_certificate
from lictor_bus.logs.entry_logs import read_entry
from lictor_bus.loops.outages import OUTAGES
from lictor_bus.names import streams, subjects
from lictor_bus.wire.appends import Appends
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.read import read_all, read_from
from lictor_prove.certificate.recheck import recheck
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.installed import InstalledLayers
from lictor_run.approved_run import Run
from lictor_run.child_orders import Approved, LayerPlace
from lictor_run.errors import Fenced, NotStarted
from lictor_run.run_limits import RunLimits
from lictor_run.transaction import finished
from lictor_runner.approved_program import (
    STATES,
    StaleApproval,
    Submissions,
    approved_of,
    execution_of,
)
from lictor_runner.run_journal import StreamJournal
from lictor_schema.approvals.approval import (
    ApprovalBinding,
    ApprovalDecision,
    ApprovalEntry,
    ApprovalRequest,
    ApprovalState,
)
from lictor_schema.approvals.run import (
    AnyRunEntry,
    RunFinished,
    RunOutcome,
    RunReason,
    RunStarted,
    RunTakenOver,
)
from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import CertificateLevel, ProofResult

log = logging.getLogger("lictor.runner")

_CHECK_WITHIN_S = 20.0
_LOST = RunReason(
    code="runner.lost",
    message="the runner that began it is gone",
    remedy="find out why it ended; submit the program again if it shall run",
)


def _foreign(request: ApprovalRequest, entries: Iterable[AnyRunEntry]) -> RunReason | None:
    """Why nothing that a journal says is believed."""
    why = why_not_journal_of(request, entries)
    if why is None:
        return None
    log.error("ALARM: run %s: %s", request.request_id, why)
    return RunReason(
        code="journal.other",
        message=why,
        remedy="find out who else wrote to stream RUNS, and what the program did",
    )


def _folded(entries: Iterable[ApprovalEntry]) -> RequestLife | None:
    try:
        return folded(entries)
    except BrokenLog as error:
        raise MessageRefused(error.reason, remedy=error.remedy) from None


APPROVED = WholeLedger[ApprovalEntry, RequestLife | None](
    "request to run",
    streams.APPROVALS,
    parse=ApprovalEntry.from_json,
    fold=_folded,
    subject_of=lambda entry: subjects.approval(entry.runtime, entry.state.value, entry.request_id),
)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a runner stands on, besides the bus; asked anew for every run."""

    approvers: Callable[[], Approvers]
    installed_layers: Callable[[], InstalledLayers]
    limits: RunLimits
    environment: dict[str, str]
    certificate_level: CertificateLevel
    """What the certificate of a program has to show that a policy approved."""
    now: Callable[[], datetime]


class Runner:
    """Runs approved programs, each by itself."""

    def __init__(self, client: TolerantClient, name: str, around: Surroundings) -> None:
        self._client = client
        self._appends = Appends(client)
        self._name = name
        self._around = around
        # Two processes of one name must not pass for each other.
        self._writer = f"{name} {uuid.uuid4()}"

    async def handle(self, delivery: Delivery) -> str | None:
        """What becomes of one approval; None when there is nothing to be done about it."""
        try:
            entry = read_entry(delivery, ApprovalEntry.from_json)
        except BusError as error:
            raise MessageRefused(
                str(error), remedy="run the versions that belong together"
            ) from None
        if entry is None:
            return None
        life = (await self._log(entry.request_id).read()).state
        if life is None or not isinstance(life.request, ApprovalRequest):
            # A tool call is made by the runtime that asked for it.
            return None
        if life.state is ApprovalState.APPROVED:
            return await self._run(life)
        if life.state is ApprovalState.EXECUTING:
            return await self._take_over(life)
        return None

    # -- a run -------------------------------------------------------------------------------------

    async def _run(self, life: RequestLife) -> str | None:
        request = life.program
        try:
            decision = self._permitted(life)
            approved, place = await self._prepared(request)
            if decision.automatic is not None:
                await self._check_certificate(request)
            return await self._executed(life, approved, place)
        except ApprovalError as error:
            return await self._withhold(request.request_id, str(error))
        except StaleApproval as stale:
            return await self._withhold(request.request_id, str(stale))
        except NotStarted as error:
            remedy = f"; {error.reason.remedy}" if error.reason.remedy else ""
            return await self._withhold(request.request_id, f"{error}{remedy}")
        except Fenced as error:
            # Not acknowledged: it is the other one's to acknowledge.
            raise BusError(str(error)) from None
        except (MessageRefused, *OUTAGES):
            raise
        except Exception as error:
            # A defect of ours must not leave behind what the run did: what has begun comes again, and is taken back.
            log.exception("request %s", request.request_id)
            why = f"a defect of the runner, report it: {type(error).__name__}: {error}"
            return await self._withhold(request.request_id, why)

    def _permitted(self, life: RequestLife) -> ApprovalDecision:
        """The decision by which it may run now; StepRefused when it may not."""
        try:
            approvers = self._around.approvers()
        except ConfigRefused as error:
            # Nothing is said against the approval; nobody here can say anything for it.
            raise BusError(f"the approvers' keys can't be read: {error}") from None
        return permission(life, approvers, self._around.now())

    async def _prepared(self, request: ApprovalRequest) -> tuple[Approved, LayerPlace]:
        layers = await self._installed_layers()
        proof = await self._proof(request)
        submissions = await self._submissions(request.binding)
        approved = approved_of(request, submissions, proof, tuple(layers.layers))
        return approved, self._place(layers, approved.layer_hash)

    async def _check_certificate(self, request: ApprovalRequest) -> None:
        """Raise StaleApproval unless its certificate, checked here, shows enough: of a policy, nobody has looked."""
        named = request.binding.certificate_hash
        if named is None:
            raise StaleApproval("a policy approved it, and its proof has no certificate")
        data = await load_certificate(self._client, named)
        if data is None:
            raise StaleApproval(f"a policy approved it, and its certificate {named} is not stored")
        checked = await recheck(request, data, _CHECK_WITHIN_S)
        if checked.level is None:
            raise StaleApproval(f"a policy approved it, and {checked.problem}")
        if checked.level < self._around.certificate_level:
            raise StaleApproval(
                f"a policy approved it, and its certificate shows level {checked.level}, less than"
                f" {self._around.certificate_level}"
            )

    async def _executed(self, life: RequestLife, approved: Approved, place: LayerPlace) -> str:
        request = life.program
        runtime, task_id = request.binding.runtime, request.binding.task_id
        journal = await StreamJournal.read(self._client, runtime, task_id, approved.run_id)
        if journal.entries:
            raise Fenced(f"request {approved.run_id} has run before")
        run = Run(
            approved.run_id,
            task_id,
            journal,
            runtime=runtime,
            writer=self._writer,
            now=self._around.now,
        )

        async def begin() -> None:
            by, signed = await self._claim(life)
            await run.write(
                RunStarted,
                runner=self._name,
                submission_id=request.binding.submission_id,
                binding_hash=request.binding_hash,
                program_hash=approved.program_hash,
                program_hash_of="bytes",
                ir_hash=approved.ir_hash,
                layer_hash=approved.layer_hash,
                guarantees_hash=request.binding.guarantees_hash,
                inputs=approved.inputs,
                approved_by=by,
                signed=signed,
            )

        ended = await run.execute(approved, place, begin)
        await self._tell(request.request_id, journal, ended)
        return ended.outcome.value

    async def _claim(self, found: RequestLife) -> tuple[str, str]:
        """Make the approval that was found this runner's; who gave it, and the signed decision."""
        request_id = found.request.request_id
        granted: tuple[str, str] | None = None

        def judge(life: RequestLife | None) -> ApprovalEntry:
            nonlocal granted
            if life is None or life.signed is None or life.state is not ApprovalState.APPROVED:
                raise Fenced(f"request {request_id} is not approved any more, or runs elsewhere")
            if life.signed != found.signed:
                raise Fenced(f"request {request_id} is approved by another decision now")
            granted = self._permitted(life).by, life.signed
            # A name of its own for every try: the broker would take a second one of the same name for the first.
            execution = execution_of(life, self._name, str(uuid.uuid4()), ())
            return ran(life, ApprovalState.EXECUTING, execution, self._around.now(), None)

        await APPROVED.change(self._appends, self._log(request_id), judge)
        if granted is None:
            raise Fenced(f"request {request_id} runs elsewhere")
        return granted

    async def _withhold(self, request_id: str, reason: str) -> str | None:
        """Say why it does not run; an approval whose time is up is left to the clock of the approvals."""
        outcome: str | None = None

        def judge(life: RequestLife | None) -> ApprovalEntry | None:
            nonlocal outcome
            outcome = None
            if life is not None and life.state is ApprovalState.EXECUTING:
                # It was claimed, here or elsewhere; whoever sees it next takes it over, unless it ends before.
                raise BusError(f"request {request_id} is being executed: {reason}")
            if life is None or life.state is not ApprovalState.APPROVED:
                return None
            now = self._around.now()
            if now >= datetime.fromisoformat(life.due):
                log.warning("request %s: its time was up at %s", request_id, life.due)
                outcome = "expired"
                return None
            log.warning("request %s does not run: %s", request_id, reason)
            outcome = ApprovalState.STALE.value
            entry = withdrawn(life, ApprovalState.STALE, now, reason)
            return entry.model_copy(update={"by": self._name})

        await APPROVED.change(self._appends, self._log(request_id), judge)
        return outcome

    # -- a run whose runner is gone ----------------------------------------------------------------

    async def _take_over(self, life: RequestLife) -> str:
        request = life.program
        runtime, task_id = request.binding.runtime, request.binding.task_id
        journal = await StreamJournal.read(self._client, runtime, task_id, request.request_id)
        ended = finished(journal.entries)
        foreign = _foreign(request, journal.entries)
        if foreign is not None and ended is not None:
            ended = ended.model_copy(update={"outcome": RunOutcome.IN_DOUBT, "reason": foreign})
        if ended is None:
            run = Run(
                request.request_id,
                task_id,
                journal,
                runtime=runtime,
                writer=self._writer,
                now=self._around.now,
            )
            try:
                await run.write(RunTakenOver, runner=self._name)
                log.warning("run %s: its runner is gone; it is taken back", request.request_id)
                if foreign is None:
                    ended = await self._taken_back(run, request)
                else:
                    # What it says was done may never have been, so nothing is taken back by its word.
                    ended = await run.give_up(foreign, RunOutcome.IN_DOUBT)
            except Fenced as error:
                raise BusError(str(error)) from None
            except (MessageRefused, *OUTAGES):
                raise
            except Exception as error:
                log.exception("run %s can't be taken back", request.request_id)
                message = f"{_LOST.message}; taking it back failed: {type(error).__name__}"
                ended = await run.give_up(_LOST.model_copy(update={"message": message}))
        await self._tell(request.request_id, journal, ended)
        return ended.outcome.value

    async def _taken_back(self, run: Run, request: ApprovalRequest) -> RunFinished:
        layer_hash = request.binding.layer_hash
        layers = await self._installed_layers()
        if layers.named(layer_hash) is None:
            message = f"{_LOST.message}; the layer {layer_hash} is not here to take anything back"
            return await run.give_up(_LOST.model_copy(update={"message": message}))
        return await run.compensate(layer_hash, self._place(layers, layer_hash), _LOST)

    # -- the streams -------------------------------------------------------------------------------

    async def _tell(self, request_id: str, journal: StreamJournal, ended: RunFinished) -> None:
        """Append what became of a run to the log of its request."""

        def judge(life: RequestLife | None) -> ApprovalEntry | None:
            if life is None or life.execution is None or life.state.is_final:
                return None
            execution = execution_of(life, self._name, life.execution.execution_id, journal.entries)
            reason = (
                None if ended.reason is None else f"{ended.reason.code}: {ended.reason.message}"
            )
            return ran(life, STATES[ended.outcome], execution, self._around.now(), reason)

        await APPROVED.change(self._appends, self._log(request_id), judge)

    def _log(self, request_id: str) -> WholeLog[ApprovalEntry, RequestLife | None]:
        return APPROVED.log(self._client, subjects.approval_entries(request_id))

    async def _submissions(self, binding: ApprovalBinding) -> Submissions:
        found: list[tuple[int, ProgramSubmission]] = []
        subject = subjects.program(binding.runtime, binding.task_id)
        async for stored in read_all(self._client, streams.PROGRAMS, subject):
            try:
                found.append((stored.sequence, ProgramSubmission.from_json(stored.body)))
            except (ValidationError, CanonicalError):
                continue  # nobody's submission; what was approved is looked for by its place
        return found

    async def _proof(self, request: ApprovalRequest) -> ProofResult | None:
        subject = subjects.proof(request.binding.runtime, "proved", request.binding.task_id)
        found = await read_from(self._client, streams.PROOFS, subject, request.proof_sequence, 1)
        if not found or found[0].sequence != request.proof_sequence:
            return None
        try:
            return ProofResult.from_json(found[0].body)
        except (ValidationError, CanonicalError):
            return None

    async def _installed_layers(self) -> InstalledLayers:
        try:
            return await asyncio.to_thread(self._around.installed_layers)
        except ProverConfigError as error:
            raise BusError(f"the layers can't be read: {error}") from None

    def _place(self, layers: InstalledLayers, layer_hash: str) -> LayerPlace:
        named = layers.named(layer_hash)
        if named is None:
            raise StaleApproval(f"the trusted layer {layer_hash} is not here")
        return LayerPlace(named[1].imports[0], self._around.limits, self._around.environment)
