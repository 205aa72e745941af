"""The approval service on the bus: PROOFS in, APPROVALS out, decisions by request/reply."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lictor_approval.deciding import Limits
from lictor_approval.errors import ApprovalError
from lictor_approval.life import Life
from lictor_approval.signing import Approvers
from lictor_approvals import __version__
from lictor_approvals.asking import Asking, Shelf
from lictor_approvals.desk import Desk
from lictor_approvals.requests import BELL, Requests
from lictor_bus import streams, subjects
from lictor_bus.connection import connect_nats
from lictor_bus.dead import DeadLetters
from lictor_bus.errors import BusError
from lictor_bus.handling import HandlingLoop
from lictor_bus.pull import PullConsumer, PullSettings
from lictor_bus.respond import Question, Responder
from lictor_bus.ringing import Ringing
from lictor_bus.service import Channel, Runnable, Runtime, Service, ServiceSpec
from lictor_bus.settings import whole_setting
from lictor_prove.errors import ProverConfigError
from lictor_prove.shelf import shelf
from lictor_schema import (
    ApprovalEntry,
    ApprovalOrder,
    DeskAnswer,
    ProgramSubmission,
    ProofResult,
)

NAME = "approvals"
# A policy may look at a request for seconds; what was not done by then is delivered again.
_PULL = PullSettings(each_on_its_own=True, batch=4, ack_wait_s=30.0)


@dataclass(frozen=True, kw_only=True)
class ApprovalSettings:
    """Whose decisions count, and for how long."""

    people: Path | None
    policies: Path | None
    limits: Limits

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ApprovalSettings":
        """Read ``LICTOR_APPROVERS`` and ``LICTOR_APPROVAL_*``."""
        return cls(
            people=_path(environment, "LICTOR_APPROVERS"),
            policies=_path(environment, "LICTOR_POLICY_APPROVERS"),
            limits=Limits(
                decide_within=_seconds(environment, "LICTOR_APPROVAL_DECIDE_S", 24 * 3600),
                start_within=_seconds(environment, "LICTOR_APPROVAL_START_S", 3600),
            ),
        )

    def approvers(self) -> Approvers:
        """The keys in their files as they are now: a key that was revoked counts no more from then on."""
        return Approvers.load(self.people, self.policies)


def _path(environment: Mapping[str, str], name: str) -> Path | None:
    text = environment.get(name, "")
    return Path(text) if text else None


def _seconds(environment: Mapping[str, str], name: str, default: int) -> timedelta:
    return timedelta(seconds=whole_setting(environment, name, default, 1, 30 * 24 * 3600))


def layers_here() -> Sequence[str]:
    """The hashes of the layers of ``LICTOR_LAYERS``, as their files are now."""
    try:
        return tuple(shelf().layers)
    except ProverConfigError as error:
        raise BusError(str(error)) from None


async def _ask_always(life: Life, submission: ProgramSubmission) -> str | None:
    del life, submission
    return None


QUESTIONS = (
    Question(
        subject=subjects.desk("approval"),
        title="approval",
        request=ApprovalOrder,
        answer=DeskAnswer,
        description="Keep a signed decision about a request.",
    ),
)
SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Asks before a proved program runs, and keeps what was decided.",
    streams=(streams.APPROVALS, streams.PROOFS, streams.PROGRAMS, streams.TIMERS),
    channels=(
        Channel(
            subject="lictor.proof.{verdict}.{task}",
            message=ProofResult,
            description="What the prover found (stream PROOFS).",
            reads=True,
        ),
        Channel(
            subject="lictor.appr.{state}.{request}",
            message=ApprovalEntry,
            description="Approval requests, and every change of their states (stream APPROVALS).",
            reads=False,
        ),
    ),
    questions=QUESTIONS,
)


async def approval_loops(
    runtime: Runtime,
    settings: ApprovalSettings,
    *,
    layers: Shelf = layers_here,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Sequence[Runnable]:
    """Proofs, the clock, and the desk."""
    client = await connect_nats(runtime.settings.nats_url, name=f"lictor-{NAME}-desk")
    requests = Requests(client, runtime.telemetry)
    dead = DeadLetters(client, NAME)
    limits = settings.limits
    desk = Desk(client, requests, settings.approvers, shelf=layers, limits=limits, now=now)
    asking = Asking(
        client,
        requests,
        shelf=layers,
        automatic=_ask_always,
        decide=desk.decide_by_policy,
        limits=limits,
        now=now,
        dead=dead,
        telemetry=runtime.telemetry,
    )
    await asking.begin()
    proofs = PullConsumer(runtime.client, streams.PROOFS, NAME, "lictor.proof.*.*", _PULL)
    return [
        HandlingLoop(proofs, asking.handle, telemetry=runtime.telemetry),
        Ringing(runtime.client, BELL, desk.ring, dead=dead, telemetry=runtime.telemetry),
        Responder(client, NAME, {subjects.desk("approval"): desk.answer}, _nothing),
    ]


def make_service() -> Service:
    """The service with the approvers of this installation; keys that can't be read stop it here."""
    settings = ApprovalSettings.from_environment()
    try:
        approvers = settings.approvers()
    except ApprovalError as error:
        raise BusError(str(error)) from None
    layers_here()
    people = len(approvers.people.keys)
    return Service(
        spec=SPEC,
        loops=lambda runtime: approval_loops(runtime, settings),
        detail=f"{people} approvers" if people else "no approvers: nothing can be approved",
    )


async def _nothing() -> None:
    """What the answers set off is done when they are given."""
