"""CERPA as a fold: what each claim, event and patch does to the cycles of a subject."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lictor_contracts.cerpa.claim_cycles import (
    MAX_CLAIMS,
    ClaimRefused,
    CyclesMoved,
    SubjectClaims,
    claimed,
    drift_as_event,
    happened,
    patch_moved,
)
from lictor_contracts.drift.events import Cause, drift_events
from lictor_contracts.errors import ContractError
from lictor_contracts.patch.document import read_document
from lictor_contracts.patch.proposal import propose
from lictor_schema.contracts.cerpa_cycle import (
    Assumption,
    CerpaClaim,
    CerpaCycle,
    CerpaDomain,
    CerpaEvent,
    CycleStatus,
    Measurement,
    Verdict,
)
from lictor_schema.contracts.drift import (
    DriftEvent,
    DriftSeverity,
    DriftType,
    Fingerprint,
    PatchType,
)
from lictor_schema.contracts.patch import (
    AppliedPatch,
    CycleRef,
    PatchApproval,
    PatchEntry,
    PatchOperation,
    PatchProposal,
    PatchRequest,
    PatchState,
)
from lictor_schema.core.canonical_json import content_hash

REFUND = """\
decisionType: refund
version: 1.2.0
deadlineMs: 100
stageBudgetsMs: {context: 10, plan: 20, act: 30, verify: 20}
freshness: {defaultTtlMs: 500}
limits: {maxHops: 3, maxFanout: 4, maxToolCalls: 20, maxChainDepth: 5}
degradeLadder: [{step: abstain}]
verification: {requiredAboveBlastRadius: small}
safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: medium}
"""
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ID = "00000000-0000-5000-8000-00000000000"
REQUEST = PatchRequest(
    request_id=ID + "4",
    decision_type="refund",
    drift_type=DriftType.FRESHNESS,
    cause="balance stale at use",
    fingerprint=Fingerprint.of("refund", DriftType.FRESHNESS, "balance stale at use"),
    recommended_patch_type=PatchType.TTL_CHANGE,
    severity=DriftSeverity.RED,
    occurrences=3,
    attempt=1,
    drift_ids=(),
)


def claim(name: str = "quick", day: int = 1, bound: str = "200") -> CerpaClaim:
    return CerpaClaim(
        id=name,
        domain=CerpaDomain.ACTIONOPS,
        timestamp=datetime(2026, 1, day, tzinfo=UTC),
        source="ops",
        text="refunds are quick",
        subject="refund",
        assumptions=(Assumption(metric="latency_ms", operator="le", bound=bound),),
    )


def event(value: str, name: str = "e", violation: str | None = None) -> CerpaEvent:
    return CerpaEvent(
        id=name,
        domain=CerpaDomain.ACTIONOPS,
        timestamp=NOON,
        source="meter",
        text="measured",
        subject="refund",
        measurements=(Measurement(metric="latency_ms", value=value, measured_at=NOON),),
        violation=violation,
    )


def settled(cycle: CerpaCycle, state: PatchState = PatchState.FAILED) -> PatchEntry:
    return PatchEntry(
        entry_id=ID + "1",
        patch_id=ID + "2",
        state=state,
        by="bob",
        at="2026-01-31T12:00:00.000Z",
        reason="the pack has moved on",
        cycle=CycleRef(cycle_id=cycle.cycle_id, subject="refund"),
    )


def test_the_first_finding_asks_for_a_patch_and_the_next_only_stand_on_record() -> None:
    subject = claimed(None, claim(), "ada", NOON).subject
    first = happened(subject, event("900", "e1"), NOON)
    second = happened(first.subject, event("901", "e2"), NOON)
    assert [each.status for each in first.cycles] == [CycleStatus.PATCHED]
    assert [each.status for each in second.cycles] == [CycleStatus.MISMATCHED]
    assert second.subject == first.subject


def escalated(**fields: Any) -> CyclesMoved:
    """A claim that ada stands for, and a red violation of it."""
    subject = claimed(None, claim().model_copy(update=fields), "ada", NOON).subject
    red = happened(subject, event("1", violation="refunded twice"), NOON)
    assert [each.status for each in red.cycles] == [CycleStatus.ESCALATED]
    return red


def form(**fields: Any) -> CerpaClaim:
    """A new form of the claim."""
    return claim(day=2).model_copy(update=fields)


BOUND = (Assumption(metric="latency_ms", operator="le", bound="1000"),)


@pytest.mark.parametrize("by", ["ada", "Ada", " ada "])
@pytest.mark.parametrize(
    "fields",
    [
        {"assumptions": BOUND},
        {"assumptions": ()},
        {"text": "refunds may be slow"},
        {"expires_at": datetime(2026, 1, 3, tzinfo=UTC)},
        {"authority": "bob"},
        {"domain": CerpaDomain.INTELOPS},
        {"assumptions": (Assumption(metric="latency_ms", operator="le", bound="199"),)},
    ],
    ids=["weaker", "about nothing", "other words", "expired", "another's", "elsewhere", "stronger"],
)
def test_a_red_violation_is_not_closed_by_a_new_form_from_who_stands_for_the_claim(
    fields: dict[str, Any], by: str
) -> None:
    red = escalated()
    (left,) = claimed(red.subject, form(**fields), by, NOON).cycles
    assert left.status is CycleStatus.ESCALATED
    assert left.apply_result is not None
    assert "settled by an applied patch, or by a new form" in (left.apply_result.reason or "")


def test_nor_is_it_closed_by_whom_the_claim_names_as_its_authority() -> None:
    red = escalated(authority="bob")
    for name in ("ada", "bob"):
        left = claimed(red.subject, form(assumptions=BOUND), name, NOON)
        assert [each.status for each in left.cycles] == [CycleStatus.ESCALATED]


def test_a_second_person_settles_a_red_violation_and_the_cycle_says_so() -> None:
    red = escalated()
    assert red.cycles[0].patch is not None
    assert "from another than ada" in red.cycles[0].patch.description
    left = claimed(red.subject, form(assumptions=BOUND), "ada", NOON)
    done = claimed(left.subject, claim(day=3, bound="1000"), "bob", NOON)
    (cycle,) = done.cycles
    assert cycle.status is CycleStatus.APPLIED
    assert cycle.apply_result is not None
    assert (cycle.apply_result.settled_by, cycle.apply_result.by) == ("second_person", "bob")
    assert not done.subject.open_cycles


def test_what_is_not_red_is_settled_by_a_new_form_from_anybody_and_the_cycle_says_so() -> None:
    subject = claimed(None, claim(), "ada", NOON).subject
    found = happened(subject, event("900"), NOON)
    (cycle,) = claimed(found.subject, form(assumptions=BOUND), "ada", NOON).cycles
    assert cycle.status is CycleStatus.APPLIED
    assert cycle.apply_result is not None
    assert (cycle.apply_result.settled_by, cycle.apply_result.by) == ("claim", "ada")


def test_no_event_closes_a_red_violation() -> None:
    red = escalated()
    after = happened(red.subject, event("1", "all is well"), NOON)
    assert after.subject.open_cycles == red.subject.open_cycles


def test_no_red_cycle_can_say_that_the_claim_alone_settled_it() -> None:
    (cycle,) = claimed(escalated().subject, form(assumptions=BOUND), "bob", NOON).cycles
    assert cycle.apply_result is not None
    alone = cycle.apply_result.model_copy(update={"settled_by": "claim"})
    with pytest.raises(ValidationError, match="by a patch or by a second person"):
        CerpaCycle(**{**dict(cycle), "apply_result": alone})


def test_what_was_settled_before_there_was_that_rule_stays_settled() -> None:
    done = claimed(
        escalated().subject, form(assumptions=BOUND), "ada", NOON, red_needs_another=False
    )
    (cycle,) = done.cycles
    assert cycle.status is CycleStatus.APPLIED
    assert cycle.apply_result is not None
    assert cycle.apply_result.settled_by is None


def test_red_escalates_also_while_something_milder_is_open() -> None:
    """A mismatch that waits for its patch must not keep a violation from a human."""
    subject = claimed(None, claim(), "ops", NOON).subject
    subject = happened(subject, event("900", "slow"), NOON).subject
    learned = happened(subject, event("100", "broken", violation="sent twice"), NOON)
    (cycle,) = learned.cycles
    assert (cycle.review.verdict, cycle.status) == (Verdict.VIOLATION, CycleStatus.ESCALATED)
    again = happened(learned.subject, event("100", "again", violation="sent twice"), NOON)
    assert [each.status for each in again.cycles] == [CycleStatus.MISMATCHED]
    settled = claimed(again.subject, claim(day=31), "eve", NOON)
    assert [each.status for each in settled.cycles] == [CycleStatus.APPLIED] * 2
    assert not settled.subject.open_cycles


def test_a_failed_patch_leaves_the_cycle_open_and_says_why() -> None:
    found = happened(claimed(None, claim(), "ada", NOON).subject, event("900"), NOON)
    failed = patch_moved(found.subject, settled(found.cycles[0]), NOON)
    (cycle,) = failed.cycles
    assert cycle.status is CycleStatus.PATCHED
    assert cycle.apply_result is not None
    assert not cycle.apply_result.success
    assert failed.subject.open_for("quick") == (cycle,)


def test_a_patch_of_a_cycle_that_is_not_open_is_refused() -> None:
    found = happened(claimed(None, claim(), "ada", NOON).subject, event("900"), NOON)
    with pytest.raises(ClaimRefused, match="is not open"):
        patch_moved(None, settled(found.cycles[0]), NOON)


def test_a_subject_holds_so_many_claims_and_no_older_form_of_one() -> None:
    subject = SubjectClaims({f"c{n}": claim(f"c{n}") for n in range(MAX_CLAIMS)})
    with pytest.raises(ClaimRefused, match="no more are held"):
        claimed(subject, claim("one more"), "ada", NOON)
    with pytest.raises(ClaimRefused, match="date it anew"):
        claimed(claimed(None, claim(day=2), "ada", NOON).subject, claim(), "ada", NOON)


@pytest.mark.parametrize("severity", DriftSeverity)
@pytest.mark.parametrize("kind", DriftType)
def test_drift_is_an_event_about_its_decision_type(
    kind: DriftType, severity: DriftSeverity
) -> None:
    (drift,) = drift_events("e", "refund", [Cause(kind, "a cause", severity)], NOON)
    told = drift_as_event(drift, NOON - timedelta(seconds=1))
    assert told.subject == "refund"
    assert told.timestamp == NOON - timedelta(seconds=1), "never later than it was told"
    assert (told.violation is not None) == (severity is DriftSeverity.RED)
    assert f"drift.{kind.value}" in [each.metric for each in told.measurements]


def drift(
    episode: str = "e",
    kind: DriftType = DriftType.FRESHNESS,
    cause: str = "balance stale at use",
    severity: DriftSeverity = DriftSeverity.RED,
    at: datetime = NOON,
) -> DriftEvent:
    (found,) = drift_events(episode, "refund", [Cause(kind, cause, severity)], at)
    return found


def seen(subject: SubjectClaims, found: DriftEvent) -> CyclesMoved:
    """A drift event, told to the claims about its decision type."""
    return happened(
        subject, drift_as_event(found, found.detected_at), NOON, at_least=found.severity
    )


def resting_on(*metrics: str, **fields: Any) -> CerpaClaim:
    """A claim about refunds that rests on some metrics being 0."""
    rests = tuple(Assumption(metric=each, operator="eq", bound="0") for each in metrics)
    return claim().model_copy(update={"assumptions": rests, **fields})


@pytest.mark.parametrize(
    ("metrics", "verdict"),
    [
        (("drift.freshness",), Verdict.VIOLATION),
        (("drift.freshness.red",), Verdict.VIOLATION),
        (("drift.freshness:balance stale at use",), Verdict.VIOLATION),
        (("latency_ms", "drift.freshness"), Verdict.VIOLATION),
        # What rests on nothing is about its whole subject.
        ((), Verdict.VIOLATION),
        (("latency_ms",), Verdict.ALIGNED),
        (("drift.bypass",), Verdict.ALIGNED),
        (("drift.freshness:price stale at use",), Verdict.ALIGNED),
        (("drift.freshness.yellow",), Verdict.ALIGNED),
    ],
)
def test_red_drift_violates_only_the_claims_that_are_about_it(
    metrics: tuple[str, ...], verdict: Verdict
) -> None:
    subject = claimed(None, resting_on(*metrics), "ada", NOON).subject
    (cycle,) = seen(subject, drift()).cycles
    assert cycle.review.verdict is verdict
    expected = CycleStatus.ALIGNED if verdict is Verdict.ALIGNED else CycleStatus.ESCALATED
    assert cycle.status is expected


def test_drift_about_something_else_does_not_make_an_expired_claim_red() -> None:
    expired = resting_on("latency_ms", expires_at=datetime(2026, 1, 2, tzinfo=UTC))
    (cycle,) = seen(claimed(None, expired, "ada", NOON).subject, drift()).cycles
    assert (cycle.review.verdict, cycle.review.severity) == (Verdict.EXPIRED, DriftSeverity.YELLOW)


def test_an_event_of_an_earlier_version_is_about_every_claim_of_its_subject() -> None:
    told = drift_as_event(drift(), NOON).model_copy(update={"violates": None})
    (cycle,) = happened(
        claimed(None, resting_on("latency_ms"), "ada", NOON).subject, told, NOON
    ).cycles
    assert cycle.review.verdict is Verdict.VIOLATION


def test_a_red_cause_escalates_while_another_red_cause_is_open() -> None:
    subject = claimed(None, resting_on("drift.freshness"), "ada", NOON).subject
    first = seen(subject, drift("e1"))
    other = seen(first.subject, drift("e2", cause="price stale at use"))
    again = seen(other.subject, drift("e3"))
    found = [cycle.status for each in (first, other, again) for cycle in each.cycles]
    assert found == [CycleStatus.ESCALATED, CycleStatus.ESCALATED, CycleStatus.MISMATCHED]


def proposal(severity: DriftSeverity = DriftSeverity.RED) -> PatchProposal:
    document = read_document("dte", "refund.yaml", REFUND)
    change = PatchOperation(op="set", path="/deadlineMs", old=100, new=90)
    return propose(
        document,
        [change],
        reason="so",
        severity=severity,
        proposed_by="lictor-sealer",
        proposed_at="2026-01-31T12:00:00.000Z",
    )


def step(state: PatchState, **fields: Any) -> PatchEntry:
    """A step of the patch that the drift above asks for."""
    found = drift()
    given: dict[str, Any] = {
        "by": "bob",
        "fingerprint": found.fingerprint,
        "decision_type": "refund",
        "at": "2026-01-31T12:00:00.000Z",
        "patch_id": ID + "4",
    }
    if state is PatchState.PROPOSED:
        given |= {"by": "lictor-sealer", "proposal": proposal(), "request": REQUEST}
    elif state is PatchState.APPROVED:
        about = content_hash(proposal())
        given["approval"] = PatchApproval(
            proposal_hash=about,
            decision="approved",
            actor_type="human",
            actor_id="bob",
            decided_at="2026-01-31T12:00:00.000Z",
        )
    elif state is PatchState.APPLIED:
        made = content_hash(1)
        given["applied"] = AppliedPatch(before=made, after=made, version="1.2.1")
    else:
        given["reason"] = "not so"
    return PatchEntry(entry_id=ID + "3", state=state, **{**given, **fields})


def folded(subject: SubjectClaims, *steps: PatchEntry) -> CyclesMoved:
    learned = CyclesMoved(subject)
    cycles: list[CerpaCycle] = []
    for each in steps:
        learned = patch_moved(learned.subject, each, NOON)
        cycles += learned.cycles
    return CyclesMoved(learned.subject, tuple(cycles))


def test_the_patch_that_drift_asked_for_settles_the_cycle_of_the_same_drift() -> None:
    subject = claimed(None, resting_on("drift.freshness"), "ada", NOON).subject
    red = seen(subject, drift())
    filed = folded(red.subject, step(PatchState.PROPOSED))
    assert filed.cycles == (), "what the sealer files by itself is taken on by nobody"
    done = folded(filed.subject, step(PatchState.APPROVED), step(PatchState.APPLIED))
    assert [each.status for each in done.cycles] == [CycleStatus.PATCHED, CycleStatus.APPLIED]
    last = done.cycles[-1]
    assert last.cycle_id == red.cycles[0].cycle_id
    assert last.patch is not None
    assert last.patch.proposal == proposal()
    assert last.apply_result is not None
    assert (last.apply_result.settled_by, last.apply_result.by) == ("patch", "bob")
    assert not done.subject.open_cycles


def test_it_settles_no_cycle_of_another_cause() -> None:
    subject = claimed(None, resting_on("drift.freshness"), "ada", NOON).subject
    other = seen(seen(subject, drift()).subject, drift("e2", cause="price stale at use"))
    steps = map(step, (PatchState.PROPOSED, PatchState.APPROVED, PatchState.APPLIED))
    done = folded(other.subject, *steps)
    (left,) = done.subject.open_cycles.values()
    assert left.event.violation == "price stale at use"


@pytest.mark.parametrize(
    ("detected_at", "expected"),
    [
        (NOON, CycleStatus.APPLIED),
        (NOON + timedelta(seconds=1), CycleStatus.ESCALATED),
    ],
    ids=["before it was applied", "after"],
)
def test_drift_that_is_told_after_its_patch_was_applied_is_settled_if_it_came_before(
    detected_at: datetime, expected: CycleStatus
) -> None:
    subject = claimed(None, resting_on("drift.freshness"), "ada", NOON).subject
    steps = map(step, (PatchState.PROPOSED, PatchState.APPROVED, PatchState.APPLIED))
    done = folded(subject, *steps)
    found = drift(at=detected_at)
    late = NOON + timedelta(minutes=1)
    learned = happened(done.subject, drift_as_event(found, late), late, at_least=found.severity)
    assert [each.status for each in learned.cycles] == [expected]
    assert bool(learned.subject.open_cycles) == (expected is CycleStatus.ESCALATED)


@pytest.mark.parametrize("state", [PatchState.REJECTED, PatchState.FAILED])
def test_a_drift_patch_that_came_to_nothing_settles_nothing_and_the_cycle_says_why(
    state: PatchState,
) -> None:
    subject = claimed(None, resting_on("drift.freshness"), "ada", NOON).subject
    red = seen(subject, drift())
    (cycle,) = folded(red.subject, step(PatchState.PROPOSED), step(state)).cycles
    assert cycle.status is CycleStatus.ESCALATED
    assert cycle.apply_result is not None
    assert cycle.apply_result.reason == f"{state.value} by bob: not so"


def test_a_cycle_is_not_settled_by_a_patch_whose_proposal_it_never_took() -> None:
    red = escalated()
    reference = CycleRef(cycle_id=red.cycles[0].cycle_id, subject="refund")
    own = {"fingerprint": None, "decision_type": None, "cycle": reference}
    taken = step(PatchState.PROPOSED, **own, request=None, by="eve", patch_id=ID + "5")
    patched = folded(red.subject, taken)
    assert [each.status for each in patched.cycles] == [CycleStatus.PATCHED]
    mild = step(PatchState.PROPOSED, **own, request=None, proposal=proposal(DriftSeverity.GREEN))
    with pytest.raises(ContractError, match="propose it with that severity"):
        patch_moved(patched.subject, mild, NOON)
    with pytest.raises(ClaimRefused, match="answers no cycle"):
        patch_moved(patched.subject, step(PatchState.APPLIED, **own), NOON)


INPUTS = st.lists(
    st.builds(claim, st.sampled_from("ab"), st.integers(1, 28), st.sampled_from(["1", "500"]))
    | st.builds(
        event,
        st.sampled_from(["0", "300", "900"]),
        st.uuids().map(str),
        st.sampled_from([None, "broke it"]),
    ),
    max_size=20,
)


@given(INPUTS)
def test_each_open_cycle_of_a_claim_is_worse_than_the_one_before_and_no_event_goes_unreviewed(
    inputs: list[CerpaClaim | CerpaEvent],
) -> None:
    subject = SubjectClaims()
    for each in inputs:
        if isinstance(each, CerpaEvent):
            learned = happened(subject, each, NOON)
            assert {cycle.claim.id for cycle in learned.cycles} == set(subject.claims)
            assert all(
                (cycle.review.verdict is Verdict.ALIGNED) == (cycle.status is CycleStatus.ALIGNED)
                for cycle in learned.cycles
            )
        else:
            try:
                learned = claimed(subject, each, "ada", NOON)
            except ClaimRefused:
                continue
        subject = learned.subject
        for name in subject.claims:
            waiting = [each.review.severity for each in subject.open_for(name)]
            assert waiting in ([], ["yellow"], ["red"], ["yellow", "red"])
        assert {each.claim.id for each in subject.open_cycles.values()} <= set(subject.claims)
        assert happened(subject, event("900"), NOON) == happened(subject, event("900"), NOON)
