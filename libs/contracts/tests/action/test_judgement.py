"""An action before its dispatch: what refuses it, what it waits for, and whose approval counts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from libs.contracts.tests.strategies_contracts import (
    ACTIONS,
    CLEAN,
    DTE_FIELDS,
    ENVELOPES,
    MS,
    NOW,
    PEOPLE,
    UNUSABLE,
    action,
    any_signals,
    envelope,
    signals,
)
from lictor_contracts.action.judgement import (
    ActionDecision,
    ActionJudgement,
    Approval,
    action_hash,
    judge_action,
    one_person,
)
from lictor_contracts.envelope.bounds import Envelope, EnvelopeBound, Signals
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.envelope import BlastRadius

ALLOW, WAIT, REFUSE = ActionDecision.ALLOW, ActionDecision.WAIT, ActionDecision.REFUSE


def approval(of: SafeActionContract, by: str, at_us: int = NOW) -> Approval:
    return Approval(by, at_us, action_hash(of))


def judged(
    contract: SafeActionContract,
    *approvers: str,
    of: Envelope | None = None,
    approvals: tuple[Approval, ...] = (),
    measured: Signals = CLEAN,
    **changes: Any,
) -> ActionJudgement:
    question: dict[str, Any] = {
        "requested_by": "agent-7",
        "approvals": [*(approval(contract, each) for each in approvers), *approvals],
        "facts": {},
        "now_us": NOW,
        "signals": measured,
        **changes,
    }
    return judge_action(of or envelope(), contract, **question)


def codes(judgement: ActionJudgement) -> list[str]:
    return [reason.code for reason in judgement.reasons]


def safe_action(**changes: Any) -> Envelope:
    return envelope(safeAction={**DTE_FIELDS["safeAction"], **changes})


def test_an_action_within_its_envelope_is_allowed() -> None:
    judgement = judged(action())
    assert (judgement.decision, judgement.reasons) == (ALLOW, ())
    assert judgement.action_hash == action_hash(action())


@pytest.mark.parametrize(
    ("tier", "most", "decision"),
    [("tiny", "tiny", ALLOW), ("small", "tiny", REFUSE), ("medium", "small", REFUSE)],
)
def test_a_tier_above_the_largest_is_refused(
    tier: str, most: str, decision: ActionDecision
) -> None:
    """Contract scenario 23: a tier above the largest."""
    judgement = judged(action(blastRadiusTier=tier), of=safe_action(blastRadiusMax=most))
    assert judgement.decision is decision
    if decision is REFUSE:
        (reason,) = judgement.reasons
        assert (reason.code, reason.field) == ("blast_radius", "blastRadiusTier")
        assert reason.message == f"the action is {tier}, and at most {most} is allowed"
        assert reason.remedy.startswith("split it")


@pytest.mark.parametrize(
    ("tier", "above", "decision"),
    [
        ("small", "small", ALLOW),
        ("medium", "small", REFUSE),
        ("tiny", "none", REFUSE),
        ("medium", "large", ALLOW),
    ],
)
def test_what_can_not_be_undone_is_refused_strictly_above_the_tier(
    tier: str, above: str, decision: ActionDecision
) -> None:
    """Contract scenario 24: rollback strictly above the tier."""
    contract = action(blastRadiusTier=tier, rollbackPlan={"type": "none"})
    judgement = judged(contract, of=safe_action(requireRollbackAbove=above))
    assert judgement.decision is decision
    assert codes(judgement) == (["rollback_missing"] if decision is REFUSE else [])
    undoable = judged(action(blastRadiusTier=tier), of=safe_action(requireRollbackAbove=above))
    assert undoable.decision is ALLOW


def test_a_type_that_is_not_allowed_is_refused_and_without_a_list_all_are_allowed() -> None:
    """Contract scenario 28: allow-listed types."""
    other = action(actionType="delete")
    assert codes(judged(other)) == ["action_type"]
    assert codes(judged(other, of=safe_action(allowedActionTypes=[]))) == ["action_type"]
    assert judged(other, of=safe_action(allowedActionTypes=None)).decision is ALLOW


def test_a_key_that_is_missing_or_blank_is_refused_where_one_is_needed() -> None:
    """Contract scenario 25: no idempotency key."""
    with pytest.raises(ValidationError, match="idempotencyKey"):
        action(idempotencyKey="")
    for key in ("  ", None):
        keyless = action(idempotencyKey=key)
        assert codes(judged(keyless)) == ["idempotency_key"]
        assert judged(keyless, of=safe_action(requireIdempotency=False)).decision is ALLOW


@pytest.mark.parametrize("tier", ["huge", "low", "high", "LARGE", "", None, 1])
def test_a_contract_of_an_unknown_tier_does_not_exist(tier: Any) -> None:
    """Contract scenario 30: an unknown tier."""
    with pytest.raises(ValidationError, match="blastRadiusTier"):
        action(blastRadiusTier=tier)


def test_facts_must_meet_the_preconditions_and_every_unmet_one_is_told_with_its_place() -> None:
    contract = action(
        preconditions=[
            {"fact": "order.status", "operator": "equals", "value": "paid"},
            {"fact": "amount", "operator": "less_than", "value": 100},
            {"fact": "customer", "operator": "not_equals", "value": None},
        ]
    )
    facts = {"order.status": "paid", "amount": 99, "customer": "c-1"}
    assert judged(contract, facts=facts).decision is ALLOW
    judgement = judged(contract, facts={"order.status": "paid", "amount": True})
    assert [reason.field for reason in judgement.reasons] == [
        "preconditions[1]",
        "preconditions[2]",
    ]
    assert judgement.decision is REFUSE


def test_the_same_precondition_twice_is_told_at_both_places() -> None:
    once = {"fact": "x", "operator": "equals", "value": 1}
    judgement = judged(action(preconditions=[once, once]))
    assert [reason.field for reason in judgement.reasons] == [
        "preconditions[0]",
        "preconditions[1]",
    ]


HITL = {"authorization": {"mode": "hitl"}}


def test_a_blocked_action_is_refused_whoever_approves() -> None:
    """Contract scenario 27: a human in the loop; blocked."""
    contract = action(authorization={"mode": "blocked"})
    judgement = judged(contract, "ada", "bob")
    assert (judgement.decision, codes(judgement)) == (REFUSE, ["blocked"])


def test_an_action_with_a_human_in_the_loop_waits_until_somebody_else_approves() -> None:
    """Contract scenario 27: a human in the loop; blocked."""
    contract = action(**HITL)
    waiting = judged(contract)
    assert (waiting.decision, codes(waiting)) == (WAIT, ["approvals"])
    assert waiting.reasons[0].remedy == (
        "wait until a person other than the requester approves this contract"
    )
    assert judged(contract, "ada").decision is ALLOW
    assert judged(contract, "ada").approvers == ("ada",)


@pytest.mark.parametrize("own", ["agent-7", "Agent-7", " agent-7 ", "agent\uff0d7"])
def test_the_requester_can_not_approve_under_any_spelling(own: str) -> None:
    judgement = judged(action(**HITL), own)
    assert judgement.decision is WAIT
    assert [why for _, why in judgement.ignored] == ["is the requester's own"]


def test_the_named_approver_has_to_approve_by_exactly_that_name() -> None:
    contract = action(authorization={"mode": "hitl", "approver": "ada"})
    assert codes(judged(contract, "bob")) == ["approval_of_the_named"]
    assert codes(judged(contract, "Ada")) == ["approval_of_the_named"]
    assert judged(contract, "bob", "ada").decision is ALLOW


def test_a_contract_that_names_its_requester_as_approver_can_never_be_approved() -> None:
    contract = action(authorization={"mode": "hitl", "approver": "agent-7"})
    assert codes(judged(contract, "agent-7", "ada")) == ["own_approver"]


@pytest.mark.parametrize("mode", ["auto", "hitl"])
def test_the_largest_tier_needs_two_people_who_are_not_the_requester_whatever_the_mode(
    mode: str,
) -> None:
    """Contract scenario 29: two people for the largest tier."""
    contract = action(blastRadiusTier="large", authorization={"mode": mode})
    for approvers in ([], ["ada"], ["ada", "ada"], ["ada", "Ada "], ["ada", "agent-7"]):
        judgement = judged(contract, *approvers)
        assert (judgement.decision, codes(judgement)) == (WAIT, ["approvals"])
    assert judged(contract, "ada", "bob").decision is ALLOW


def test_the_named_approver_is_one_of_the_two() -> None:
    contract = action(blastRadiusTier="large", authorization={"mode": "auto", "approver": "ada"})
    assert codes(judged(contract, "bob", "cy")) == ["approval_of_the_named"]
    assert codes(judged(contract, "ada")) == ["approvals"]
    assert judged(contract, "bob", "ada").decision is ALLOW


def test_an_approval_of_another_body_counts_for_nothing() -> None:
    contract = action(**HITL)
    other = approval(action(**HITL, targetRefs=[{"type": "order", "id": "o-2"}]), "ada")
    judgement = judged(contract, approvals=(other,))
    assert judgement.decision is WAIT
    assert judgement.reasons[0].message == (
        "0 of 1 people have approved it; that of 'ada' is of another contract"
    )


def test_an_approval_from_the_future_counts_for_nothing_and_one_of_this_moment_does() -> None:
    contract = action(**HITL)
    early = judged(contract, approvals=(approval(contract, "ada", NOW + 1),))
    assert early.ignored[0][1] == "comes from the future"
    assert early.decision is WAIT
    assert judged(contract, approvals=(approval(contract, "ada", NOW),)).decision is ALLOW


@pytest.mark.parametrize("at", UNUSABLE)
def test_an_approval_without_a_time_or_a_name_counts_for_nothing(at: Any) -> None:
    contract = action(**HITL)
    assert judged(contract, approvals=(approval(contract, "ada", at),)).decision is WAIT
    assert judged(contract, " ").decision is WAIT


@pytest.mark.parametrize("name", ["", "  ", None, 7])
def test_nobody_can_ask_anonymously(name: Any) -> None:
    assert codes(judged(action(), requested_by=name)) == ["requester_unknown"]


def test_what_was_fresh_at_the_plan_and_is_stale_at_dispatch_is_refused() -> None:
    """Contract scenario 11: fresh at the plan, stale at dispatch."""
    planned = signals(captured_at_us={"priceFeed": NOW - 240 * MS}, elapsed_ms=20)
    assert judged(action(), measured=planned).decision is ALLOW
    judgement = judged(action(), measured=planned, now_us=NOW + 11 * MS)
    (reason,) = judgement.reasons
    assert (judgement.decision, reason.gate) == (WAIT, EnvelopeBound.FEATURE_TTL)
    assert reason.field == "freshness.featureTtls.priceFeed"
    assert (reason.message, reason.remedy) == (
        "priceFeed is 251 ms old and counts as fresh for 250 ms",
        "capture it again, or have a person approve the action on it as it is",
    )
    nobody = envelope(degradeLadder=[{"step": "cache_bundle"}, {"step": "abstain"}])
    judgement = judged(action(), of=nobody, measured=planned, now_us=NOW + 11 * MS)
    assert judgement.decision is REFUSE


def test_a_person_answers_for_stale_context_only_after_it_went_stale() -> None:
    """And only for what had been told by then: an approval is of what was seen."""
    stale = signals(captured_at_us={"priceFeed": NOW - 300 * MS}, elapsed_ms=20)

    def approved(at_us: int, told_us: int = 0) -> ActionDecision:
        given = (Approval("ada", at_us, action_hash(action())),)
        told = {"priceFeed": told_us}
        return judge_action(
            envelope(),
            action(),
            requested_by="agent-7",
            approvals=given,
            facts={},
            now_us=NOW,
            signals=stale,
            told_us=told,
        ).decision

    assert approved(NOW - 50 * MS) is WAIT
    assert approved(NOW - 50 * MS + 1) is ALLOW
    assert approved(NOW - 20 * MS, told_us=NOW - 10 * MS) is WAIT
    assert approved(NOW - 5 * MS, told_us=NOW - 10 * MS) is ALLOW


def test_a_deadline_that_passes_between_plan_and_dispatch_refuses() -> None:
    judgement = judged(action(), now_us=NOW + 21 * MS)
    assert codes(judgement) == ["envelope.deadline"]


def test_a_soft_violation_refuses_nothing_and_is_told() -> None:
    judgement = judged(action(), measured=signals(stage_ms={"plan": 41}))
    assert judgement.decision is ALLOW
    assert [each.field for each in judgement.violations] == ["stageBudgetsMs.plan"]


def test_stale_context_that_is_safe_lets_a_small_action_pass_and_no_larger_one() -> None:
    of = envelope(freshness={"defaultTtlMs": 500, "allowStaleIfSafe": True})
    old = signals(captured_at_us={"profile": NOW - 501 * MS})
    assert judged(action(), of=of, measured=old).decision is ALLOW
    larger = judged(action(blastRadiusTier="medium"), of=of, measured=old)
    assert codes(larger) == ["envelope.feature_ttl"]


@pytest.mark.parametrize("value", UNUSABLE)
def test_a_question_without_a_moment_is_refused(value: Any) -> None:
    assert judged(action(), now_us=value).decision is REFUSE


def test_a_clock_that_went_back_is_refused() -> None:
    assert "clock_went_back" in codes(judged(action(), now_us=NOW - 1))


def test_all_reasons_are_told_in_their_order_each_with_a_remedy() -> None:
    contract = action(
        blastRadiusTier="large",
        actionType="delete",
        rollbackPlan={"type": "none"},
        preconditions=[{"fact": "x", "operator": "equals", "value": 1}],
    )
    of = safe_action(blastRadiusMax="medium")
    judgement = judged(contract, of=of, measured=signals(elapsed_ms=121))
    assert codes(judgement) == [
        "blast_radius",
        "rollback_missing",
        "action_type",
        "precondition",
        "approvals",
        "envelope.deadline",
    ]
    assert judgement.decision is REFUSE
    assert all(reason.message and reason.remedy for reason in judgement.reasons)


@given(st.data(), ENVELOPES, ACTIONS, PEOPLE, st.lists(PEOPLE, max_size=3))
def test_whatever_is_allowed_keeps_every_rule(
    data: st.DataObject,
    of: Envelope,
    contract: SafeActionContract,
    requester: str,
    approvers: list[str],
) -> None:
    judgement = judge_action(
        of,
        contract,
        requested_by=requester,
        approvals=[approval(contract, each) for each in approvers],
        facts={},
        now_us=NOW,
        signals=data.draw(any_signals(of) | st.just(CLEAN)),
    )
    assert (judgement.decision is ALLOW) == (judgement.reasons == ())
    assert all(not one_person(each, requester) for each in judgement.approvers)
    if judgement.decision is not ALLOW:
        return
    rule, tier = of.dte.safe_action, contract.blast_radius_tier
    assert tier.rank <= rule.blast_radius_max.rank
    assert contract.rollback_plan.type != "none" or not rule.require_rollback_above.is_exceeded_by(
        tier
    )
    assert contract.authorization.mode != "blocked"
    assert not contract.preconditions
    people = {each.strip().casefold() for each in judgement.approvers}
    assert contract.authorization.mode != "hitl" or people
    assert tier is not BlastRadius.LARGE or len(people) >= 2
    assert not any(each.is_hard for each in judgement.violations)


@given(ACTIONS, st.lists(PEOPLE, max_size=4), PEOPLE)
def test_more_approvals_never_turn_an_allowed_action_away(
    contract: SafeActionContract, approvers: list[str], more: str
) -> None:
    order = [ALLOW, WAIT, REFUSE]
    fewer = judged(contract, *approvers).decision
    assert order.index(judged(contract, *approvers, more).decision) <= order.index(fewer)


@pytest.mark.parametrize("moment", UNUSABLE)
def test_signals_of_an_unknown_moment_do_not_tell_how_much_time_has_passed(moment: Any) -> None:
    found = judged(action(), measured=CLEAN._replace(now_us=moment))
    assert found.decision is REFUSE
    assert "envelope.deadline" in [each.code for each in found.reasons]


@pytest.mark.parametrize(
    "unseen",
    [
        "\u200b",
        "\u00ad",
        "\u2060",
        "\ufe0f",
        "\u034f",
        "\u3164",
        "\x07",
        " ",
        "\u00a0\u2003",
        "\u2800",
    ],
)
def test_characters_that_nobody_sees_make_no_second_person(unseen: str) -> None:
    large = action(blastRadiusTier="large")
    assert one_person("alice", f"al{unseen}ice")
    assert judged(large, "alice", f"al{unseen}ice").decision is WAIT
    assert judged(large, "alice", unseen).decision is WAIT
    assert judged(large, "alice", f"agent{unseen}-7").decision is WAIT
    assert judged(large, "alice", "bob").decision is ALLOW
