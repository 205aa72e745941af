"""What the log of a decision adds to the episode of its task: the envelope, and what was measured under it; pure."""

from collections.abc import Iterator

from lictor_contracts.decision.outcome import (
    OmittedAction,
    final_rung,
    not_done,
    settled_outcome,
    stamp_of,
    why,
)
from lictor_contracts.decision.outcome_signs import badness
from lictor_contracts.decision.question_stamp import utc_text
from lictor_contracts.decision.state import Deciding
from lictor_contracts.envelope.bounds import FEATURE
from lictor_schema.contracts.decision_log import (
    ActionApproved,
    BypassApproved,
    DecisionFrozen,
    DecisionResumed,
    SwitchEngaged,
    SwitchReleased,
)
from lictor_schema.core.base_model import MAX_ITEMS
from lictor_schema.seals.episode import (
    ApprovalNote,
    DecisionEpisode,
    DteRef,
    EpisodeContext,
    FeatureNote,
    Intervention,
    Outcome,
    PolicyPackStamp,
    PolicyStamp,
    RefusedAction,
    StageMs,
    Telemetry,
)
from lictor_schema.seals.episode_sources import MAX_NOTE_TEXT, MAX_NOTES
from lictor_sealer.episode.signs import MAX_REASON

_MAX_TARGETS = 2
_MAX_CODES = 16
# Ids may have 512 characters each: so many notes of each kind fit into a message whatever they are.
_MAX_TOLD = 64


def under_envelope(episode: DecisionEpisode, state: Deciding) -> DecisionEpisode:
    """The episode with what the decision's log says; the log must end with its closing.

    Its outcome, up to now by records and streams alone, is what the log leaves of that.
    """
    closed, begun = state.closed, state.begun
    if closed is None:
        raise ValueError(f"the decision of task {begun.task_id} is not closed")
    rung = final_rung(state, closed.at_us)
    reason = f"{why(state, rung, closed.verification, closed.at_us)}; {episode.outcome.reason}"
    claimed = episode.outcome.code
    shown = settled_outcome(state, rung, closed.verification, claimed, closed.at_us)
    # A log that an older sealer closed may say more than it shows.
    code = max(closed.outcome, shown, key=badness)
    outcome = Outcome(code=code, reason=reason[:MAX_REASON])
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
        "refused_actions": tuple(_refused(each) for each in not_done(state)[:_MAX_TOLD]),
        "approvals": tuple(_approvals(state))[:_MAX_TOLD],
        "interventions": _interventions(state)[:_MAX_TOLD],
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
        features=_features(state)[:MAX_NOTES],
    )


def _features(state: Deciding) -> tuple[FeatureNote, ...]:
    """Every feature that was captured or had to be, those that were too old first."""
    freshness = state.envelope.dte.freshness
    breached = {each.removeprefix(FEATURE) for each in state.breaches}
    names = {**dict.fromkeys(freshness.feature_ttls), **dict.fromkeys(state.captured_us)}
    notes = [
        FeatureNote(
            name=name,
            captured_at=utc_text(state.captured_us[name]) if name in state.captured_us else None,
            ttl_ms=freshness.feature_ttls.get(name, freshness.default_ttl_ms),
            age_ms=state.used_ms.get(name),
            breach=name in breached,
        )
        for name in names
    ]
    return tuple(sorted(notes, key=lambda each: not each.breach))


def _refused(missing: OmittedAction) -> RefusedAction:
    action = missing.action
    contract = action.contract
    return RefusedAction(
        action_id=contract.action_id,
        action_type=contract.action_type,
        blast_radius_tier=contract.blast_radius_tier,
        target_refs=contract.target_refs[:_MAX_TARGETS],
        action_hash=action.action_hash,
        status=missing.status,
        reason=missing.reason[:MAX_NOTE_TEXT],
        codes=tuple(dict.fromkeys(each.code for each in action.reasons))[:_MAX_CODES],
        rung=None if action.rung is None else action.rung.step,
        asked_at=utc_text(action.asked_us),
    )


def _approvals(state: Deciding) -> Iterator[ApprovalNote]:
    ids = {each.action_hash: each.contract.action_id for each in state.actions.values()}
    for said in state.said:
        if not isinstance(said, ActionApproved | BypassApproved):
            continue
        approved = said.action_hash if isinstance(said, ActionApproved) else None
        yield ApprovalNote(
            by=said.approver,
            reason=said.reason[:MAX_NOTE_TEXT],
            at=utc_text(said.at_us),
            action_id=None if approved is None else ids.get(approved),
            action_hash=approved,
        )


_MOVES = {
    DecisionFrozen: "frozen",
    DecisionResumed: "resumed",
    SwitchEngaged: "halted",
    SwitchReleased: "released",
}


def _interventions(state: Deciding) -> tuple[Intervention, ...]:
    own = [each for each in state.said if isinstance(each, DecisionFrozen | DecisionResumed)]
    moves = sorted([*own, *state.switched], key=lambda each: each.at_us)
    return tuple(
        Intervention(
            what=_MOVES[type(each)],  # pyright: ignore[reportArgumentType] -- one of the four
            by=each.by,
            reason=each.reason[:MAX_NOTE_TEXT],
            at=utc_text(each.at_us),
        )
        for each in moves
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
