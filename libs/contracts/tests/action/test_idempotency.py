"""The same key and body are done once; another body under a used key or id is a conflict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.contracts.tests.strategies_contracts import ACTIONS, action
from lictor_contracts.action.idempotency import KeyState, KnownKeys, ask, body_hash, finish
from lictor_contracts.errors import ResultConflict

EMPTY = KnownKeys()


def test_the_first_is_carried_out_and_a_second_try_waits_for_it() -> None:
    ledger, first = ask(EMPTY, action())
    _, second = ask(ledger, action())
    assert (first.standing, second.standing) == (KeyState.FIRST, KeyState.IN_FLIGHT)


def test_the_same_key_and_body_get_the_first_result_also_under_another_action_id() -> None:
    """Contract scenario 26: same key: same body or conflict."""
    ledger = finish(ask(EMPTY, action())[0], action(), "refunded r-9")
    for again in (action(), action(actionId="a-2")):
        _, answer = ask(ledger, again)
        assert (answer.standing, answer.result) == (KeyState.DONE, "refunded r-9")


def test_the_same_key_with_another_body_is_a_conflict_that_changes_nothing() -> None:
    """Contract scenario 26: same key: same body or conflict."""
    ledger, _ = ask(EMPTY, action())
    other = action(actionId="a-2", targetRefs=[{"type": "order", "id": "o-2"}])
    after, answer = ask(ledger, other)
    assert after is ledger
    assert answer.standing is KeyState.CONFLICT
    assert answer.message == (
        "idempotencyKey: k-1 was used for another action (a-1); give this one a key of its own, or"
        " ask for exactly that one"
    )


def test_an_action_id_is_never_used_for_another_body() -> None:
    ledger, _ = ask(EMPTY, action())
    after, answer = ask(ledger, action(idempotencyKey="k-2"))
    assert after is ledger
    assert answer.standing is KeyState.CONFLICT
    assert answer.message is not None
    assert answer.message.startswith("actionId: a-1 stands for another action")


def test_the_id_of_a_second_try_is_taken_too() -> None:
    ledger, _ = ask(EMPTY, action())
    ledger, _ = ask(ledger, action(actionId="a-2"))
    _, answer = ask(ledger, action(actionId="a-2", idempotencyKey="k-2"))
    assert answer.standing is KeyState.CONFLICT


def test_a_result_stays_as_it_was_first_told() -> None:
    ledger = finish(ask(EMPTY, action())[0], action(), "done")
    assert finish(ledger, action(), "done") == ledger
    with pytest.raises(ResultConflict, match="has another result"):
        finish(ledger, action(), "failed")


def test_nothing_is_finished_that_was_not_asked_for() -> None:
    with pytest.raises(ResultConflict, match="ask before it is done"):
        finish(EMPTY, action(), "done")
    asked, _ = ask(EMPTY, action())
    with pytest.raises(ResultConflict, match="ask before it is done"):
        finish(asked, action(actionType="note"), "done")


def test_a_ledger_is_not_changed_by_asking() -> None:
    ask(EMPTY, action())
    assert (dict(EMPTY.claims), dict(EMPTY.bodies)) == ({}, {})


@given(st.lists(ACTIONS, max_size=4), st.data())
def test_of_all_tries_with_one_key_exactly_one_is_the_first(
    actions: list[object], data: st.DataObject
) -> None:
    """However tries are repeated and mixed, a key is carried out once, for one body."""
    pool = [
        each.model_copy(update={"idempotency_key": key, "action_id": name})  # type: ignore[attr-defined]
        for each in actions
        for key in ("k-1", "k-2")
        for name in ("a-1", "a-2")
    ]
    if not pool:
        return
    ledger, done = EMPTY, dict[str, str]()
    ids = dict[str, str]()
    for each in data.draw(st.lists(st.sampled_from(pool), max_size=12)):
        ledger, answer = ask(ledger, each)
        if answer.standing is KeyState.FIRST:
            assert each.idempotency_key not in done
            done[each.idempotency_key] = body_hash(each)
        if answer.standing is not KeyState.CONFLICT:
            assert done[each.idempotency_key] == body_hash(each)
            assert ids.setdefault(each.action_id, body_hash(each)) == body_hash(each)
