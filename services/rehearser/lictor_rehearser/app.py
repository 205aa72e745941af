"""The rehearser on the bus: the prover's orders in, observations out. The only file with a broker in it.

It holds no key, no stream and no Redis. Programs run in children of stages, which are processes of their own: the
connection to NATS is in none of them.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lictor_bus.errors import MalformedQuestion
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.gates.rehearsal import REHEARSE
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec
from lictor_bus.service.settings import whole_setting
from lictor_prove.rehearsal.order_json import MalformedMessage, order_of
from lictor_rehearser import __version__
from lictor_rehearser.stage_pool import StagePool
from lictor_run.rehearsal.confinement import StageLimits
from lictor_run.rehearsal.local_stage import LocalStage
from lictor_schema.proofs.rehearsal_order import RehearsalObservation, RehearsalOrder, RehearsedRun

NAME = "rehearser"
_SHARE_OF_OBSERVED = 3 / 4
"""Of what the broker takes in one message."""


@dataclass(frozen=True, kw_only=True)
class RehearserSettings:
    """How many programs are rehearsed at once, and with what at most."""

    stages: int
    limits: StageLimits

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "RehearserSettings":
        """Read ``LICTOR_REHEARSAL_*``."""
        return cls(
            stages=whole_setting(
                environment, "LICTOR_REHEARSAL_STAGES", os.cpu_count() or 1, 1, 256
            ),
            limits=StageLimits(
                wall_s=whole_setting(environment, "LICTOR_REHEARSAL_TIMEOUT_S", 5, 1, 15),
                memory_mb=whole_setting(environment, "LICTOR_REHEARSAL_MEMORY_MB", 256, 64, 4096),
            ),
        )


class Rehearser:
    """Answers orders."""

    def __init__(self, pool: StagePool) -> None:
        self._pool = pool

    async def answer(self, asked: RehearsalOrder) -> RehearsalObservation:
        """What was seen of one order."""
        try:
            order = order_of(asked.model_dump_json(exclude={"request_id"}).encode())
        except MalformedMessage as error:
            raise MalformedQuestion(str(error), "order what a plan holds") from None
        seen = await self._pool.perform(order)
        return RehearsalObservation(
            request_id=asked.request_id,
            runs=tuple(
                RehearsedRun.model_validate(
                    {
                        "calls": tuple(
                            {"effect": call.effect, "arguments": dict(call.arguments)}
                            for call in run.calls
                        ),
                        "ended": run.ended,
                        "error": run.error,
                        "line": run.line,
                    }
                )
                for run in seen.runs
            ),
            refused=seen.refused,
            python=seen.python,
        )


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Runs programs with stand-ins for their trusted calls, for the prover.",
    streams=(),
    only_answers=True,
)


def make_service() -> Service:
    """The rehearser; where processes can't be confined it runs, refuses every order, and says so."""
    settings = RehearserSettings.from_environment()
    service: Service

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        client = await runtime.connections.nats("gates")
        limits = settings.limits
        # Whatever a program does, what is seen of it fits into an answer.
        most = int(client.max_payload * _SHARE_OF_OBSERVED)
        limits = replace(limits, observed_bytes=min(limits.observed_bytes, most))
        pool = StagePool([LocalStage(limits) for _ in range(settings.stages)])
        runtime.connections.at_end(pool.close)
        refused = await pool.why_refused()
        if refused:
            service.detail = f"nothing is rehearsed here: {refused}"
        bound = BoundGate(gate=REHEARSE, handle=Rehearser(pool).answer)
        return [GateRunner(client, NAME, [bound], runtime.telemetry)]

    service = Service(spec=SPEC, loops=loops, detail=f"{settings.stages} stages")
    return service
