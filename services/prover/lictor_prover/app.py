"""The prover on the bus: PROGRAMS in, PROOFS out. The only file with a broker in it."""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from nats.errors import Error as NatsError

from lictor_bus.errors import BusError
from lictor_bus.logs.certificates import (
    largest_certificate,
    load_certificate,
    store_certificate,
)
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.delivery import Delivery
from lictor_ir.certificate.format import FrontEnd
from lictor_prove.certificate.creation import CertificateLimits
from lictor_prove.certificate.kept_proof import KeptCertificate
from lictor_prove.errors import ProverConfigError, Reason
from lictor_prove.fingerprint import fingerprint
from lictor_prove.layers.installed import InstalledLayers, installed_layers
from lictor_prove.proof.result import Progress, Proof, rejected
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.rehearsal.plan import SEED_BYTES
from lictor_prove.rehearsal.rounds import Rounds
from lictor_prove.workers.pool import Job, Pool
from lictor_prover import __version__
from lictor_prover.answer_cache import AnswerCache, ForgedAnswer
from lictor_prover.bus_stage import BusStage
from lictor_prover.proof_results import answer, answered_before, result_id
from lictor_prover.submission_loop import proving_loop
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofProgress, ProofResult, ProofVerdict

log = logging.getLogger("lictor.prover")

NAME = "prover"
_TELL_EVERY_S = 1.0


@dataclass(frozen=True, kw_only=True)
class ProverSettings:
    """How many programs are proved at once, and with what at most."""

    workers: int
    proof_s: int
    memory_mb: int
    certificate_s: int = 15
    """0 makes none."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ProverSettings":
        """Read ``LICTOR_PROOF_*``."""
        return cls(
            workers=_whole(environment, "LICTOR_PROOF_WORKERS", os.cpu_count() or 1, 1, 256),
            proof_s=_whole(environment, "LICTOR_PROOF_TIMEOUT_S", 60, 1, 3600),
            memory_mb=_whole(environment, "LICTOR_PROOF_MEMORY_MB", 1024, 128, 1024 * 1024),
            certificate_s=_whole(environment, "LICTOR_PROOF_CERTIFICATE_S", 15, 0, 3600),
        )

    def limits(self, asked_ms: int | None) -> ProofSettings:
        """The limits of one proof: what was asked for, and not more than is allowed."""
        total = min(asked_ms or self.proof_s * 1000, self.proof_s * 1000)
        return ProofSettings(memory_mb=self.memory_mb).within(total)

    def certificates(self, max_bytes: int) -> CertificateLimits | None:
        """The limits of one certificate; None when none is made."""
        if not self.certificate_s:
            return None
        total = self.certificate_s * 1000
        return CertificateLimits(
            goal_ms=min(5_000, total),
            total_ms=total,
            memory_mb=self.memory_mb,
            max_bytes=max_bytes,
        )


def _whole(environment: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = environment.get(name, "")
    value = int(text) if text.isascii() and text.isdigit() else (low - 1 if text else default)
    if not low <= value <= high:
        raise BusError(f"{name} is {text!r}: it must be a whole number from {low} to {high}.")
    return value


class Prover:
    """Answers submissions: from what was decided before, or by a worker."""

    def __init__(
        self,
        client: TolerantClient,
        answers: AnswerCache,
        pool: Pool,
        layers: InstalledLayers,
        settings: ProverSettings,
        telemetry: ServiceTelemetry,
        stage: BusStage,
        tell_differences: Callable[[int], None],
        draw_seed: Callable[[], str],
    ) -> None:
        self._draw_seed = draw_seed
        self._stage = stage
        self._differences = 0
        self._tell_differences = tell_differences
        self._client = client
        self._answers = answers
        self._pool = pool
        self._layers = layers
        self._settings = settings
        self._telemetry = telemetry
        self._build = fingerprint()

    async def judge(self, submission: ProgramSubmission, delivery: Delivery) -> ProofResult:
        """Decide about one submission."""
        del delivery
        limits = self._settings.limits(submission.timeout_ms)
        found = self._layers.named(submission.layer_hash)
        if found is None:
            return answer(submission, _no_layer(submission, self._layers), datetime.now(UTC))
        layer_hash, roots = found
        certify = self._settings.certificates(largest_certificate(self._client))
        key = f"{self._build} {limits.key} {certify.key if certify else 'no certificate'}"
        before = await self._before(submission, layer_hash, key)
        if before is not None and before.verdict is not ProofVerdict.PROVED:
            return answered_before(submission, before, datetime.now(UTC))
        kept = None if before is None else await self._certificate(submission, before)
        job = Job(
            submission.program.encode() if submission.language == "ir" else submission.program,
            language="python" if submission.language == "ir" else submission.language,
            name=submission.source_name,
            target=submission.target,
            roots=roots,
            layer_hash=layer_hash,
            settings=limits,
            certify=certify,
            kept=kept,
            # Also for a program that was proved before: its author may know the seed of then.
            seed=self._draw_seed(),
        )
        try:
            proof = await self._proved(job, submission)
        except ProverConfigError as error:
            remedy = "mend the layer, or restart the prover if its files were changed"
            proof = rejected(Reason("layer.broken", str(error), remedy), layer_hash=layer_hash)
        if proof.layer_hash is None:
            proof = replace(proof, layer_hash=layer_hash)
        if proof.distrusted:
            self._alarm(submission, f"its certificate: {proof.distrusted}")
        elif kept is not None and proof.certificate is not None:
            self._telemetry.kept_answer("used")
            result = answer(submission, proof, datetime.now(UTC))
            return result.model_copy(update={"cached": True})
        # A reader of the result can fetch what it names.
        await self._keep_certificate(proof)
        result = answer(submission, proof, datetime.now(UTC))
        await self._answers.keep(submission, result, key)
        return result

    async def _seen(self, verdict: "asyncio.Future[Proof]") -> Rounds:
        """What Python does with a program, as soon as there is a verdict about it."""
        rounds = Rounds(await verdict)
        while rounds.order is not None:
            begun = time.monotonic()
            seen = await self._stage.perform(rounds.order)
            await asyncio.to_thread(rounds.see, seen, ms=(time.monotonic() - begun) * 1000)
        return rounds

    async def _rehearsed(
        self, proof: Proof, submission: ProgramSubmission, rounds: Rounds
    ) -> Proof:
        """The proof after what Python did was compared with it; nobody has seen the verdict yet."""
        compared = rounds.result(proof)
        if proof.verdict is not ProofVerdict.PROVED:
            return compared
        if compared.verdict is not ProofVerdict.PROVED:
            self._differences += 1
            self._tell_differences(self._differences)
            self._telemetry.rehearsed("differs")
            log.error(
                "ALARM: submission %s is not proved, because Python does something else than the proof says. This is a"
                " defect of the prover: report the program %s. %s",
                submission.submission_id,
                submission.source_name,
                "; ".join(reason.message for reason in compared.reasons),
            )
            return compared
        refused = "" if compared.rehearsal is None else compared.rehearsal.refused
        self._telemetry.rehearsed("refused" if refused else "agrees")
        if refused:
            log.warning("%s is not rehearsed: %s", submission.submission_id, refused)
        return compared

    async def _before(
        self, submission: ProgramSubmission, layer_hash: str, key: str
    ) -> ProofResult | None:
        """The answer that is kept; what nobody here has written is reported, and not used."""
        try:
            return await self._answers.find(submission, layer_hash, key)
        except ForgedAnswer as forged:
            self._alarm(submission, str(forged))
            return None

    async def _certificate(
        self, submission: ProgramSubmission, before: ProofResult
    ) -> KeptCertificate | None:
        """The certificate that a kept `proved` names; without it, the program is proved anew."""
        named = before.certificate_hash or ""
        data = await load_certificate(self._client, named)
        if data is None:
            log.warning("%s: certificate %s is not stored", submission.submission_id, named)
            self._telemetry.kept_answer("missing")
            return None
        front_end = FrontEnd.DOCUMENT if submission.language == "ir" else submission.language
        return KeptCertificate(named, data, FrontEnd(front_end))

    def _alarm(self, submission: ProgramSubmission, why: str) -> None:
        self._telemetry.kept_answer("distrusted")
        log.error(
            "ALARM: the kept answer about submission %s is not used, and Redis may have been written to by others: %s",
            submission.submission_id,
            why,
        )

    async def _keep_certificate(self, proof: Proof) -> None:
        if proof.uncertified:
            log.warning("%s has no certificate: %s", proof.ir_hash, proof.uncertified)
        if proof.certificate is not None:
            await store_certificate(self._client, proof.certificate.hash, proof.certificate.data)

    async def _proved(self, job: Job, submission: ProgramSubmission) -> Proof:
        latest = Progress("waiting")

        def note(progress: Progress) -> None:
            # From another thread; reading and writing one name needs no lock.
            nonlocal latest
            latest = progress

        ticket = self._pool.submit(job, note)
        proving = asyncio.wrap_future(ticket.future)
        # Rehearsed while its certificate is made.
        seeing = asyncio.create_task(self._seen(asyncio.wrap_future(ticket.verdict)))
        begun = time.monotonic()
        try:
            while not (await asyncio.wait([proving], timeout=_TELL_EVERY_S))[0]:
                await self._tell(submission, latest, time.monotonic() - begun)
            proof = proving.result()
            return await self._rehearsed(proof, submission, await seeing)
        finally:
            ticket.cancel()
            seeing.cancel()
            await asyncio.gather(seeing, return_exceptions=True)

    async def _tell(self, submission: ProgramSubmission, progress: Progress, so_far: float) -> None:
        told = ProofProgress(
            submission_id=submission.submission_id,
            task_id=submission.task_id,
            runtime=submission.runtime,
            phase=progress.phase,
            done=progress.done,
            total=progress.total,
            elapsed_ms=round(so_far * 1000),
        )
        try:
            subject = subjects.proof_progress(submission.runtime, submission.task_id)
            await self._client.publish(subject, told.to_json())
        except (NatsError, OSError) as error:
            log.debug("progress of %s is not published: %s", submission.submission_id, error)


def _no_layer(submission: ProgramSubmission, layers: InstalledLayers) -> Proof:
    if submission.layer_hash is None:
        message = "this prover has no trusted layer, so no program can be read"
    else:
        known = ", ".join(layers.layers) or "none"
        message = f"the layer {submission.layer_hash} is not here; there are: {known}"
    remedy = "name the directory of a layer in the prover's LICTOR_LAYERS"
    return rejected(Reason("layer.unknown", message, remedy))


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Proves what a program will do before it runs.",
    streams=(streams.PROGRAMS, streams.PROOFS, streams.CERTIFICATES),
    channels=(
        StreamChannel(
            subject=subjects.PROGRAM.pattern,
            message=ProgramSubmission,
            description="Programs submitted for proof (stream PROGRAMS).",
            reads=True,
        ),
        StreamChannel(
            subject=subjects.PROOF.pattern,
            message=ProofResult,
            description="What was found (stream PROOFS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.PROOF_PROGRESS.pattern,
            message=ProofProgress,
            description="How far a proof is that takes long; not kept.",
            reads=False,
        ),
    ),
)


def make_service() -> Service:
    """The prover with the layers of this installation; one that can't be used stops it here."""
    layers = usable_layers()
    settings = ProverSettings.from_environment()

    known = ", ".join(layers.layers)
    service: Service

    def tell_differences(count: int) -> None:
        service.detail = _detail(known, count)

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        roots = tuple(layers.layers.values())
        # Without a layer nothing is ever proved, and nobody has to wait for it.
        workers = settings.workers if roots else 0
        pool = Pool(
            workers,
            layers=roots,
            memory_mb=settings.memory_mb,
            certifies=bool(settings.certificate_s),
        )
        try:
            await asyncio.to_thread(check_layers, pool, layers)
        except BaseException:
            await asyncio.to_thread(pool.close)
            raise
        prover = Prover(
            runtime.client,
            AnswerCache(runtime.store),
            pool,
            layers,
            settings,
            runtime.telemetry,
            BusStage(runtime.client),
            tell_differences,
            draw_seed=partial(secrets.token_hex, SEED_BYTES),
        )
        proving = proving_loop(
            runtime.client,
            prover.judge,
            result_id,
            at_once=settings.workers,
            dead=DeadLetters(runtime.client, NAME),
            telemetry=runtime.telemetry,
            on_end=pool.close,
        )
        return [proving]

    service = Service(spec=SPEC, loops=loops, detail=_detail(known))
    return service


def _detail(layers: str, differences: int = 0) -> str:
    told = f"layers {layers}" if layers else "no trusted layer: every program is rejected"
    if differences:
        told += f"; ALARM: proofs that Python contradicted: {differences}, see the log"
    return told


_NOTHING = "def main() -> None:\n    pass\n"


def usable_layers() -> InstalledLayers:
    """The layers of ``LICTOR_LAYERS``; one that can't be used stops the service."""
    try:
        return installed_layers()
    except ProverConfigError as error:
        raise BusError(str(error)) from None


def check_layers(pool: Pool, layers: InstalledLayers) -> None:
    """Load every layer once, in a worker; one that does not load stops the service here."""
    for layer_hash, roots in layers.layers.items():
        try:
            pool.prove(Job(_NOTHING, "check.py", roots=roots, layer_hash=layer_hash))
        except ProverConfigError as error:
            raise BusError(f"the layer in {roots.imports[0]!r} can't be used: {error}") from None
