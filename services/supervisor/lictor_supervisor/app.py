"""The supervisor as a service: its settings, and what it runs. It has public keys alone."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from lictor_bus.errors import BusError
from lictor_bus.names import streams
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec
from lictor_contracts.action.verification import Methods
from lictor_contracts.action.verification_plugins import installed_methods
from lictor_contracts.errors import ContractError
from lictor_seal.errors import TrustStoreError
from lictor_seal.trust import TrustFile, TrustStore
from lictor_supervisor import __version__, decision_loops, drift_loops
from lictor_supervisor.coherence_report import ReportPage

NAME = "supervisor"

SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Supervises governed decisions: answers their questions, finds drift, and follows its patches.",
    streams=tuple(
        dict.fromkeys(
            (*decision_loops.STREAMS, *drift_loops.STREAMS, streams.DECISIONS, streams.EPISODES)
        )
    ),
    channels=(*decision_loops.CHANNELS, *drift_loops.CHANNELS),
    questions=(*decision_loops.QUESTIONS, *drift_loops.QUESTIONS),
)


def load_methods() -> Methods:
    """The verification methods there are; one that can't be had stops the start."""
    try:
        return installed_methods()
    except ContractError as error:
        raise BusError(str(error)) from None


def trust_named() -> Callable[[], TrustStore]:
    """Whose seals are believed, by the file that the environment names; without it no seal can be verified."""
    path = os.environ.get("LICTOR_SEAL_TRUST")
    return TrustFile(Path(path)) if path else _nobody


def _nobody() -> TrustStore:
    raise TrustStoreError("LICTOR_SEAL_TRUST is not set: name the file with the log's public keys")


def make_service() -> Service:
    """The supervisor with the packs and the verification methods of this installation."""
    trust, methods, page = trust_named(), load_methods(), ReportPage()

    async def loops(runtime: ServiceRuntime) -> Sequence[Runnable]:
        return [
            *await decision_loops.governing_loops(runtime, methods),
            *await drift_loops.learning_loops(runtime, trust, page),
        ]

    return Service(
        spec=SPEC,
        loops=loops,
        pages={"/report": page},
        detail=f"verification by {', '.join(methods.names)}",
    )
