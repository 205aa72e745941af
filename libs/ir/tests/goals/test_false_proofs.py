"""Documents that were once proved and must not be: each holds one way to a false proof."""

from __future__ import annotations

import pytest

from lictor_ir.text import read
from lictor_prove.proof.prover import prove_document
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.proof import ProofVerdict

_HEAD = 'effect-ir v1\nprogram "p" target main\n'
_CALLS = """
trusted send(addr: str) -> none
trusted f(a: int) -> int
"""
_USERS = """
schema User(tags: list<str>)
trusted users() -> list<row<User>>
input x: str
effect c1: users()
"""
_NESTED = """
schema Address(city: str)
schema User(home: row<Address>)
trusted users() -> list<row<User>>
"""


def _proof(document: str) -> Proof:
    return prove_document(read(_HEAD + document), ProofSettings(goal_ms=1500, total_ms=4000))


def _is_proved(document: str) -> bool:
    proof = _proof(document)
    return proof.verdict is ProofVerdict.PROVED or any(
        each.verdict is ProofVerdict.PROVED for each in proof.guarantees
    )


def test_a_number_of_many_digits_is_still_a_number() -> None:
    digits = "1" * 4_100
    assert not _is_proved(
        f"""{_CALLS}input x: int
        effect c1: send(addr = "a") when str_of_int(x) == "{digits}"
        guarantee "none": no e in send"""
    )


def test_membership_in_one_iteration_is_not_that_of_another_for_before() -> None:
    assert not _is_proved(
        f"""{_USERS}
        trusted ask(k: bool) -> none
        trusted act(k: bool) -> none
        effect c2: ask(k = x in result(c1)[i].tags) for i in result(c1) when i == 0
        effect c3: act(k = x in result(c1)[j].tags) for j in result(c1)
        guarantee "asked": first e in ask by e.k before e in act by e.k"""
    )


def test_membership_in_one_iteration_is_not_that_of_another_within_one_loop() -> None:
    assert not _is_proved(
        f"""{_USERS}
        trusted ask(k: bool) -> none
        trusted act(k: bool) -> none
        effect c2: ask(k = x in result(c1)[i].tags) for i in result(c1) when i == 0
        effect c3: act(k = x in result(c1)[i].tags) for i in result(c1)
        guarantee "asked": first e in ask by e.k before e in act by e.k"""
    )


def test_membership_in_one_iteration_is_not_that_of_another_for_distinct() -> None:
    assert not _is_proved(
        f"""{_USERS}
        trusted act(k: str) -> none
        effect c2: act(k = (if x in result(c1)[i].tags then "a" else "b")) for i in result(c1) when i == 0
        effect c3: act(k = (if x in result(c1)[i].tags then "b" else "a")) for i in result(c1) when i == 1
        guarantee "once": distinct e in act : e.k"""
    )


@pytest.mark.parametrize(
    ("parameter", "passed"),
    [
        ("x: str", "x = result(c1)[0].home.city"),
        ("x: row<Address>", "x = result(c1)[0].home"),
        ("x: row<User>", "x = result(c1)[0]"),
    ],
)
def test_rows_inside_rows_flow(parameter: str, passed: str) -> None:
    assert not _is_proved(
        f"""{_NESTED}
        trusted tell({parameter}) -> none
        effect c1: users()
        effect c2: tell({passed})
        guarantee "private": forall e in tell : not_from(e.x: Address.city)"""
    )


@pytest.mark.parametrize("items", ['["x"][n]', '(if 0 < n then ["x"] else [])[n]'])
def test_what_stands_outside_of_a_list_is_not_its_last_item(items: str) -> None:
    assert not _is_proved(
        f"""{_CALLS}input n: int
        effect c1: send(addr = {items})
        guarantee "x": forall e in send : e.addr == "x" """
    )


def test_an_item_inside_of_a_written_list_is_known() -> None:
    assert _is_proved(
        f"""{_CALLS}input n: int
        effect c1: send(addr = ["x", "y"][n]) when (0 <= n) and (n < 2)
        guarantee "x": forall e in send : e.addr in ["x", "y"]"""
    )


def test_guards_that_exclude_each_other_do_not_hide_a_promise_that_cannot_be_kept() -> None:
    assert not _is_proved(
        f"""{_CALLS}input x: int
        effect c1: f(a = x)
        assume c1 when 0 < x : (result(c1) < x) and (x < result(c1))
        assume c1 when x <= 0 : result(c1) == x
        effect c2: send(addr = "z") when (0 < x) and (result(c1) < 7)
        guarantee "none": no e in send"""
    )


def test_promises_about_arguments_of_several_calls_must_be_possible_together() -> None:
    assert not _is_proved(
        f"""{_CALLS}input x: int
        effect c1: f(a = x)
        effect c2: f(a = x)
        assume c1 : 0 < x
        assume c2 : x < 0
        effect c3: send(addr = "z") when (result(c1) < 8) and (result(c2) < 7)
        guarantee "none": no e in send"""
    )


def test_nothing_is_proved_by_folding_a_promise_that_cannot_be_kept() -> None:
    assert not _is_proved(
        f"""{_CALLS}input x: int
        effect c1: f(a = x)
        assume c1 : (result(c1) + x) == (result(c1) + x + 1)
        effect c2: send(addr = "z") when result(c1) < 7
        guarantee "none": no e in send"""
    )


@pytest.mark.parametrize(
    "regex",
    [
        r'"\u{30000}".."\u{10ffff}"',
        r'except("\u{0}".."\u{2ffff}")',
        r'"\u{30000}"',
        r'seq("a", rep("\u{30000}".."\u{30001}", 1))',
    ],
)
def test_characters_that_solvers_lack_are_in_no_empty_language(regex: str) -> None:
    assert not _is_proved(
        f"""{_CALLS}input x: str
        effect c1: send(addr = x) when x matches {regex}
        guarantee "none": no e in send"""
    )


def test_classes_that_hold_all_high_characters_are_followed() -> None:
    assert _is_proved(
        rf"""{_CALLS}input x: str
        effect c1: send(addr = x) when x matches "\u{{100}}".."\u{{10ffff}}"
        guarantee "one": forall e in send : len(e.addr) == 1"""
    )


def test_a_column_may_be_called_len() -> None:
    proof = _proof(
        """schema User(len: str)
        trusted users() -> list<row<User>>
        trusted send(addr: str) -> none
        effect c1: users()
        effect c2: send(addr = result(c1)[i].len) for i in result(c1)
        guarantee "q": forall e in send : e.addr == "q" """
    )
    assert proof.verdict is ProofVerdict.REFUTED


def test_numbers_of_any_size_reach_the_solver_and_come_back() -> None:
    proof = _proof(
        f"""{_CALLS}input x: int
        effect c1: send(addr = "a") when x == {hex(10**5000 + 3)}
        guarantee "none": no e in send"""
    )
    assert proof.verdict is ProofVerdict.REFUTED


def test_a_key_that_is_nan_is_set_though_it_equals_no_key() -> None:
    assert not _is_proved(
        """trusted unlock(door: float) -> none
        fluent locked[float]: bool = true
        input x: float
        effect c1: unlock(door = x) when is_nan(x)
            sets locked[x] = false
        guarantee "locked": finally s in locked : s.value"""
    )
