"""Whom the files of approvers name: each person once, found by any spelling of the name, however many there are."""

import pytest

from lictor_approval import signed_decisions
from lictor_approval.errors import ConfigRefused
from lictor_approval.signed_decisions import Approvers
from lictor_contracts.action.judgement import person_key
from lictor_seal import KeyGroup, SigningKey, TrustedKey, TrustStore


def store(*names: str, first: int = 1, groups: tuple[KeyGroup, ...] = ()) -> TrustStore:
    keys = [
        SigningKey.from_seed(name, number.to_bytes(32, "big")).verifying_key
        for number, name in enumerate(names, first)
    ]
    return TrustStore(tuple(TrustedKey(key) for key in keys), groups=groups)


def named(approvers: Approvers, *names: str) -> list[str]:
    return [each.key.name for each in approvers.people_named(names)]


def test_each_name_is_looked_at_a_few_times_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def counted(name: object) -> str:
        nonlocal looks
        looks += 1
        return person_key(name)

    monkeypatch.setattr(signed_decisions, "person_key", counted)
    names = [f"person-{number}@example.org" for number in range(300)]
    everybody = KeyGroup("everybody", tuple(names))
    approvers = Approvers(store(*names, groups=(everybody,)), store("machine", first=1000))
    assert looks <= 3 * 302
    looks = 0
    assert named(approvers, "everybody") == names
    assert approvers.person(names[-1]) is approvers.people.keys[-1]
    assert looks <= 2 * 302


def test_people_are_found_by_any_spelling_in_the_order_of_the_file() -> None:
    finance = KeyGroup("Finance", ("BOB", "nobody here"))
    approvers = Approvers(store("alice", "bob", "carol", groups=(finance,)))
    assert named(approvers, "CAROL", "a lice") == ["alice", "carol"]
    assert named(approvers, "finance", "alice") == ["alice", "bob"]
    assert named(approvers) == ["alice", "bob", "carol"]
    assert named(approvers, "dave") == []
    # A name that shows nothing is nobody's, and no question about all.
    assert named(approvers, "\u200b") == []
    assert approvers.person("") is None
    found = approvers.person("Ali\u200bce")
    assert found is not None
    assert found.key.name == "alice"


def test_a_policy_is_nobody_who_is_named() -> None:
    approvers = Approvers(store("alice"), store("machine", first=9))
    assert named(approvers, "machine") == []
    assert approvers.person("machine") is None


@pytest.mark.parametrize(
    ("people", "policies", "groups", "told"),
    [
        (("alice", "bob", "ALICE"), (), (), "'alice' and 'ALICE' are one name"),
        (("alice",), ("Alice",), (), "'alice' and 'Alice' are one name"),
        (("\u200b",), (), (), "names nobody"),
        (("alice",), (), (" ",), "the group ' ' names nobody"),
        (("alice",), (), ("Alice",), "the group 'Alice' has the name of 'alice'"),
        (("alice",), ("machine",), ("MACHINE",), "has the name of 'machine'"),
        (("alice",), (), ("finance", "Finance"), "has the name of 'finance'"),
    ],
)
def test_two_of_one_name_are_refused_and_both_are_told(
    people: tuple[str, ...], policies: tuple[str, ...], groups: tuple[str, ...], told: str
) -> None:
    named_groups = tuple(KeyGroup(name, ("alice",)) for name in groups)
    with pytest.raises(ConfigRefused, match=told):
        Approvers(store(*people, groups=named_groups), store(*policies, first=1000))
