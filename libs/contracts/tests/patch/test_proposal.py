"""A patch is applied whole, to the document it was made for, with the approval it needs; or not at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import instances

from lictor_contracts.patch.document import (
    PatchDocumentError,
    PolicyDocument,
    document_of,
    read_document,
)
from lictor_contracts.patch.proposal import (
    Applied,
    NotApplied,
    PatchRefused,
    apply,
    approval_needed,
    next_version,
    propose,
)
from lictor_contracts.patch.remedies import suggested_operations
from lictor_policy.judge.config import compile_files
from lictor_policy.packs.diff import diff_configs
from lictor_policy.packs.files import MemoryFiles
from lictor_schema.contracts.drift import DriftSeverity, DriftType
from lictor_schema.contracts.envelope import DTE, BlastRadius
from lictor_schema.contracts.patch import ApprovalRule, PatchApproval, PatchOperation, PatchProposal
from lictor_schema.core.canonical_json import content_hash

PACKS = Path(__file__).parents[4] / "policy-packs"
GREEN, YELLOW, RED = DriftSeverity
NOON = "2026-01-31T12:00:00.000Z"
TEXT = """\
decisionType: refund
version: 1.2.0
deadlineMs: 100  # what a customer waits for
stageBudgetsMs: {context: 10, plan: 20, act: 30, verify: 20}
freshness: {defaultTtlMs: 500}
limits: {maxHops: 3, maxFanout: 4, maxToolCalls: 20, maxChainDepth: 5}
degradeLadder:
  - step: abstain
verification: {requiredAboveBlastRadius: small}
safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: medium}
"""
REFUND = read_document("dte", "refund.yaml", TEXT)
LARGE = read_document("dte", "refund.yaml", TEXT.replace("Max: medium", "Max: large"))


def op(kind: Any, path: str, **values: Any) -> PatchOperation:
    """An operation."""
    return PatchOperation(op=kind, path=path, **values)


TIGHTER = op("set", "/deadlineMs", old=100, new=90)
LOOSER = op("set", "/deadlineMs", old=100, new=150)


def proposed(
    *operations: PatchOperation,
    document: PolicyDocument = REFUND,
    severity: DriftSeverity = GREEN,
) -> PatchProposal:
    """A proposal by the service that found the drift."""
    return propose(
        document,
        operations or (TIGHTER,),
        reason="it was late three times",
        severity=severity,
        proposed_by="sealer",
        proposed_at=NOON,
    )


def said(
    proposal: PatchProposal,
    by: str = "ada",
    *,
    actor: Literal["agent", "human", "system"] = "human",
    decision: Literal["approved", "rejected"] = "approved",
) -> PatchApproval:
    """What somebody says about a proposal."""
    return PatchApproval(
        proposal_hash=content_hash(proposal),
        decision=decision,
        actor_type=actor,
        actor_id=by,
        decided_at=NOON,
    )


def applied(document: PolicyDocument, proposal: PatchProposal, *said: PatchApproval) -> Applied:
    """What applying gives, which must have worked."""
    result = apply(document, proposal, said)
    assert isinstance(result, Applied), result
    return result


def refused(document: PolicyDocument, proposal: PatchProposal, *said: PatchApproval) -> NotApplied:
    """What applying gives, which must have failed."""
    result = apply(document, proposal, said)
    assert isinstance(result, NotApplied)
    return result


def test_a_green_tightening_applies_by_itself_as_a_new_version() -> None:
    result = applied(REFUND, proposed())
    assert (result.version, result.approval, result.notify) == ("1.2.1", ApprovalRule.AUTO, False)
    assert result.document.data == {**REFUND.data, "deadlineMs": 90, "version": "1.2.1"}
    assert "deadlineMs: 90  # what a customer waits for" in result.document.text
    assert REFUND.data["deadlineMs"] == 100


def test_the_diff_shows_exactly_what_applying_does() -> None:
    lines = [line for line in proposed().diff.splitlines() if line[0] in "+-"]
    assert lines == [
        "--- a/refund.yaml",
        "+++ b/refund.yaml",
        "-version: 1.2.0",
        "-deadlineMs: 100  # what a customer waits for",
        "+version: 1.2.1",
        "+deadlineMs: 90  # what a customer waits for",
    ]


@pytest.mark.parametrize("severity", DriftSeverity)
@pytest.mark.parametrize("loosens", [False, True])
@pytest.mark.parametrize("tier", [None, *BlastRadius])
def test_red_loosening_and_the_largest_tier_ask_a_human(
    severity: DriftSeverity, loosens: bool, tier: BlastRadius | None
) -> None:
    rule = approval_needed(severity, loosens=loosens, tier=tier)
    if loosens or severity is RED or tier in (None, BlastRadius.LARGE):
        assert rule is ApprovalRule.HUMAN
    else:
        expected = ApprovalRule.AUTO if severity is GREEN else ApprovalRule.AUTO_NOTIFY
        assert rule is expected


def test_a_yellow_tightening_applies_by_itself_and_tells_somebody() -> None:
    assert applied(REFUND, proposed(severity=YELLOW)).notify


@pytest.mark.parametrize(
    ("document", "operation", "severity"),
    [(REFUND, LOOSER, GREEN), (REFUND, TIGHTER, RED), (LARGE, TIGHTER, GREEN)],
)
def test_what_needs_a_human_waits_for_one_who_did_not_propose_it(
    document: PolicyDocument, operation: PatchOperation, severity: DriftSeverity
) -> None:
    """Contract scenario 51: loosening needs a human."""
    proposal = proposed(operation, document=document, severity=severity)
    assert proposal.approval is ApprovalRule.HUMAN
    for approvals in (
        (),
        (said(proposal, "sealer"),),
        (said(proposal, actor="agent"), said(proposal, actor="system")),
        (said(proposed(severity=YELLOW)),),
    ):
        reason = refused(document, proposal, *approvals)
        assert "no human" in reason.reason
        assert "other than sealer" in reason.remedy
    assert applied(document, proposal, said(proposal)).approved_by == ("ada",)


def test_a_loosening_is_named_whatever_the_severity_and_never_applies_by_itself() -> None:
    """Contract scenario 51: loosening needs a human."""
    proposal = proposed(LOOSER)
    assert proposal.loosens == ("deadlineMs: looser, raised, 100 -> 150",)
    assert "deadlineMs: looser, raised" in refused(REFUND, proposal).reason


def test_a_proposal_that_denies_what_it_loosens_still_needs_a_human() -> None:
    honest = proposed(LOOSER)
    lying = honest.model_copy(update={"loosens": (), "approval": ApprovalRule.AUTO})
    assert "no human" in refused(REFUND, lying).reason


def test_an_approval_does_not_count_for_a_loosening_that_was_not_told() -> None:
    lying = proposed(LOOSER).model_copy(update={"loosens": ()})
    assert "deadlineMs: looser, raised" in refused(REFUND, lying, said(lying)).reason


def test_a_proposal_that_boasts_of_a_tightening_is_refused() -> None:
    boasting = proposed(LOOSER).model_copy(update={"tightens": proposed(TIGHTER).tightens})
    assert "tightens what it does not" in refused(REFUND, boasting, said(boasting)).reason


ENVELOPE_PACK = read_document(
    "policy_pack",
    "refunds/policy.yaml",
    """\
apiVersion: lictor/v1
kind: PolicyPack
metadata:
  {id: refunds, title: Refunds, version: 1.4.0, summary: s, severity_default: high, owner: ops,
   applies_to: {runtimes: ["*"]}, tags: []}
spec:
  evaluation_mode: any_rule_match
  rules: []
  envelopes:
    - decisionType: refund
      version: "3"
      deadlineMs: 60000
      stageBudgetsMs: {context: 1000, plan: 3000, act: 4000, verify: 2000}
      freshness: {defaultTtlMs: 500, featureTtls: {balance: 250}}
      limits: {maxHops: 2, maxFanout: 3, maxToolCalls: 5, maxChainDepth: 4}
      degradeLadder: [{step: abstain}]
      verification: {requiredAboveBlastRadius: small, methods: [read_after_write]}
      safeAction: {requireIdempotency: true, requireRollbackAbove: small, blastRadiusMax: medium}
""",
)


def in_pack(place: str, old: Any, new: Any) -> PatchOperation:
    """A change of the envelope in the pack above."""
    return op("set", f"/spec/envelopes/0/{place}", old=old, new=new)


FEWER_CALLS = in_pack("limits/maxToolCalls", 5, 1)
MORE_TIME = in_pack("deadlineMs", 60_000, 600_000)
MORE_REACH = in_pack("safeAction/blastRadiusMax", "medium", "large")


def test_fewer_tool_calls_tighten_an_envelope_in_its_pack_and_more_time_and_reach_loosen_it() -> (
    None
):
    """Contract scenario 51: loosening needs a human."""
    tighter = proposed(FEWER_CALLS, document=ENVELOPE_PACK)
    looser = proposed(MORE_TIME, MORE_REACH, document=ENVELOPE_PACK)
    at = "spec.envelopes.refund"
    assert tighter.tightens == (f"{at}.limits.maxToolCalls: tighter, lowered, 5 -> 1",)
    assert tighter.loosens == ()
    assert looser.tightens == ()
    assert looser.loosens == (
        f"{at}.deadlineMs: looser, raised, 60000 -> 600000",
        f"{at}.safeAction.blastRadiusMax: looser, raised, medium -> large",
    )


def test_a_mix_loosens_and_names_both() -> None:
    mixed = proposed(FEWER_CALLS, MORE_TIME, document=ENVELOPE_PACK)
    assert (len(mixed.tightens), len(mixed.loosens)) == (1, 1)
    assert mixed.approval is ApprovalRule.HUMAN


def test_what_an_earlier_version_proposed_keeps_its_hash_and_can_be_applied() -> None:
    """It told that the envelopes changed, and no direction; who approved it did not approve less than this."""
    for operation in (FEWER_CALLS, MORE_TIME):
        made = proposed(operation, document=ENVELOPE_PACK)
        told = ("spec.envelopes: changed, which is not provably tighter",)
        earlier = made.model_copy(update={"loosens": told, "tightens": ()})
        assert b"tightens" not in earlier.to_json()
        assert applied(ENVELOPE_PACK, earlier, said(earlier)).version == "1.4.1"
        elsewhere = ("spec.rules: changed, which is not provably tighter",)
        lying = made.model_copy(update={"loosens": elsewhere, "tightens": ()})
        if operation is MORE_TIME:
            assert "deadlineMs" in refused(ENVELOPE_PACK, lying, said(lying)).reason


def test_a_proposal_whose_diff_shows_something_else_is_refused() -> None:
    lying = proposed(LOOSER).model_copy(update={"diff": proposed(TIGHTER).diff})
    assert "not what its operations do" in refused(REFUND, lying, said(lying)).reason


@pytest.mark.parametrize(
    "shown",
    [
        # A terminal would begin the line anew, and a reader would see the second half of it only.
        ("+deadlineMs: 150", "+deadlineMs: 150\r deadlineMs: 90 "),
        ("+deadlineMs: 150", "+deadlineMs: 150\u2028 deadlineMs: 90"),
        (" stageBudgetsMs", " # agreed with security\n stageBudgetsMs"),
        ("\n@@ ", "\nagreed with security\n@@ "),
        (" @@\n", " @@ agreed with security\n"),
    ],
)
def test_a_diff_that_shows_more_than_the_change_and_the_document_is_refused(
    shown: tuple[str, str],
) -> None:
    honest = proposed(LOOSER)
    lying = honest.model_copy(update={"diff": honest.diff.replace(*shown, 1)})
    assert lying.diff != honest.diff
    assert "not what its operations do" in refused(REFUND, lying, said(lying)).reason


@pytest.mark.parametrize("name", ["sealer", "Sealer", " sealer", "sea\u200bler"])
def test_nobody_approves_his_own_proposal_by_spelling_his_name_otherwise(name: str) -> None:
    proposal = proposed(LOOSER)
    assert "no human" in refused(REFUND, proposal, said(proposal, name)).reason


def test_one_rejection_outweighs_every_approval() -> None:
    proposal = proposed()
    result = refused(REFUND, proposal, said(proposal), said(proposal, "bob", decision="rejected"))
    assert result.reason == "rejected by bob"


@pytest.mark.parametrize("version", ["1.2.0", "1.1.9", "1.2.2", "9"])
def test_a_patch_takes_the_next_version_and_no_other(version: str) -> None:
    honest = proposed()
    lying = honest.model_copy(
        update={"new_version": version, "diff": honest.diff.replace("1.2.1", version)}
    )
    assert "1.2.1 comes next" in refused(REFUND, lying, said(lying)).reason


def test_a_document_that_has_moved_on_is_not_touched() -> None:
    proposal = proposed()
    now = applied(REFUND, proposal).document
    result = refused(now, proposal)
    assert "moved on" in result.reason
    assert "version 1.2.1" in result.reason
    assert "propose the patch again" in result.remedy


def test_comments_around_a_change_do_not_move_the_document_on() -> None:
    commented = read_document("dte", "refund.yaml", "# agreed with finance\n" + TEXT)
    text = applied(commented, proposed()).document.text
    assert text.startswith("# agreed with finance\n")
    assert "deadlineMs: 90" in text


def test_a_patch_for_another_document_is_refused() -> None:
    other = read_document("dte", "payout.yaml", TEXT.replace("refund", "payout"))
    assert "is for dte refund" in refused(other, proposed()).reason


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ([op("set", "/deadlineMs", old=99, new=90)], "moved on"),
        ([TIGHTER, op("remove", "/degradeLadder/1", old=None)], "no place"),
        ([op("set", "/deadlineMs", old=100, new=50)], "more than deadlineMs 50"),
        ([op("set", "/deadlineMs", old=100, new=0)], "deadlineMs"),
        ([op("remove", "/limits/maxHops", old=3)], "maxHops is required"),
        ([op("insert", "/surprise", new=1)], "surprise"),
        ([op("set", "/limits/maxHops", old=3, new=10**15)], "write it as JSON"),
        ([op("set", "/version", old="1.2.0", new="9")], "can't set the version"),
        ([op("set", "/deadlineMs", old=100, new=100)], "change nothing"),
    ],
)
def test_a_patch_that_can_not_hold_is_not_even_proposed(
    operations: list[PatchOperation], words: str
) -> None:
    with pytest.raises(PatchRefused, match=words):
        proposed(*operations)


def test_proposing_the_same_again_gives_the_same_id() -> None:
    assert proposed() == proposed()
    assert proposed(TIGHTER).proposal_id != proposed(LOOSER).proposal_id


@pytest.mark.parametrize(
    ("version", "following"),
    [
        ("1.2.0", "1.2.1"),
        ("9", "10"),
        ("v3", "v3.1"),
        ("2026-01-31", "2026-01-31.1"),
        ("1.", "1..1"),
    ],
)
def test_the_next_version_counts_up(version: str, following: str) -> None:
    assert next_version(version) == following


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(instances(DTE), st.sampled_from(DriftType), st.sampled_from(["a.yaml", "a.json"]))
def test_what_drift_suggests_can_be_proposed_and_applied(
    envelope: DTE, drift_type: DriftType, name: str
) -> None:
    operations = suggested_operations(drift_type, envelope)
    if not operations:
        return
    envelope = envelope.model_copy(update={"version": "1"})
    try:
        document = document_of(envelope, name)
    except PatchDocumentError:
        # Strict YAML keeps no whole number of more than 15 digits.
        name = "a.json"
        document = document_of(envelope, name)
    proposal = proposed(*operations, document=document)
    assert proposal.loosens == ()
    assert PatchProposal.from_json(proposal.to_json()) == proposal
    result = applied(document, proposal, said(proposal))
    assert read_document("dte", name, result.document.text).data == result.document.data
    assert result.document.data["version"] == "2"


def test_a_patch_of_a_pack_is_a_difference_that_pack_diff_shows() -> None:
    name = "no-silence/policy.yaml"
    files = {name: (PACKS / name).read_bytes()}
    document = read_document("policy_pack", name, files[name].decode())
    proposal = proposed(
        op("set", "/spec/rules/0/decision_output/severity", old="high", new="critical"),
        document=document,
    )
    assert (proposal.loosens, proposal.approval) == ((), ApprovalRule.HUMAN)
    result = applied(document, proposal, said(proposal))
    after = {name: result.document.text.encode()}
    found = diff_configs(
        compile_files(MemoryFiles("a", files)), compile_files(MemoryFiles("b", after))
    )
    assert [(each.rule_id, each.field, each.old, each.new) for each in found] == [
        (None, "version", proposal.target.version, next_version(proposal.target.version)),
        ("no-silence.missed-checkpoint", "decision_output.severity", "high", "critical"),
    ]
    assert len([line for line in proposal.diff.splitlines() if line[0] in "+-"]) == 6


def test_a_pack_patch_that_takes_a_rule_out_needs_a_human() -> None:
    name = "no-silence/policy.yaml"
    document = read_document("policy_pack", name, (PACKS / name).read_text(encoding="utf-8"))
    proposal = proposed(
        op("remove", "/spec/rules/0", old=document.data["spec"]["rules"][0]), document=document
    )
    assert proposal.loosens == (
        "spec.rules.no-silence.missed-checkpoint: not provably tighter, the rule is gone",
    )


def test_a_text_that_is_no_envelope_is_refused_when_applying_too() -> None:
    broken = replace(REFUND, data={**REFUND.data, "deadlineMs": -1})
    assert "deadlineMs" in refused(broken, proposed()).reason
