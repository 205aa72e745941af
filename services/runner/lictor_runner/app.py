"""The runner on the bus: approvals in, effects and what became of them out."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lictor_approval.errors import ApprovalError
from lictor_approval.signed_decisions import Approvers
from lictor_bus.errors import BusError
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.concurrent_loop import ConcurrentLoop
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_bus.service.settings import path_setting, whole_setting
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.installed import installed_layers
from lictor_run.program_interpreter import is_read_by_python
from lictor_run.run_limits import RunLimits
from lictor_runner import __version__
from lictor_runner.runner import Runner, Surroundings
from lictor_schema.approvals.approval import ApprovalEntry
from lictor_schema.approvals.run import AnyRunEntry
from lictor_schema.proofs.proof import CertificateLevel

NAME = "runner"


@dataclass(frozen=True, kw_only=True)
class RunnerSettings:
    """Whose approvals count here, and what a run may use."""

    people: Path | None
    policies: Path | None
    at_once: int
    limits: RunLimits
    shown: tuple[str, ...]
    """The variables of the environment that trusted layers see."""
    certificate_level: CertificateLevel = "c"
    """What the certificate of a program has to show that a policy approved."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "RunnerSettings":
        """Read ``LICTOR_APPROVERS``, ``LICTOR_POLICY_APPROVERS`` and ``LICTOR_RUN_*``."""
        named = environment.get("LICTOR_RUN_ENV", "").split(",")
        return cls(
            people=path_setting(environment, "LICTOR_APPROVERS"),
            policies=path_setting(environment, "LICTOR_POLICY_APPROVERS"),
            at_once=whole_setting(environment, "LICTOR_RUNS_AT_ONCE", 2, 1, 64),
            limits=RunLimits(
                wall_s=float(whole_setting(environment, "LICTOR_RUN_TIMEOUT_S", 120, 1, 86_400)),
                cpu_s=whole_setting(environment, "LICTOR_RUN_CPU_S", 60, 1, 86_400),
                memory_mb=whole_setting(environment, "LICTOR_RUN_MEMORY_MB", 512, 64, 1024 * 1024),
                file_mb=whole_setting(environment, "LICTOR_RUN_FILE_MB", 64, 1, 1024 * 1024),
            ),
            shown=_shown([name.strip() for name in named if name.strip()]),
            certificate_level=_level(environment.get("LICTOR_RUN_CERTIFICATE_LEVEL") or "c"),
        )

    def approvers(self) -> Approvers:
        """The keys in their files as they are now: a key that was revoked counts no more from then on."""
        return Approvers.load(self.people, self.policies)

    def environment(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """What trusted layers see."""
        return {name: environment[name] for name in self.shown if name in environment}


def _shown(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if is_read_by_python(name):
            raise BusError(
                f"LICTOR_RUN_ENV names {name}, which changes Python: programs run as they were rehearsed. Leave it out."
            )
    return tuple(names)


def _level(text: str) -> CertificateLevel:
    if text not in ("a", "b", "c"):
        raise BusError(f"LICTOR_RUN_CERTIFICATE_LEVEL is {text!r}: it must be a, b or c.")
    return text


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Runs exactly what was approved, once.",
    streams=(
        streams.APPROVALS,
        streams.RUNS,
        streams.PROGRAMS,
        streams.PROOFS,
        streams.CERTIFICATES,
    ),
    channels=(
        StreamChannel(
            subject=subjects.APPROVAL.documented(state="approved"),
            message=ApprovalEntry,
            description="Approvals by which programs run (stream APPROVALS).",
            reads=True,
        ),
        StreamChannel(
            subject=subjects.RUN.pattern,
            message=AnyRunEntry,
            description="The journals of runs: each effect, before it is made (stream RUNS).",
            reads=False,
        ),
        StreamChannel(
            subject=subjects.APPROVAL.pattern,
            message=ApprovalEntry,
            description="That a run begins, what became of it, or why it does not begin.",
            reads=False,
        ),
    ),
)


def make_service() -> Service:
    """The runner with the approvers and layers of this installation; what can't be used stops it here."""
    environment = dict(os.environ)
    settings = RunnerSettings.from_environment(environment)
    try:
        approvers = settings.approvers()
        layers = installed_layers(environment)
    except (ApprovalError, ProverConfigError) as error:
        raise BusError(str(error)) from None
    people, policies = len(approvers.people.keys), len(approvers.policies.keys)

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        if not people + policies:
            return ()
        around = Surroundings(
            approvers=settings.approvers,
            installed_layers=partial(installed_layers, environment),
            limits=settings.limits,
            environment=settings.environment(environment),
            certificate_level=settings.certificate_level,
            now=lambda: datetime.now(UTC),
        )
        runner = Runner(runtime.client, f"{NAME}@{socket.gethostname()}"[:256], around)
        return [
            ConcurrentLoop(
                runtime.client,
                streams.APPROVALS,
                subjects.APPROVAL.where(state="approved"),
                runner.handle,
                service=NAME,
                durable=NAME,
                at_once=settings.at_once,
                dead=DeadLetters(runtime.client, NAME),
                telemetry=runtime.telemetry,
            )
        ]

    return Service(spec=SPEC, loops=loops, detail=_detail(people, policies, len(layers.layers)))


def _detail(people: int, policies: int, layers: int) -> str:
    if not people + policies:
        return "no approvers' keys (LICTOR_APPROVERS): nothing runs"
    by = f"{people} approvers" + (f", {policies} policies" if policies else "")
    return f"{by}; {layers} layers" if layers else f"{by}; no layers: nothing runs"
