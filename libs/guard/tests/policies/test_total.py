"""What the amounts in a parameter come to stays under a limit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rehearsed_session import Rehearsal, guarded

from lictor_guard.errors import DefinitionError
from lictor_guard.text.amounts import PLACES, NoAmountError, spelled_amount, units_of

SPEC: dict[str, Any] = {
    "kind": "total",
    "name": "pocket-money",
    "tools": ["pay", "refund"],
    "param": "amount",
    "limit": "100",
}


def session(**changes: Any) -> Rehearsal:
    tools = ["pay", "refund", "look"]
    return Rehearsal(guarded(tools=tools, policy_specs=[{**SPEC, **changes}]))


def pays(play: Rehearsal, amount: Any, outcome: str = "ok", tool: str = "pay") -> bool:
    return play.call(tool, outcome, params={"amount": amount}).decision == "allow"


def test_amounts_add_up_to_the_limit_and_no_further() -> None:
    play = session()
    assert pays(play, "99.99")
    assert not pays(play, "0.02")
    assert pays(play, "0.01", tool="refund")
    assert not pays(play, "0.000000000001")
    assert pays(play, 0)


def test_tenths_are_exact() -> None:
    play = session(limit="0.3")
    assert [pays(play, 0.1) for _ in range(4)] == [True, True, True, False]


def test_a_denial_says_what_is_used_and_what_would_pass() -> None:
    play = session()
    pays(play, "60.5")
    denial = play.call("pay", params={"amount": 50}).denials[0]
    assert denial.reason == (
        "'amount' of 'pay' and 'refund' may come to 100 in the session and 60.5 is used, last by"
        " call 'c1'; 50 is too much"
    )
    assert denial.remedy == "ask for at most 39.5"


def test_calls_side_by_side_can_not_pass_together() -> None:
    play = session()
    checks = [play.check("pay", f"p{n}", params={"amount": 60}).decision for n in (1, 1, 2)]
    assert checks == ["allow", "allow", "deny"]


@pytest.mark.parametrize(
    ("outcome", "given_back"),
    [
        ("ok", False),
        ("failed", False),
        ("crashed", False),
        ("interrupted", False),
        ("denied", True),
        ("invalid", True),
    ],
)
def test_only_a_call_that_never_ran_gives_its_amount_back(outcome: str, given_back: bool) -> None:
    play = session()
    pays(play, 100, outcome)
    assert pays(play, 1) is given_back


@pytest.mark.parametrize(
    "amount",
    [
        "-1",
        -1,
        -0.5,
        "5 EUR",
        "$5",
        "1,000",
        "1e3",
        "",
        " 5",
        "05.",
        "\u0665",
        True,
        None,
        [5],
        {"a": 5},
        "NaN",
        1e300,
        0.12345678901234567,
        "1.0000000000001",
        "9" * 19,
    ],
)
def test_what_is_no_plain_number_is_denied(amount: Any) -> None:
    play = session()
    assert not pays(play, amount)
    assert play.call("pay").decision == "deny"


def test_amounts_inside_of_objects_are_added_up() -> None:
    play = session(param="items.price")
    items = [{"price": 40}, {"price": "60.00"}]
    assert play.call("pay", params={"items": [*items, {"price": 1}]}).decision == "deny"
    assert play.call("pay", params={"items": [*items, {}]}).decision == "deny"
    assert play.call("pay", params={"items": [*items, 7]}).decision == "deny"
    assert play.call("pay", params={"items": items}).decision == "allow"


def test_a_window_frees_what_was_spent() -> None:
    play = session(window_s=1280)
    pays(play, 60)
    play.passing(640)
    pays(play, 40)
    denial = play.call("pay", params={"amount": 50}).denials[0]
    assert denial.remedy == "call 'pay' again in 640 s, at 2027-01-15T08:21:20+00:00"
    play.passing(640)
    assert pays(play, 60)
    assert not pays(play, 1)


def test_what_left_the_window_is_not_given_back_twice() -> None:
    play = session(window_s=1280)
    play.check("pay", "p1", params={"amount": 100})
    play.passing(1281)
    assert pays(play, 100)
    play.result("pay", "p1", "denied", params={"amount": 100})
    assert not pays(play, 1)


@pytest.mark.parametrize("change", ["restore", "reset"])
def test_what_was_spent_stays_spent(change: str) -> None:
    play = session()
    play.snapshot("begin")
    pays(play, 60)
    play.check("pay", "p9", params={"amount": 30})
    if change == "reset":
        play.reset()
    else:
        play.restore("begin")
    assert not pays(play, 11)
    play.result("pay", "p9", "denied")
    assert pays(play, 40)


def test_a_call_that_nobody_asked_about_counts_when_it_is_reported() -> None:
    play = session()
    for _ in range(2):
        play.result("pay", "p1", params={"amount": 90})
    assert not pays(play, 11)
    assert pays(play, 10)


def test_a_call_that_ran_with_an_amount_that_nobody_knows_closes_the_gate() -> None:
    play = session(window_s=1280)
    play.result("pay", "p1")
    denial = play.call("pay", params={"amount": 1}).denials[0]
    assert "call 'p1' had in 'amount' is not known" in denial.reason
    play.passing(1280)
    assert pays(play, 1)


def test_a_report_without_parameters_counts_as_it_was_allowed_and_one_with_more_counts_more() -> (
    None
):
    play = session()
    play.check("pay", "p1", params={"amount": 30})
    play.result("pay", "p1")
    play.check("pay", "p2", params={"amount": 30})
    play.result("pay", "p2", params={"amount": 60})
    assert not pays(play, 11)
    assert pays(play, 10)


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(DefinitionError, match="so no amount would pass"):
        session(limit="0")


@given(st.integers(0, 10 ** (18 + PLACES) - 1))
def test_every_amount_is_read_as_it_is_spelled(units: int) -> None:
    assert units_of(spelled_amount(units)) == units


@given(st.decimals(0, 10**6, places=6))
def test_a_number_counts_as_it_was_written(amount: Any) -> None:
    assert units_of(float(amount)) == units_of(f"{amount:f}")


@given(st.text(max_size=6))
def test_a_text_is_a_plain_number_or_none(text: str) -> None:
    try:
        units = units_of(text)
    except NoAmountError:
        return
    assert text.isascii()
    assert units >= 0


def test_what_is_remembered_does_not_grow_with_the_calls() -> None:
    play = session(limit="100000", window_s=86_400)
    for _ in range(300):
        assert pays(play, "1.5")
        play.passing(400)
    (spent,) = [fact for name, fact in play.whole.items() if name == "policy/pocket-money/spent"]
    assert len(spent.marks) <= 130  # pyright: ignore[reportAttributeAccessIssue]
    assert [name for name in play.stored if name.startswith("policy/")] == [
        "policy/pocket-money/spent"
    ]


def test_the_largest_amounts_are_exact() -> None:
    most = "9" * 18 + "." + "9" * 12
    play = session(limit=most)
    assert pays(play, "9" * 18)
    assert not pays(play, "1")
    assert pays(play, "0." + "9" * 12)
    assert not pays(play, "0.000000000001")
