"""What the log of a decision adds to the episode of its task: the envelope, and what was measured under it; pure."""

from lictor_contracts.asked import utc_text
from lictor_contracts.deciding_state import Deciding
from lictor_contracts.settling import final_rung, stamp_of, why
from lictor_schema import (
    DecisionEpisode,
    DteRef,
    EpisodeContext,
    Outcome,
    PolicyPackStamp,
    PolicyStamp,
    StageMs,
    Telemetry,
)
from lictor_schema.model import MAX_ITEMS


def under_envelope(episode: DecisionEpisode, state: Deciding) -> DecisionEpisode:
    """The episode with what the decision's log tells; the log must end with its closing."""
    closed, begun = state.closed, state.begun
    if closed is None:
        raise ValueError(f"the decision of task {begun.task_id} is not closed")
    rung = final_rung(state, closed.at_us)
    outcome = Outcome(
        code=closed.outcome,
        reason=f"{why(state, rung, closed.verification, closed.outcome)}; "
        f"{episode.outcome.reason or 'no reason given'}",
    )
    changed = {
        "decision_window_ms": begun.dte.deadline_ms,
        "dte_ref": DteRef(
            decision_type=begun.decision_type,
            version=begun.dte.version,
            dte_hash=begun.dte_hash,
            policy_pack_hash=begun.pack.pack_hash,
        ),
        "context": _context(episode.context, state),
        "actions": tuple(each.contract for each in state.actions.values() if each.dispatches),
        "verification": closed.verification,
        "outcome": outcome,
        "telemetry": _telemetry(episode.telemetry, state, closed.at_us).model_copy(
            update={"fallback_used": rung.step is not None, "fallback_step": rung.step}
        ),
        "policy": _policy(episode.policy, state),
        "degrade": stamp_of(rung),
    }
    # Read again as a whole, so that its own rules hold: no success without a mandatory pass.
    return DecisionEpisode.model_validate({**dict(episode), **changed})


def _context(context: EpisodeContext, state: Deciding) -> EpisodeContext:
    captured = min(state.captured_us.values(), default=None)
    log = f"lictor:act:{state.chain}"
    return EpisodeContext(
        snapshot_id=context.snapshot_id,
        captured_at=context.captured_at if captured is None else utc_text(captured),
        ttl_ms=state.envelope.dte.freshness.default_ttl_ms,
        max_feature_age_ms=state.oldest_ms,
        ttl_breaches_count=len(state.breaches),
        # The log itself is evidence: its hash covers every entry up to the closing.
        evidence_refs=(log, *context.evidence_refs)[:MAX_ITEMS],
    )


def _telemetry(telemetry: Telemetry, state: Deciding, at_us: int) -> Telemetry:
    spread, stages = state.spread, state.stage_ms(at_us)
    return Telemetry(
        end_to_end_ms=state.elapsed_ms(at_us),
        hop_count=telemetry.hop_count if spread is None else spread["hops"],
        fanout=telemetry.fanout if spread is None else spread["fanout"],
        # A stage that never began took no time; where none did, nobody measured any.
        stage_ms=StageMs(**{name: stages.get(name, 0) for name in StageMs.model_fields})
        if stages
        else None,
        fallback_used=False,
    )


def _policy(policy: PolicyStamp, state: Deciding) -> PolicyStamp:
    """The packs in force, the one that the envelope comes from among them."""
    pack = state.begun.pack
    stamp = PolicyPackStamp(
        policy_pack_id=pack.pack_id,
        policy_pack_version=pack.pack_version,
        policy_pack_hash=pack.pack_hash,
    )
    if stamp in policy.packs:
        return policy
    return policy.model_copy(update={"packs": (*policy.packs, stamp)[-MAX_ITEMS:]})
