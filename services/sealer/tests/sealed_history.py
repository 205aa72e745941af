"""Sealed episodes in a log on a real bus, for reports to be made from."""

from typing import Any

from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_batch
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.seals.episode import (
    Actor,
    DecisionEpisode,
    DegradeStamp,
    DteRef,
    EpisodeContext,
    Outcome,
    OutcomeCode,
    Plan,
    PolicyStamp,
    RecordDigest,
    Telemetry,
)
from lictor_seal import Frontier, SigningKey, TrustStore
from lictor_sealer.log.tree import Draft, Head, append

KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
TRUST = TrustStore.of([KEY.verifying_key])
WINDOW_MS = 1000


def action(tier: str) -> SafeActionContract:
    return SafeActionContract.model_validate_json(
        f"""{{"actionId": "a", "actionType": "refund", "blastRadiusTier": "{tier}",
        "targetRefs": [{{"type": "order", "id": "1"}}], "constraints": {{}},
        "authorization": {{"mode": "auto"}}, "idempotencyKey": "k",
        "rollbackPlan": {{"type": "revert"}}}}"""
    )


def episode(
    name: str,
    *,
    governed: bool = True,
    took_ms: int = 500,
    step: DegradeStep | None = None,
    stale: int = 0,
    tier: str | None = None,
    verified: bool = False,
    at: str = "2026-01-01T00:00:00.000Z",
) -> DecisionEpisode:
    context: dict[str, Any] = {"ttl_ms": 500, "max_feature_age_ms": 10} if governed else {}
    passed = Verification(required=True, result=VerificationResult.PASS, method="read_after_write")
    return DecisionEpisode(
        episode_id=name,
        decision_type="refund",
        task_id=f"task-{name}",
        runtime="test",
        correlation_id="flow",
        started_at=at,
        ended_at=at,
        decision_window_ms=WINDOW_MS if governed else None,
        actor=Actor(type="agent", id="agent"),
        dte_ref=DteRef(decision_type="refund", version="3") if governed else None,
        context=EpisodeContext(
            snapshot_id="s",
            captured_at=at,
            ttl_breaches_count=stale,
            evidence_refs=(),
            **{"ttl_ms": None, "max_feature_age_ms": None, **context},
        ),
        plan=Plan(planner="rules", summary="refund"),
        actions=() if tier is None else (action(tier),),
        verification=passed
        if verified
        else Verification(required=False, result=VerificationResult.NA),
        outcome=Outcome(code=OutcomeCode.PARTIAL),
        telemetry=Telemetry(
            end_to_end_ms=took_ms,
            hop_count=0,
            fanout=0,
            fallback_used=step is not None,
            fallback_step=step,
        ),
        policy=PolicyStamp(config_hash=content_hash("config"), packs=()),
        degrade=DegradeStamp(step=step, rationale={}, ladder=()),
        records=(
            RecordDigest(
                record_id="00000000-0000-5000-8000-000000000000", record_hash=content_hash(name)
            ),
        ),
    )


async def seal_all(client: Client, *episodes: DecisionEpisode, sealed_at: str) -> list[bytes]:
    """Append them to an empty log as the sealer does; returns the bundles."""
    made = append(Head(Frontier(), 0), [Draft(each, sealed_at) for each in episodes], KEY)
    messages = [
        Outgoing(
            subjects.episode(each.runtime, each.decision_type, each.episode_id),
            bundle,
            each.episode_id,
        )
        for each, bundle in zip(episodes, made.bundles, strict=True)
    ]
    messages.append(Outgoing(subjects.LOG_CHECKPOINT, made.checkpoint))
    await publish_batch(client, streams.EPISODES, messages)
    return list(made.bundles)
