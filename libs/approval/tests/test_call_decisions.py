"""Which decision about a tool call counts: whose, about what, how many of them, and until when."""

from datetime import timedelta

import pytest
from approval_samples import ALICE, APPROVERS, BOB, LIMITS, MACHINE, NOW, approved
from approval_samples import request as program_request
from approval_samples import statement as program_statement
from call_samples import (
    AGENT,
    CAROL,
    DAVE,
    PARAMS,
    PEOPLE,
    SOON,
    ask,
    call_request,
    handed_in,
    open_call,
    said,
    trusting,
)
from hypothesis import given
from hypothesis import strategies as st

from lictor_approval.call_decisions import MAX_DECISIONS
from lictor_approval.call_permission import standing
from lictor_approval.decision_validity import decided, permission, requested, withdrawn
from lictor_approval.errors import ConfigRefused, StepRefused
from lictor_approval.quorum import progress, seats_of
from lictor_approval.request_counts import counts
from lictor_approval.request_life import after, folded
from lictor_approval.signed_decisions import Approvers, sign_decision
from lictor_schema.approvals.approval import ApprovalState, PolicyGround
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_seal import KeyGroup, SigningKey, TrustedKey, TrustStore

TWO_OF_FINANCE = ask(approvers=("finance",), needed=2)


def test_one_approver_lets_a_call_be_made_where_one_is_needed() -> None:
    life = open_call()
    life = handed_in(life, said(life.call))
    assert (life.state, life.by) == (ApprovalState.APPROVED, ALICE.name)
    assert life.due == utc_millis(NOW + timedelta(seconds=3601))


def test_a_call_is_endorsed_until_enough_different_people_have_approved_it() -> None:
    life = open_call(TWO_OF_FINANCE)
    life = handed_in(life, said(life.call))
    assert life.state is ApprovalState.ENDORSED
    with pytest.raises(StepRefused, match="counts once"):
        handed_in(life, said(life.call, nonce="00000000-0000-4000-8000-000000000002"))
    with pytest.raises(StepRefused, match="none of those"):
        handed_in(life, said(life.call, CAROL))
    assert handed_in(life, said(life.call, BOB)).state is ApprovalState.APPROVED


def test_every_policy_that_asks_has_enough_people_of_its_own() -> None:
    life = open_call(
        TWO_OF_FINANCE, ask(policy_id="policy.safe", approvers=("security", DAVE.name))
    )
    life = handed_in(life, said(life.call), said(life.call, BOB))
    assert life.state is ApprovalState.ENDORSED
    assert handed_in(life, said(life.call, DAVE)).state is ApprovalState.APPROVED


def test_a_name_that_nobody_has_stands_for_nobody() -> None:
    life = open_call(ask(approvers=("nobody@example.org", "no group")))
    with pytest.raises(StepRefused, match="none of those"):
        handed_in(life, said(life.call))


@pytest.mark.parametrize("what", ["approve", "reject", "delegate"])
def test_the_agent_decides_nothing_about_its_own_call(what: str) -> None:
    for agent in ("agent-7", "AGENT-7", "agent\u200b-7", AGENT.key_id):
        life = open_call(agent_id=agent)
        to = {"delegate": ALICE.name} if what == "delegate" else {}
        with pytest.raises(StepRefused, match="the agent that wants to call"):
            handed_in(life, said(life.call, AGENT, what, **to))


@pytest.mark.parametrize("what", ["approve", "reject", "delegate"])
def test_the_runtime_decides_nothing_about_the_calls_of_its_agents(what: str) -> None:
    runtime = SigningKey.from_seed("python", b"r" * 32)
    people = trusting((ALICE, runtime))
    for name in ("python", "Python ", runtime.key_id):
        life = open_call(runtime=name)
        to = {"delegate": ALICE.name} if what == "delegate" else {}
        with pytest.raises(StepRefused, match="the runtime of the agent that wants to call"):
            handed_in(life, said(life.call, runtime, what, **to), approvers=people)


def test_the_runtime_has_no_seat_and_is_named_by_nobody() -> None:
    runtime = SigningKey.from_seed("python", b"r" * 32)
    people = trusting((ALICE, runtime))
    life = open_call()
    assert set(seats_of(ask(), people, life.call.binding)) == {ALICE.name}
    named = seats_of(ask(), people, life.call.binding, [(ALICE.name, runtime.name)])
    assert set(named) == {ALICE.name}
    note = said(life.call, ALICE, "delegate", delegate=runtime.name)
    with pytest.raises(StepRefused, match="the runtime of the agent"):
        handed_in(life, note, approvers=people)


def test_whoever_may_decide_names_another_who_may_too_and_their_seat_counts_once() -> None:
    life = open_call(TWO_OF_FINANCE)
    life = handed_in(life, said(life.call, ALICE, "delegate", delegate=DAVE.name))
    assert life.state is ApprovalState.DELEGATED
    life = handed_in(life, said(life.call, DAVE))
    # Both would fill the seat of Alice.
    life = handed_in(life, said(life.call))
    assert life.state is ApprovalState.ENDORSED
    assert handed_in(life, said(life.call, BOB)).state is ApprovalState.APPROVED


@pytest.mark.parametrize(
    ("by", "to", "why"),
    [
        (ALICE, "agent-7", "the agent"),
        (ALICE, "Agent-7 ", "the agent"),
        (ALICE, "mallory", "no approver"),
        (ALICE, "finance", "no approver"),
        (ALICE, BOB.name, "may decide already"),
        (ALICE, ALICE.name, "may decide already"),
        (DAVE, CAROL.name, "none of those"),
    ],
)
def test_a_say_is_passed_on_to_no_agent_no_stranger_and_nobody_who_has_one(
    by: SigningKey, to: str, why: str
) -> None:
    life = open_call(TWO_OF_FINANCE)
    with pytest.raises(StepRefused, match=why):
        handed_in(life, said(life.call, by, "delegate", delegate=to))


def test_a_say_is_passed_on_twice_and_no_further() -> None:
    eve = SigningKey.from_seed("eve@example.org", b"e" * 32)
    people = trusting([ALICE, CAROL, DAVE, eve])
    life = open_call(ask(approvers=(ALICE.name,)))
    one = said(life.call, ALICE, "delegate", delegate=CAROL.name)
    two = said(life.call, CAROL, "delegate", delegate=DAVE.name)
    three = said(life.call, DAVE, "delegate", delegate=eve.name)
    life = handed_in(life, one, two, approvers=people)
    with pytest.raises(StepRefused, match="can't be passed on again"):
        handed_in(life, three, approvers=people)
    assert handed_in(life, said(life.call, DAVE), approvers=people).state is ApprovalState.APPROVED


def test_any_of_those_who_may_decide_ends_it_and_nobody_else_does() -> None:
    life = open_call(TWO_OF_FINANCE)
    with pytest.raises(StepRefused, match="none of those"):
        handed_in(life, said(life.call, CAROL, "reject"))
    life = handed_in(life, said(life.call), said(life.call, BOB, "reject"))
    assert life.state is ApprovalState.REJECTED
    with pytest.raises(StepRefused, match="already"):
        handed_in(life, said(life.call, BOB))


def test_an_approval_is_taken_back_until_it_is_used() -> None:
    life = open_call()
    life = handed_in(life, said(life.call))
    assert handed_in(life, said(life.call, BOB, "reject")).state is ApprovalState.REJECTED


def test_nobody_approves_for_the_session_where_one_policy_does_not_let_them() -> None:
    lets = ask(remember=("session",))
    life = open_call(lets, ask(policy_id="policy.other"))
    with pytest.raises(StepRefused, match=r"policy\.other lets nobody"):
        handed_in(life, said(life.call, scope="session"))
    life = open_call(lets)
    assert handed_in(life, said(life.call, scope="session")).is_reusable


def test_it_is_for_the_session_only_if_everybody_says_so() -> None:
    life = open_call(ask(needed=2, remember=("session",)))
    both = (said(life.call, scope="session"), said(life.call, BOB, scope="session"))
    assert handed_in(life, *both).is_reusable
    assert not handed_in(life, both[0], said(life.call, BOB)).is_reusable


def test_an_edit_needs_as_many_people_who_say_the_same() -> None:
    life = open_call(TWO_OF_FINANCE)
    less = {**PARAMS, "amount": 4}
    life = handed_in(life, said(life.call), said(life.call, BOB, params=less))
    assert life.state is ApprovalState.ENDORSED
    # Not the same to JSON, though Python takes one for the other.
    life = handed_in(life, said(life.call, params={**PARAMS, "amount": True}))
    assert life.state is ApprovalState.ENDORSED
    life = handed_in(life, said(life.call, params={**less, "amount": 4.0}))
    assert life.state is ApprovalState.APPROVED


def test_an_approval_without_parameters_counts_for_neither_once_somebody_has_changed_them() -> None:
    life = open_call(ask(needed=2))
    request, less = life.call, {**PARAMS, "amount": 1}
    life = handed_in(life, said(request, params=less))
    for key in (BOB, CAROL, ALICE):
        with pytest.raises(StepRefused, match="wants it with other parameters"):
            handed_in(life, said(request, key))
    assert handed_in(life, said(request, BOB, params=less)).state is ApprovalState.APPROVED
    # The agent's own, where they are named; a parameter is not another by how its number is spelled.
    as_asked = said(request, BOB, params={**PARAMS, "amount": 5.0})
    life = handed_in(life, as_asked)
    assert life.state is ApprovalState.ENDORSED
    life = handed_in(life, said(request, CAROL, params=PARAMS))
    assert life.state is ApprovalState.APPROVED
    assert standing(life, PEOPLE, SOON).params is None


def test_whoever_changed_the_parameters_takes_that_back_by_naming_those_asked_about() -> None:
    life = open_call(ask(needed=2))
    request = life.call
    life = handed_in(life, said(request, params={**PARAMS, "amount": 1}))
    life = handed_in(life, said(request, params=PARAMS))
    with pytest.raises(StepRefused, match="counts once"):
        handed_in(life, said(request))
    life = handed_in(life, said(request, BOB))
    assert (life.state, standing(life, PEOPLE, SOON).standing) == ("approved", "approved")


def test_an_approval_from_before_somebody_changed_the_parameters_means_those_asked_about() -> None:
    life = open_call(ask(needed=2))
    request = life.call
    life = handed_in(life, said(request), said(request, BOB, params={**PARAMS, "amount": 1}))
    assert life.state is ApprovalState.ENDORSED
    life = handed_in(life, said(request, CAROL, params=PARAMS))
    assert (life.state, standing(life, PEOPLE, SOON).params) == (ApprovalState.APPROVED, None)


def test_the_gate_counts_no_approval_that_does_not_say_which_parameters_it_means() -> None:
    life = open_call(ask(needed=2))
    request = life.call
    entry = decided(life, said(request, params={**PARAMS, "amount": 1}), PEOPLE, SOON, LIMITS)
    life = after(life, entry)
    # As a service wrote it that took them.
    for key, state in ((BOB, ApprovalState.ENDORSED), (CAROL, ApprovalState.APPROVED)):
        forged = {"state": state, "by": key.name, "signed": said(request, key)}
        life = after(life, entry.model_copy(update=forged))
    found = standing(life, PEOPLE, SOON)
    assert found.standing == "broken"
    assert "does not say which" in found.why


def test_times_are_kept() -> None:
    life = open_call()
    hours = timedelta(hours=24)
    for apart in (timedelta(minutes=6), -timedelta(minutes=6)):
        with pytest.raises(StepRefused, match=r"future|longer ago|before the call"):
            handed_in(life, said(life.call, at=SOON + apart))
    with pytest.raises(StepRefused, match="time was up"):
        handed_in(life, said(life.call, at=NOW + hours), now=NOW + hours)
    longer = utc_millis(NOW + timedelta(hours=25, seconds=1))
    with pytest.raises(StepRefused, match="longer than"):
        handed_in(life, said(life.call, expires_at=longer))
    short = said(life.call, expires_at=utc_millis(NOW + timedelta(seconds=2)))
    with pytest.raises(StepRefused, match="was good until"):
        handed_in(life, short)


def test_an_endorsement_whose_time_is_up_does_not_count_any_more() -> None:
    life = open_call(TWO_OF_FINANCE)
    short = said(life.call, expires_at=utc_millis(NOW + timedelta(minutes=1)))
    later = NOW + timedelta(minutes=2)
    life = handed_in(life, short)
    life = handed_in(life, said(life.call, BOB, at=later), now=later)
    assert life.state is ApprovalState.ENDORSED
    again = said(life.call, at=later, nonce="00000000-0000-4000-8000-000000000002")
    assert handed_in(life, again, now=later).state is ApprovalState.APPROVED


@pytest.mark.parametrize(
    "limit",
    [
        {"revoked": True},
        {"not_after": "2026-01-31T11:00:00.000Z"},
        {"not_before": "2026-01-31T12:00:01.500Z"},
    ],
)
def test_a_key_that_is_not_trusted_now_or_was_not_when_it_signed_decides_nothing(
    limit: dict[str, object],
) -> None:
    limited = TrustedKey(ALICE.verifying_key, **limit)  # pyright: ignore[reportArgumentType]
    known = Approvers(TrustStore((limited, TrustedKey(BOB.verifying_key))))
    for what in ("approve", "reject"):
        life = open_call()
        with pytest.raises(StepRefused, match=r"revoked|trusted only"):
            handed_in(life, said(life.call, ALICE, what), approvers=known)
    # Nor does what it signed before.
    life = open_call(ask(needed=2))
    life = handed_in(life, said(life.call))
    life = handed_in(life, said(life.call, BOB), approvers=known)
    assert life.state is ApprovalState.ENDORSED


def test_no_policy_decides_on_a_call() -> None:
    ground = PolicyGround(policy_hash=content_hash("p"), rule="r", why="so")
    life = open_call()
    with pytest.raises(StepRefused, match="no policy decides"):
        handed_in(life, said(life.call, MACHINE, automatic=ground), approvers=APPROVERS)


def test_a_decision_about_a_program_says_nothing_about_a_call_and_none_the_other_way_round() -> (
    None
):
    program, call = program_request(), call_request()
    asked = folded([requested(program)])
    assert asked is not None
    waiting = open_call()
    of_program = sign_decision(program_statement(program), ALICE)
    of_call = said(call)
    with pytest.raises(StepRefused, match="about request"):
        handed_in(waiting, of_program)
    with pytest.raises(StepRefused, match="about request"):
        decided(asked, of_call, APPROVERS, SOON, LIMITS)
    # With the id of the one and the binding of the other.
    for request_id, binding_hash in (
        (program.request_id, call.binding_hash),
        (call.request_id, program.binding_hash),
    ):
        forged = said(call, request_id=request_id, binding_hash=binding_hash)
        with pytest.raises(StepRefused, match="about"):
            handed_in(waiting, forged)
        with pytest.raises(StepRefused, match="about"):
            decided(asked, forged, APPROVERS, SOON, LIMITS)
    # Nothing runs by the approval of a call.
    with pytest.raises(StepRefused, match="about a call"):
        permission(handed_in(waiting, of_call), PEOPLE, SOON)
    with pytest.raises(StepRefused, match="about a program"):
        _ = approved(program).call


@pytest.mark.parametrize(
    "terms", [{"scope": "session"}, {"params": {}}, {"decision": "delegate", "delegate": BOB.name}]
)
def test_a_program_is_approved_as_it_is_and_by_nobody_who_was_named(
    terms: dict[str, object],
) -> None:
    program = program_request()
    asked = folded([requested(program)])
    assert asked is not None
    signed = sign_decision(program_statement(program, ALICE, **terms), ALICE)
    with pytest.raises(StepRefused, match="approved as it is"):
        decided(asked, signed, APPROVERS, SOON, LIMITS)


def test_a_log_holds_so_many_decisions() -> None:
    life = open_call(TWO_OF_FINANCE)
    for number in range(MAX_DECISIONS):
        life = handed_in(life, said(life.call, params={**PARAMS, "amount": number + 100}))
    with pytest.raises(StepRefused, match=f"{MAX_DECISIONS} decisions"):
        handed_in(life, said(life.call, BOB))
    assert handed_in(life, said(life.call, BOB, "reject")).state is ApprovalState.REJECTED


def test_a_group_has_a_name_of_its_own() -> None:
    keys = TrustStore.of([ALICE.verifying_key]).keys
    for group in (ALICE.name.upper(), " ", "Finance"):
        twice = (KeyGroup("finance", (BOB.name,)), KeyGroup(group, (BOB.name,)))
        with pytest.raises(ConfigRefused, match="group"):
            Approvers(TrustStore(keys, groups=twice))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8),
    st.lists(st.integers(0, 4), max_size=5),
)
def test_no_more_seats_are_filled_than_there_are_or_than_people_have_approved(
    delegations: list[tuple[int, int]], approvals: list[int]
) -> None:
    names = [key.name for key in (ALICE, BOB, CAROL, DAVE, AGENT)]
    found = progress(
        one := ask(approvers=("finance",), needed=2),
        seats_of(
            one, PEOPLE, call_request().binding, [(names[a], names[b]) for a, b in delegations]
        ),
        [names[each] for each in approvals],
    )
    assert found.filled <= min(2, len(set(approvals) - {4}))
    assert AGENT.name not in found.may_fill
    own = {names[each] for each in approvals} & {ALICE.name, BOB.name}
    # A delegation takes nobody's own say away.
    assert found.filled >= len(own)


def test_an_inbox_counts_what_was_endorsed_as_waiting_and_what_was_cancelled_as_such() -> None:
    endorsed = open_call(TWO_OF_FINANCE)
    endorsed = handed_in(endorsed, said(endorsed.call))
    given = open_call(number=2)
    given = handed_in(given, said(given.call))
    entries = [
        requested(given.call),
        decided(open_call(number=2), said(given.call), PEOPLE, SOON, LIMITS),
        withdrawn(given, ApprovalState.CANCELLED, SOON, "not needed"),
    ]
    cancelled = folded(entries)
    assert cancelled is not None
    told = counts([endorsed, given, cancelled])
    assert (told.waiting, told.approved, told.cancelled, told.lapsed) == (1, 1, 1, 1)
