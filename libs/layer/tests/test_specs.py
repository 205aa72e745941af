"""Relations, specs and contracts as values."""

import enum

import pytest

from lictor_layer import (
    DeclarationError,
    Event,
    FilePath,
    LayerError,
    Spec,
    all_of,
    comes_from,
    contract,
    domain_policy,
    effect,
    fluent,
    guarantee,
    no_guarantees,
    same_row,
    trusted,
)
from lictor_layer.contracts import sentence, spelled
from lictor_layer.specs import (
    BeforeSpec,
    BoundSpec,
    ConjunctionSpec,
    FinalValueSpec,
    NeverAfterSpec,
)


@trusted
def send(addr: str) -> None: ...


class Write(Event):
    path: str


class Delete(Write): ...


Send = effect(send)


def test_a_relation_names_functions_or_their_names() -> None:
    assert effect(send).effects == effect("send").effects == ("send",)
    assert effect(send, "draft").effects == ("send", "draft")
    assert effect().every


def test_a_relation_over_what_is_no_effect_is_refused() -> None:
    with pytest.raises(DeclarationError, match="no trusted function"):
        effect(len)


def test_specs_are_joined_with_and_but_are_never_true_or_false() -> None:
    both = Send.empty() & (Send.count() <= 3)
    assert isinstance(both, ConjunctionSpec)
    assert len(both.parts) == 2
    with pytest.raises(DeclarationError, match="join specs with &"):
        _ = Send.empty() and Send.empty()
    with pytest.raises(DeclarationError):
        all_of(Send.empty(), True)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [True, "3", None])
def test_an_aggregate_is_compared_with_numbers(bound: object) -> None:
    with pytest.raises(DeclarationError, match="compared with a number"):
        _ = Send.count() <= bound  # type: ignore[operator]


def test_every_comparison_of_an_aggregate_is_a_spec() -> None:
    count = Send.count()
    specs = (count <= 1, count < 1, count >= 1, count > 1, count == 1)
    assert [spec.comparison for spec in specs if isinstance(spec, BoundSpec)] == [
        "<=",
        "<",
        ">=",
        ">",
        "==",
    ]


def test_order_reads_as_it_is_said() -> None:
    first = Send.before(Delete)
    never = Send.never_after(Write)
    assert isinstance(first, BeforeSpec)
    assert (first.first, first.then.events) == (Send, (Delete,))
    assert isinstance(never, NeverAfterSpec)
    assert (never.first.events, never.then) == ((Write,), Send)
    with pytest.raises(DeclarationError, match="give both"):
        Send.before(Delete, then_key=lambda e: e.path)


def test_an_event_can_not_take_the_name_of_a_query() -> None:
    with pytest.raises(DeclarationError, match="needs that name"):

        class Bad(Event):
            count: int  # pyright: ignore[reportIncompatibleMethodOverride]


def test_a_fluent_is_compared_at_the_end() -> None:
    door = fluent("door", initial=True)
    assert isinstance(door.final["front"] == True, FinalValueSpec)  # noqa: E712 -- the spec
    with pytest.raises(DeclarationError, match="begins with"):
        fluent("door", value=bool, initial=1)
    with pytest.raises(DeclarationError, match="no name"):
        fluent("the door", initial=True)


def test_a_description_names_parameters_and_shows_arguments_as_written() -> None:
    @contract(description="Mail goes only to {addresses}, {{literally}}.")
    def only(addresses: list[str]) -> Spec:
        return Send.all(lambda e: e.addr in addresses)

    said = "Mail goes only to {addresses}, {{literally}}."
    assert sentence(said, {"addresses": ["a", "b"]}) == "Mail goes only to ['a', 'b'], {literally}."
    assert isinstance(only([]), Spec)
    for bad in ("{nobody}", "{addresses.x}", "{addresses!r}", "{addresses:>3}", "{", "{}"):
        with pytest.raises(DeclarationError):

            @contract(description=bad)
            def other(addresses: list[str]) -> Spec:
                return Send.all(lambda e: e.addr in addresses)


def test_what_could_mislead_a_reader_is_escaped() -> None:
    assert spelled("a\nb\u202ec") == "'a\\nb\\u202ec'"
    assert spelled([FilePath("a.txt")]) == "['a.txt']"


def test_a_guarantee_changes_nothing_at_run_time() -> None:
    @guarantee(no_guarantees())
    def main() -> int:
        return 1

    assert main() == 1
    with pytest.raises(TypeError, match="call of a contract"):
        guarantee("only bob")


def test_origins_are_for_the_prover_alone() -> None:
    for call in (comes_from, same_row):
        with pytest.raises(LayerError, match="decided by the prover"):
            call("x", None)  # pyright: ignore[reportArgumentType]


def test_a_policy_names_its_functions_and_contracts() -> None:
    policy = domain_policy(when_used=send, recommended=["only"])
    assert (policy.when_used, policy.recommended) == (("send",), ("only",))
    with pytest.raises(DeclarationError, match="when_used"):
        domain_policy(when_used=[])
    with pytest.raises(DeclarationError, match="list of names"):
        domain_policy(when_used="send", required="only")


def test_a_bound_is_of_a_builtin_type_itself() -> None:
    class Size(enum.IntEnum):
        SMALL = 1

    for bound in (Size.SMALL, True, "1", None):
        with pytest.raises(DeclarationError, match="compared with a number"):
            _ = effect().count() <= bound  # type: ignore[operator]


def test_equal_literals_have_one_spelling() -> None:
    assert spelled({"b", "a"}) == spelled(frozenset(["a", "b"])) == "{'a', 'b'}"
    assert spelled(({"b", "a"}, FilePath("x"))) == "({'a', 'b'}, 'x')"
    assert spelled({"k": {2, 1}}) == "{'k': {1, 2}}"
    assert (spelled((1,)), spelled(()), spelled(set())) == ("(1,)", "()", "set()")
