"""Whether a call may be made by what people said, judged from the log alone by whoever lets it through."""

import contextlib
import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from approval_samples import ALICE, BOB, LIMITS, NOW
from approval_samples import request as program_request
from call_samples import (
    AGENT,
    CAROL,
    DAVE,
    EVERYBODY,
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

from lictor_approval.call_permission import standing, standing_in_log
from lictor_approval.decision_validity import decided, ran, requested, withdrawn
from lictor_approval.errors import StepRefused
from lictor_approval.request_life import RequestLife, after, folded
from lictor_approval.signed_decisions import Approvers, claimed
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalExecution, ApprovalState
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import content_hash
from lictor_seal import SigningKey, TrustedKey, TrustStore

TWO = ask(approvers=("finance",), needed=2)
EXECUTION = ApprovalExecution(
    execution_id="00000000-0000-4000-8000-0000000000ee",
    runner="python",
    binding_hash=content_hash("x"),
)


def used(life: RequestLife) -> RequestLife:
    return after(life, ran(life, ApprovalState.CALLING, EXECUTION, SOON, None))


def test_what_nobody_has_taken_in_or_decided_waits_until_its_time_is_up() -> None:
    request = call_request(TWO)
    assert standing_in_log(request, [], PEOPLE, SOON).standing == "waiting"
    assert standing_in_log(request, [requested(request)], PEOPLE, SOON).standing == "waiting"
    life = handed_in(open_call(TWO), said(request))
    found = standing(life, PEOPLE, SOON)
    assert (found.standing, found.decided_by) == ("waiting", (ALICE.name,))
    assert "1 of finance for policy.pay" in found.why
    late = NOW + timedelta(hours=24)
    for entries in ([], [requested(request)]):
        assert standing_in_log(request, entries, PEOPLE, late).standing == "expired"


def test_an_approval_lets_the_call_be_made_and_carries_what_was_signed() -> None:
    life = open_call(TWO)
    notes = [said(life.call), said(life.call, BOB, reason="go on")]
    found = standing(handed_in(life, *notes), PEOPLE, SOON)
    assert found.lifts
    assert found.signed == tuple(notes)
    assert (found.guidance, found.reusable, found.params) == ("go on", False, None)
    assert found.until == utc_millis(NOW + timedelta(seconds=3601))
    assert found.settled_at == utc_millis(SOON)


def test_what_was_passed_on_carries_who_passed_it_on() -> None:
    life = open_call(ask(approvers=("finance",)))
    notes = [
        said(life.call, ALICE, "delegate", delegate=DAVE.name),
        said(life.call, DAVE, at=NOW + timedelta(seconds=2)),
    ]
    life = handed_in(life, *notes)
    assert standing(life, PEOPLE, SOON).signed == tuple(notes)
    # Who passed it on has no key any more: so it was passed on by nobody.
    found = standing(life, trusting([BOB, CAROL, DAVE]), SOON)
    assert (found.standing, found.lifts) == ("broken", False)


def test_a_delegation_has_to_be_good_when_it_was_used_and_not_after() -> None:
    life = open_call(ask(approvers=("finance",)))
    short = utc_millis(NOW + timedelta(minutes=1))
    life = handed_in(
        life,
        said(life.call, ALICE, "delegate", delegate=DAVE.name, expires_at=short),
        said(life.call, DAVE),
    )
    assert standing(life, PEOPLE, NOW + timedelta(minutes=2)).lifts


def test_an_edit_says_with_which_parameters() -> None:
    life = open_call()
    less = {**PARAMS, "amount": 4}
    found = standing(handed_in(life, said(life.call, params=less)), PEOPLE, SOON)
    assert (found.standing, found.lifts, found.params) == ("edited", True, less)


def test_an_approval_is_good_until_its_time_is_up() -> None:
    life = open_call()
    life = handed_in(life, said(life.call))
    end = NOW + timedelta(seconds=3601)
    assert standing(life, PEOPLE, end - timedelta(milliseconds=1)).lifts
    assert standing(life, PEOPLE, end).standing == "expired"
    short = said(life.call, expires_at=utc_millis(NOW + timedelta(seconds=30)))
    life = handed_in(open_call(), short)
    assert standing(life, PEOPLE, NOW + timedelta(seconds=30)).standing == "expired"


@pytest.mark.parametrize(
    "limit",
    [
        {"revoked": True},
        {"not_after": "2026-01-31T11:00:00.000Z"},
        {"not_before": "2026-01-31T12:00:01.500Z"},
    ],
)
def test_a_key_that_does_not_count_here_lets_nothing_be_made(limit: dict[str, object]) -> None:
    limited = TrustedKey(ALICE.verifying_key, **limit)  # pyright: ignore[reportArgumentType]
    here = Approvers(TrustStore((limited, TrustedKey(BOB.verifying_key))))
    for what in ("approve", "reject"):
        life = open_call()
        life = handed_in(life, said(life.call, ALICE, what))
        for approvers in (here, trusting([BOB]), Approvers()):
            found = standing(life, approvers, SOON)
            assert (found.standing, found.lifts) == ("broken", False)
            # It does not keep the call from being asked about anew for ever.
            late = standing(life, approvers, NOW + timedelta(hours=24))
            assert (late.standing, late.lifts) == ("expired", False)


def test_too_few_approvals_let_nothing_be_made_though_the_log_says_approved() -> None:
    life = open_call(TWO)
    endorsed = decided(life, said(life.call), PEOPLE, SOON, LIMITS)
    forged = endorsed.model_copy(update={"state": ApprovalState.APPROVED})
    assert standing(after(life, forged), PEOPLE, SOON).standing == "broken"


def test_somebody_whom_the_policies_do_not_ask_lets_nothing_be_made() -> None:
    life = open_call(ask(approvers=("security",)))
    gullible = open_call()
    for what in ("approve", "reject"):
        entry = decided(
            gullible,
            said(
                life.call,
                ALICE,
                what,
                request_id=gullible.call.request_id,
                binding_hash=gullible.call.binding_hash,
            ),
            PEOPLE,
            SOON,
            LIMITS,
        )
        own = entry.model_copy(
            update={"request_id": life.call.request_id, "signed": said(life.call, ALICE, what)}
        )
        assert standing(after(life, own), PEOPLE, SOON).standing == "broken"


def test_a_decision_that_was_signed_before_or_after_its_time_lets_nothing_be_made() -> None:
    life = open_call()
    entry = decided(life, said(life.call), PEOPLE, SOON, LIMITS)
    late = timedelta(hours=24)
    for at, now in (
        (NOW - timedelta(minutes=6), SOON),
        (NOW + late, NOW + late),
        (SOON + late, SOON),
    ):
        forged = entry.model_copy(update={"signed": said(life.call, at=at)})
        assert not standing(after(life, forged), PEOPLE, now).lifts


def test_a_log_about_anything_else_than_the_session_asked_lets_nothing_be_made() -> None:
    mine = call_request()
    others = [
        call_request(number=2),
        call_request(params={**PARAMS, "amount": 6}),
        call_request(call_id="c-2"),
        call_request(at=NOW + timedelta(milliseconds=1)),
        program_request(),
    ]
    for other in others:
        entries: list[ApprovalEntry] = [requested(other)]
        assert standing_in_log(mine, entries, PEOPLE, SOON).standing == "broken"
    jumps = [requested(mine), requested(mine)]
    assert standing_in_log(mine, jumps, PEOPLE, SOON).standing == "broken"


def test_no_program_is_a_call() -> None:
    life = folded([requested(program_request())])
    assert life is not None
    with pytest.raises(StepRefused, match="about a program"):
        standing(life, PEOPLE, SOON)


def test_a_rejection_tells_the_agent_why_and_whether_it_may_ask_again() -> None:
    life = open_call()
    found = standing(
        handed_in(life, said(life.call, BOB, "reject", reason="ask the team", may_ask_again=True)),
        PEOPLE,
        SOON,
    )
    assert (found.standing, found.lifts, found.guidance) == ("rejected", False, "ask the team")
    assert (found.may_ask_again, found.decided_by) == (True, (BOB.name,))
    # One that takes an approval back does, too.
    life = handed_in(life, said(life.call), said(life.call, BOB, "reject"))
    assert standing(life, PEOPLE, SOON).standing == "rejected"


def test_an_approval_is_used_once_and_one_for_the_session_again_until_it_is_taken_back() -> None:
    once = open_call()
    once = used(handed_in(once, said(once.call)))
    assert standing(once, PEOPLE, SOON).standing == "stale"
    again = open_call(ask(remember=("session",)))
    again = used(handed_in(again, said(again.call, scope="session")))
    assert standing(again, PEOPLE, SOON).reusable
    assert standing(again, PEOPLE, NOW + timedelta(hours=2)).standing == "expired"
    again = after(again, ran(again, ApprovalState.CALLED, EXECUTION, SOON, None))
    assert standing(again, PEOPLE, SOON).lifts
    back = handed_in(again, said(again.call, BOB, "reject"))
    assert standing(back, PEOPLE, SOON).standing == "rejected"
    with pytest.raises(StepRefused, match="already"):
        handed_in(once, said(once.call, BOB, "reject"))


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (ApprovalState.CANCELLED, "cancelled"),
        (ApprovalState.EXPIRED, "expired"),
        (ApprovalState.STALE, "stale"),
    ],
)
def test_what_ended_lets_nothing_be_made_and_a_use_that_came_before_is_recorded(
    state: ApprovalState, found: str
) -> None:
    never = open_call()
    ended = after(never, withdrawn(never, state, SOON, "so"))
    assert standing(ended, PEOPLE, SOON).standing == found
    assert not ended.may_become(ApprovalState.CALLING)
    given = handed_in(never, said(never.call))
    ended = after(given, withdrawn(given, state, SOON, "so"))
    assert standing(ended, PEOPLE, SOON).standing == found
    late = used(ended)
    assert late.state is ApprovalState.CALLING
    assert standing(late, PEOPLE, SOON).standing == "stale"
    assert not late.may_become(ApprovalState.CALLING)


@pytest.mark.parametrize("state", ApprovalState)
def test_only_what_is_approved_lets_a_call_be_made(state: ApprovalState) -> None:
    life = open_call()
    given = handed_in(life, said(life.call))
    assert standing(replace(given, state=state), PEOPLE, SOON).lifts is (
        state is ApprovalState.APPROVED
    )


def test_a_stranger_lets_nothing_be_made() -> None:
    stranger = SigningKey.from_seed(ALICE.name, b"x" * 32)
    life = open_call()
    forged = handed_in(life, said(life.call, stranger), approvers=trusting([stranger]))
    assert standing(forged, PEOPLE, SOON).standing == "broken"


def beside_a_forged_one(life: RequestLife, genuine: str, forged: str) -> RequestLife:
    """A log in which somebody's word stands as an endorsement, and a note that nobody trusts makes it approved."""
    entry = decided(life, genuine, PEOPLE, SOON, LIMITS)
    life = after(life, entry.model_copy(update={"state": ApprovalState.ENDORSED}))
    return after(life, entry.model_copy(update={"signed": forged}))


STRANGER = SigningKey.from_seed(ALICE.name, b"x" * 32)


def test_a_forged_note_beside_a_genuine_one_lengthens_nothing_and_lends_it_nothing() -> None:
    """Whoever writes to APPROVALS adds a note in the name of somebody who approved, and signs it with another key."""
    life = open_call(ask(remember=("session",)))
    later = NOW + timedelta(minutes=40)
    forged = said(life.call, STRANGER, scope="session", reason="do as you like", at=later)
    forged_life = beside_a_forged_one(life, said(life.call, reason="once"), forged)
    found = standing(forged_life, PEOPLE, SOON)
    assert (found.lifts, found.reusable, found.guidance) == (True, False, "once")
    assert found.until == utc_millis(NOW + timedelta(seconds=3601))
    assert forged not in found.signed
    assert standing(forged_life, PEOPLE, NOW + timedelta(seconds=3601)).standing == "expired"
    assert standing(used(forged_life), PEOPLE, SOON).standing == "stale"
    # With other parameters, it is no longer what was approved.
    forged = said(life.call, STRANGER, params={"amount": 10_000})
    other = standing(beside_a_forged_one(life, said(life.call), forged), PEOPLE, SOON)
    assert (other.standing, other.lifts) == ("broken", False)


def test_a_clock_of_the_approval_service_that_is_ahead_moves_no_deadline() -> None:
    life = open_call()
    entry = decided(life, said(life.call), PEOPLE, SOON, LIMITS)
    ahead = entry.model_copy(update={"at": utc_millis(NOW + timedelta(days=300))})
    assert standing(after(life, ahead), PEOPLE, SOON).settled_at == utc_millis(SOON)


PARAMETERS = (None, {**PARAMS, "amount": 4})
NAMES = tuple(key.name for key in EVERYBODY)


@st.composite
def words(draw: st.DrawFn) -> list[tuple[SigningKey, str, dict[str, Any]]]:
    """What people say one after the other: approvals, edits and delegations."""
    said_so: list[tuple[SigningKey, str, dict[str, Any]]] = []
    for number in range(draw(st.integers(0, 8))):
        who = draw(st.sampled_from(EVERYBODY))
        terms: dict[str, Any] = {"nonce": f"00000000-0000-4000-8000-{number:012d}"}
        if draw(st.integers(0, 2)) == 0:
            said_so.append((who, "delegate", {**terms, "delegate": draw(st.sampled_from(NAMES))}))
        else:
            said_so.append((who, "approve", {**terms, "params": draw(st.sampled_from(PARAMETERS))}))
    return said_so


@given(words(), st.sets(st.sampled_from(NAMES)), st.integers(1, 3))
def test_what_lets_a_call_be_made_was_signed_by_enough_people_for_different_seats(
    said_so: list[tuple[SigningKey, str, dict[str, Any]]], gone: set[str], needed: int
) -> None:
    """Held against the rule written out: every way to give people to seats is tried."""
    asks = (
        ask(approvers=("finance",), needed=min(needed, 2)),
        ask(policy_id="policy.all", needed=needed),
    )
    life = open_call(*asks)
    for who, what, terms in said_so:
        with contextlib.suppress(StepRefused):
            life = handed_in(life, said(life.call, who, what, **terms))
    here = trusting(key for key in EVERYBODY if key.name not in gone)
    found = standing(life, here, SOON)
    if not found.lifts:
        return
    notes = [claimed(signed) for signed in found.signed]
    assert not {note.by for note in notes} & {*gone, AGENT.name}
    approvals = [note for note in notes if note.decision == "approve"]
    assert all(note.params == found.params for note in approvals)
    people = {note.by for note in approvals}
    assert len(people) == len(approvals)
    given = [(note.by, note.delegate) for note in notes if note.delegate is not None]
    for one, seats in zip(asks, ({ALICE.name, BOB.name}, set(NAMES)), strict=True):
        may = {name: _seats_for(name, seats - {AGENT.name, *gone}, given) for name in people}
        assert any(
            len(set(taken)) == one.needed
            and all(seat in may[who] for who, seat in zip(some, taken, strict=True))
            for some in itertools.permutations(sorted(people), one.needed)
            for taken in itertools.permutations(sorted(seats), one.needed)
        )


def _seats_for(name: str, seats: set[str], given: list[tuple[str, str]]) -> set[str]:
    """The seats that somebody may fill: their own, and those that lead to them by delegations in their order."""
    holders = {seat: {seat} for seat in seats}
    for giver, taker in given:
        for held in holders.values():
            if giver in held and taker != AGENT.name:
                held.add(taker)
    return {seat for seat, held in holders.items() if name in held}
