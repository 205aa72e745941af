"""The approval service on the bus: PROOFS and SESSIONS in, APPROVALS out, decisions by request/reply."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from lictor_approval.decision_validity import ApprovalLimits
from lictor_approval.errors import ApprovalError
from lictor_approval.signed_decisions import Approvers
from lictor_approvals import __version__
from lictor_approvals.call_intake import CallIntake
from lictor_approvals.decision_desk import DecisionDesk
from lictor_approvals.each_delivery import EachDelivery
from lictor_approvals.policy_in_force import PolicyInForce, ask_always, policy_in_force
from lictor_approvals.request_intake import LayersHere, RequestIntake
from lictor_approvals.request_log import BELL, RequestLog
from lictor_bus.errors import BusError
from lictor_bus.fold.entity_timers import EntityTimers
from lictor_bus.gates.gate_runner import GateRunner
from lictor_bus.logs.certificates import load_certificate
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.loops.handling_loop import HandlingLoop
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, Service, ServiceRuntime, ServiceSpec, StreamChannel
from lictor_bus.service.settings import path_setting, whole_setting
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.pull import PullConsumer, PullSettings
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.installed import installed_layers
from lictor_schema.approvals.approval import MAX_VALID_S, ApprovalEntry
from lictor_schema.core.time import DAY_S
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.sessions.session_log import AnySessionEntry
from lictor_seal import TrustStore

NAME = "approvals"
# What a killed service had in hand is delivered again after so long.
_PULL = PullSettings(each_on_its_own=True, batch=4, ack_wait_s=6.0)
# Most of what sessions log is about no request, and is passed over unread.
_PULL_SESSIONS = PullSettings(each_on_its_own=True, batch=128, ack_wait_s=6.0)


@dataclass(frozen=True, kw_only=True)
class ApprovalSettings:
    """Whose decisions count, and for how long."""

    people: Path | None
    policies: Path | None
    limits: ApprovalLimits
    policy: PolicyInForce | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ApprovalSettings":
        """Read ``LICTOR_APPROVERS`` and ``LICTOR_APPROVAL_*``."""
        limits = ApprovalLimits(
            decide_within=_seconds(environment, "LICTOR_APPROVAL_DECIDE_S", DAY_S),
            start_within=_seconds(environment, "LICTOR_APPROVAL_START_S", 3600),
        )
        return cls(
            people=path_setting(environment, "LICTOR_APPROVERS"),
            policies=path_setting(environment, "LICTOR_POLICY_APPROVERS"),
            limits=limits,
            policy=policy_in_force(environment, limits),
        )

    def approvers(self) -> Approvers:
        """The keys in their files as they are now: a key that was revoked counts no more from then on."""
        known = Approvers.load(self.people, self.policies)
        if self.policies is not None or self.policy is None:
            return known
        # Nobody says whose policies count, so ours does; a runner learns that from a file of its own.
        return Approvers(known.people, TrustStore.of([self.policy.key.verifying_key]))


def _seconds(environment: Mapping[str, str], name: str, default: int) -> timedelta:
    return timedelta(seconds=whole_setting(environment, name, default, 1, MAX_VALID_S))


def layers_here(environment: Mapping[str, str]) -> Sequence[str]:
    """The hashes of the layers of ``LICTOR_LAYERS``, as their files are now."""
    try:
        return tuple(installed_layers(environment).layers)
    except ProverConfigError as error:
        raise BusError(str(error)) from None


SPEC = ServiceSpec(
    name=NAME,
    version=__version__,
    description="Asks people before a proved program runs or a tool call is made, and keeps what was decided.",
    streams=(
        streams.APPROVALS,
        streams.PROOFS,
        streams.PROGRAMS,
        streams.SESSIONS,
        streams.CERTIFICATES,
        streams.TIMERS,
    ),
    channels=(
        StreamChannel(
            subject=subjects.PROOF.pattern,
            message=ProofResult,
            description="What the prover found (stream PROOFS).",
            reads=True,
        ),
        StreamChannel(
            subject=subjects.SESSION_LOG.pattern,
            message=AnySessionEntry,
            description="Calls that wait for people, and what became of them (stream SESSIONS).",
            reads=True,
        ),
        StreamChannel(
            subject=subjects.APPROVAL.pattern,
            message=ApprovalEntry,
            description="Approval requests, and every change of their states (stream APPROVALS).",
            reads=False,
        ),
    ),
)


async def approval_loops(
    runtime: ServiceRuntime,
    settings: ApprovalSettings,
    *,
    layers: LayersHere,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Sequence[Runnable]:
    """Proofs, the clock, and the desk."""
    client = await runtime.connections.nats("desk")
    requests = RequestLog(client, runtime.telemetry)
    dead = DeadLetters(client, NAME)
    limits = settings.limits
    desk = DecisionDesk(client, requests, settings.approvers, layers=layers, limits=limits, now=now)
    asking = RequestIntake(
        client,
        requests,
        layers=layers,
        automatic=ask_always
        if settings.policy is None
        else partial(settings.policy.decide, certificates=partial(load_certificate, client)),
        decide=desk.decide_by_policy,
        limits=limits,
        now=now,
    )
    await asking.begin()

    def taking_in(
        stream: str,
        subject: str,
        take_in: Callable[[Delivery], Awaitable[str | None]],
        pull: PullSettings,
    ) -> HandlingLoop:
        consumer = PullConsumer(runtime.client, stream, NAME, subject, pull)
        each = EachDelivery(stream, take_in, dead=dead, telemetry=runtime.telemetry)
        return HandlingLoop(consumer, each.handle, telemetry=runtime.telemetry)

    calls = CallIntake(requests, now=now)
    return [
        taking_in(streams.PROOFS, subjects.PROOF.any, asking.take_in, _PULL),
        taking_in(streams.SESSIONS, subjects.SESSION_LOG.any, calls.take_in, _PULL_SESSIONS),
        EntityTimers(runtime.client, BELL, desk.ring, dead=dead, telemetry=runtime.telemetry),
        GateRunner(client, NAME, [desk.bound()], runtime.telemetry),
    ]


def make_service() -> Service:
    """The service with the approvers of this installation; keys that can't be read stop it here."""
    settings = ApprovalSettings.from_environment()
    try:
        approvers = settings.approvers()
    except ApprovalError as error:
        raise BusError(str(error)) from None
    layers = partial(layers_here, dict(os.environ))
    layers()
    people, policy = len(approvers.people.keys), settings.policy
    told = f"{people} approvers" if people else "no approvers: nobody can approve"
    return Service(
        spec=SPEC,
        loops=lambda runtime: approval_loops(runtime, settings, layers=layers),
        config_hash=None if policy is None else policy.hash,
        detail=told if policy is None else f"{told}, {len(policy.policy.rules)} rules of a policy",
    )
