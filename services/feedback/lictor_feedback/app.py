"""The feedback service on the bus. This version has no policies yet: its gates deny and say so."""

from collections.abc import Callable, Sequence

from faststream.nats import NatsBroker

from lictor_bus import streams
from lictor_bus.gates import refuse_for_now
from lictor_bus.service import Runnable, Runtime, Service, ServiceSpec
from lictor_bus.telemetry import Telemetry
from lictor_feedback import __version__
from lictor_schema import StopGateRequest, ToolGateRequest

NAME = "feedback"


def declare_gates(broker: NatsBroker, telemetry: Callable[[], Telemetry]) -> None:
    """The gates this service owns; until it can judge, it refuses."""
    refuse_for_now(broker, telemetry, NAME, "tool", ToolGateRequest)
    refuse_for_now(broker, telemetry, NAME, "stop", StopGateRequest)


async def _no_loops(_runtime: Runtime) -> Sequence[Runnable]:
    return ()


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Gates tool calls and stops. This version denies every request.",
    streams=(streams.GUIDANCE,),
    gates=declare_gates,
)


def make_service() -> Service:
    """The feedback service."""
    return Service(
        spec=SPEC,
        loops=_no_loops,
        detail="no tool policies in this version: every tool and stop request is denied",
    )
