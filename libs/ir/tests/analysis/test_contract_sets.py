"""What sets of contracts come to: what can't be kept, what holds of nothing, and what says nothing new."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.ir.tests.contract_sets import FREE, KNOWN, contracts
from lictor_ir.analysis import (
    Budget,
    EntailmentVerdict,
    Possibility,
    Signature,
    analyze,
    entails,
    possible,
    reduced,
)
from lictor_ir.contracts import Contract
from lictor_ir.errors import DocumentError
from lictor_ir.evaluation import holds

from .test_entailment import document


def possibility(*stated: str) -> Possibility:
    whole = document(*stated)
    given_ = [each.contract for each in whole.guarantees]
    found = possible(Signature.of(whole), given_, Budget(20_000))
    if found.witness is not None:
        assert all(holds(each, found.witness) for each in given_)
        assert bool(found.witness.steps) or found.possibility is not Possibility.UNKNOWN
    assert bool(found.goals) == (
        found.possibility in (Possibility.ONLY_TRIVIAL, Possibility.IMPOSSIBLE)
    )
    return found.possibility


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (['forall e in send : e.addr == "a"'], Possibility.SATISFIABLE),
        (["no e in send"], Possibility.SATISFIABLE),
        (["(count e in send) <= 0"], Possibility.SATISFIABLE),
        (["(count e in send) >= 3"], Possibility.SATISFIABLE),
        (["shared e in send and e in copy : e.addr"], Possibility.SATISFIABLE),
        (['finally s in locked["door"] : not s.value'], Possibility.SATISFIABLE),
        (["forall e in send : from(e.addr: User.email)"], Possibility.SATISFIABLE),
        (["forall e in pay : is_nan(e.amount)"], Possibility.SATISFIABLE),
        (["forall e in send : false"], Possibility.ONLY_TRIVIAL),
        (['forall e in send : e.addr == "a" and e.addr == "b"'], Possibility.ONLY_TRIVIAL),
        (["forall e in pay : e.amount < 0.0 and 1.0 < e.amount"], Possibility.ONLY_TRIVIAL),
        (['forall e in send : e.addr == "a"', "no e in send"], Possibility.ONLY_TRIVIAL),
        (["first e in copy before e in send", "no e in copy"], Possibility.ONLY_TRIVIAL),
        (["(count e in send) <= -1"], Possibility.IMPOSSIBLE),
        (["(count e in send) >= 1", "no e in send"], Possibility.IMPOSSIBLE),
        (["(count e in send) == 2", "(count e in send) == 3"], Possibility.IMPOSSIBLE),
        (['finally s in locked["door"] : false'], Possibility.IMPOSSIBLE),
        (["(sum e in withdraw : e.amount) > 5", "no e in withdraw"], Possibility.IMPOSSIBLE),
        (
            ["shared e in send and e in copy : e.addr", 'forall e in send : e.addr == "a"',
             'forall e in copy : e.addr == "b"'],
            Possibility.IMPOSSIBLE,
        ),
    ],
)  # fmt: skip
def test_vacuity_is_told_apart_from_contradiction(stated: list[str], expected: Possibility) -> None:
    assert possibility(*stated) is expected


def test_a_contract_that_only_the_others_empty_is_told_so() -> None:
    whole = document('forall e in send : e.addr == "a"', "no e in send")
    found = analyze(Signature.of(whole), [each.contract for each in whole.guarantees], Budget())
    assert [each.possibility for each in found.alone] == [Possibility.SATISFIABLE] * 2
    assert found.together[0].possibility is Possibility.ONLY_TRIVIAL
    assert found.together[1].possibility is Possibility.SATISFIABLE


def test_the_earliest_of_equals_is_kept_and_each_removed_one_names_who_implies_it() -> None:
    whole = document(
        'forall e in send : e.addr in ["a"]',
        "(count e in copy) <= 3",
        'forall e in send : e.addr == "a"',
        'forall e in send : e.addr in ["a", "b"]',
        "(count e in copy) <= 5",
    )
    found = reduced(Signature.of(whole), [each.contract for each in whole.guarantees], Budget())
    assert found.kept == (0, 1)
    assert [(each.contract, each.by) for each in found.redundant] == [
        (2, (0,)),
        (3, (0,)),
        (4, (1,)),
    ]
    assert {each.verdict for each in found.needed.values()} == {EntailmentVerdict.NOT_IMPLIED}


def test_what_holds_of_every_trace_is_implied_by_nothing() -> None:
    whole = document("(count e in send) >= 0")
    found = reduced(Signature.of(whole), [each.contract for each in whole.guarantees], Budget())
    assert found.kept == ()
    assert found.redundant[0].by == ()


def test_without_time_everything_is_kept() -> None:
    whole = document(
        'forall e in send : startswith(e.addr, "ab")', 'forall e in send : contains(e.addr, "b")'
    )
    found = reduced(Signature.of(whole), [each.contract for each in whole.guarantees], Budget(0))
    assert found.kept == (0, 1)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([FREE, KNOWN]), st.lists(contracts, min_size=1, max_size=4))
def test_a_minimal_subset_says_as_much_and_nothing_can_be_left_out(
    signature: Signature, stated: list[Contract]
) -> None:
    found = reduced(signature, stated, Budget(5_000))
    kept = [stated[at] for at in found.kept]
    assert sorted([*found.kept, *(each.contract for each in found.redundant)]) == list(
        range(len(stated))
    )
    for each in found.redundant:
        assert set(each.by) <= set(found.kept)
        assert each.entailment.verdict is EntailmentVerdict.IMPLIED
        assert entails(signature, kept, stated[each.contract], Budget(5_000)).verdict is not (
            EntailmentVerdict.NOT_IMPLIED
        )
    for at, why in found.needed.items():
        rest = [stated[other] for other in found.kept if other != at]
        if why.witness is not None:
            assert all(holds(each, why.witness) for each in rest)
            assert not holds(stated[at], why.witness)
        else:
            assert why.verdict is EntailmentVerdict.UNKNOWN


def test_two_signatures_are_joined_unless_they_disagree() -> None:
    one = Signature.of(document())
    other = Signature(FREE.effects[:1])
    assert {each.name for each in one.joined(other).effects} >= {"take", "users"}
    with pytest.raises(DocumentError, match="the effect send is declared in two ways"):
        FREE.joined(one)
