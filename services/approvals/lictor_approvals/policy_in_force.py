"""The approval policy of this installation: looks at what a request asks for, and signs what a rule decides."""

import logging
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from lictor_approval.approval_policy import (
    ProofFindings,
    contracts_named,
    findings,
    judge,
    load_policy,
    needs_certificate,
    needs_findings,
    policy_hash,
)
from lictor_approval.decision_validity import ApprovalLimits
from lictor_approval.errors import ApprovalError
from lictor_approval.request_life import RequestLife
from lictor_approval.signed_decisions import sign_decision
from lictor_bus.errors import BusError
from lictor_prove.certificate.recheck import recheck
from lictor_prove.workers.entailment import look_at
from lictor_schema.approvals.approval import ApprovalDecision, ApprovalRequest, PolicyGround
from lictor_schema.approvals.approval_policy import ApprovalPolicy
from lictor_schema.core.base_model import utc_millis
from lictor_schema.proofs.program import ProgramSubmission
from lictor_seal import SealError, SigningKey

log = logging.getLogger("lictor.approvals")

LOOK_WITHIN_S = 20.0
_MAX_WHY = 4000

Certificates = Callable[[str], Awaitable[bytes | None]]
"""The certificate of a name; None when it is not kept here."""


@dataclass(frozen=True, kw_only=True)
class PolicyInForce:
    """A policy, and the key that signs what it decides."""

    policy: ApprovalPolicy
    key: SigningKey
    hash: str

    async def decide(
        self, life: RequestLife, submission: ProgramSubmission, certificates: Certificates
    ) -> str | None:
        """What it decides about a request, signed; None to ask somebody."""
        request = life.program
        found = ProofFindings()
        if needs_findings(self.policy):
            contracts = contracts_named(self.policy)
            answer = await look_at(request.binding, submission.program, contracts, LOOK_WITHIN_S)
            found = findings(contracts, answer.effects, answer.implied, answer.problem)
        if needs_certificate(self.policy):
            found = await self._with_certificate(found, request, certificates)
        verdict = judge(self.policy, request, found)
        request_id = request.request_id
        if verdict.decision == "ask" or verdict.rule is None:
            log.info("request %s: somebody is asked: %s", request_id, verdict.why)
            return None
        now = datetime.now(UTC)
        what: Literal["approve", "reject"] = "approve" if verdict.decision == "allow" else "reject"
        why = verdict.why[:_MAX_WHY]
        decision = ApprovalDecision(
            request_id=request_id,
            binding_hash=request.binding_hash,
            decision=what,
            by=self.key.name,
            decided_at=utc_millis(now),
            expires_at=utc_millis(now + timedelta(seconds=self.policy.good_for_s)),
            nonce=str(uuid.uuid4()),
            reason=why,
            automatic=PolicyGround(policy_hash=self.hash, rule=verdict.rule, why=why),
        )
        return sign_decision(decision, self.key)

    async def _with_certificate(
        self, found: ProofFindings, request: ApprovalRequest, certificates: Certificates
    ) -> ProofFindings:
        named = request.binding.certificate_hash
        data = None if named is None else await certificates(named)
        if data is None:
            return replace(found, certificate_problem=f"the certificate {named} is not kept here")
        checked = await recheck(request, data, LOOK_WITHIN_S)
        return replace(found, certificate_level=checked.level, certificate_problem=checked.problem)


async def ask_always(life: RequestLife, submission: ProgramSubmission) -> str | None:
    """Without a policy, somebody is asked about everything."""
    del life, submission
    return None


def policy_in_force(
    environment: Mapping[str, str] = os.environ, limits: ApprovalLimits | None = None
) -> PolicyInForce | None:
    """``LICTOR_APPROVAL_POLICY`` with ``LICTOR_APPROVAL_KEY``; one that can't be used stops the service."""
    path, key = environment.get("LICTOR_APPROVAL_POLICY"), environment.get("LICTOR_APPROVAL_KEY")
    if not path:
        return None
    if not key:
        raise BusError(
            "LICTOR_APPROVAL_POLICY is set and LICTOR_APPROVAL_KEY is not: name the private key that signs what"
            " the policy decides; `lictor approvals keygen` makes one."
        )
    try:
        policy = load_policy(Path(path))
        name = environment.get("LICTOR_APPROVAL_KEY_NAME", "lictor-approvals")
        signing = SigningKey.load(Path(key), name)
    except (ApprovalError, SealError) as error:
        raise BusError(str(error)) from None
    longest = (limits or ApprovalLimits()).start_within
    if timedelta(seconds=policy.good_for_s) > longest:
        raise BusError(
            f"{path}: good_for_s is {policy.good_for_s}, more than LICTOR_APPROVAL_START_S allows."
        )
    return PolicyInForce(policy=policy, key=signing, hash=policy_hash(policy))
