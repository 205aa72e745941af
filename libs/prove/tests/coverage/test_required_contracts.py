"""What is proved besides what is stated: required contracts, and columns of one row."""

from pathlib import Path

from libs.prove.tests.layers_on_disk import mail
from lictor_ir.contracts import All, Both, Distinct, Relation, field
from lictor_ir.document import Document, Guarantee
from lictor_ir.terms import apply, const, eq, or_
from lictor_ir.types import INT, STR
from lictor_ir.validation.document import validate
from lictor_prove.coverage.required_contracts import ROW_IDENTITY, with_required, with_row_identity

POLICY = """
    from lictor_layer import domain_policy
    POLICY = domain_policy(when_used="send", required=["unique"], label="mail")
"""
EMPTY = Document("p.py", None, None)
UNIQUE = Distinct(Relation(("send",)), field("addr", STR))


def test_a_document_stays_closed_when_contracts_are_added(tmp_path: Path) -> None:
    more = """
        from lictor_layer import *

        class Said(Event):
            text: str

        class User(Row):
            email: str

        Open = fluent("open", key=str, value=bool, initial=False)

        @trusted
        @sets(lambda text: Open.set(text, False))
        @performs(lambda text: Said(text))
        def say(text: str, users: list[User]) -> None: ...

        @contract
        def all_of_it() -> Spec:
            one = Said.all(lambda e: e.text == User.email)
            return one & Open.final.all(lambda d: not d.value) & (effect(say).count() <= 3)
    """
    layer = mail(tmp_path, more=more, policy=POLICY.replace("unique", "all_of_it"))
    document = with_required(EMPTY, layer, layer.policies)
    validate(document)
    assert [effect.name for effect in document.effects] == ["say"]
    assert [event.name for event in document.events] == ["Said"]
    assert [fluent.name for fluent in document.fluents] == ["open"]
    assert [schema.name for schema in document.schemas] == ["User"]


def test_required_contracts_of_used_domains_are_added(tmp_path: Path) -> None:
    layer = mail(tmp_path, policy=POLICY)
    proved = with_required(EMPTY, layer, layer.policies)
    validate(proved)
    assert proved.guarantees == (
        Guarantee("unique()", UNIQUE, "Nobody gets two mails.", required_by="mail"),
    )
    assert with_required(EMPTY, layer, ()) == EMPTY


def test_a_required_contract_that_is_stated_is_not_added_again(tmp_path: Path) -> None:
    layer = mail(tmp_path, policy=POLICY)
    stated = Document("p.py", None, None, guarantees=(Guarantee("unique()", UNIQUE),))
    assert with_required(stated, layer, layer.policies) == stated


STOCK, SHARES, PRICE = field("stock", STR), field("shares", INT), field("price", INT)
SELL = Relation(("sell",))


def pinned(*contracts: All | Both) -> Document:
    stated = tuple(Guarantee(f"g{at}", contract) for at, contract in enumerate(contracts))
    return Document("p.py", None, None, guarantees=stated)


def pin(relation: Relation, value: object, column: str) -> All:
    return All(relation, apply("from", value, param=column))  # type: ignore[arg-type]


def added(document: Document) -> list[Guarantee]:
    return list(with_row_identity(document).guarantees[len(document.guarantees) :])


def test_columns_that_are_pinned_together_must_come_from_one_row() -> None:
    document = pinned(pin(SELL, STOCK, "Approval.stock"), pin(SELL, SHARES, "Approval.shares"))
    (guarantee,) = added(document)
    assert guarantee.contract == All(
        SELL, apply("same_row", SHARES, STOCK, param="Approval.shares,Approval.stock")
    )
    assert guarantee.required_by == ROW_IDENTITY
    assert guarantee.description == "shares and stock are columns of one and the same Approval row."


def test_it_makes_no_difference_whether_one_contract_pins_both() -> None:
    both = Both((pin(SELL, STOCK, "Approval.stock"), pin(SELL, SHARES, "Approval.shares")))
    joined = All(
        SELL,
        apply(
            "and",
            apply("from", STOCK, param="Approval.stock"),
            apply("from", SHARES, param="Approval.shares"),
        ),
    )
    assert len(added(pinned(both))) == len(added(pinned(joined))) == 1


def test_relations_that_overlap_are_pinned_where_they_do() -> None:
    condition = eq(STOCK, const("ACME"))
    some = Relation(("buy", "sell"), where=condition)
    document = pinned(pin(SELL, STOCK, "Approval.stock"), pin(some, SHARES, "Approval.shares"))
    (guarantee,) = added(document)
    assert isinstance(guarantee.contract, All)
    assert guarantee.contract.relation == Relation(("sell",), where=condition)


def test_nothing_is_added_where_nothing_is_pinned_together() -> None:
    buy = Relation(("buy",))
    maybe = or_(apply("from", STOCK, param="Approval.stock"), eq(STOCK, const("x")))
    for document in (
        EMPTY,
        pinned(pin(SELL, STOCK, "Approval.stock")),
        pinned(pin(SELL, STOCK, "Approval.stock"), pin(SELL, SHARES, "Limit.shares")),
        pinned(pin(SELL, STOCK, "Approval.stock"), pin(buy, SHARES, "Approval.shares")),
        pinned(All(SELL, maybe), pin(SELL, SHARES, "Approval.shares")),
        pinned(pin(SELL, STOCK, "Approval.stock"), pin(SELL, STOCK, "Approval.stock")),
    ):
        assert added(document) == []


def test_what_is_already_demanded_is_not_demanded_again() -> None:
    same = All(SELL, apply("same_row", SHARES, STOCK, param="A.shares,A.stock"))
    document = pinned(pin(SELL, STOCK, "A.stock"), pin(SELL, SHARES, "A.shares"), same)  # fmt: skip
    assert added(document) == []
    again = with_row_identity(pinned(pin(SELL, STOCK, "A.stock"), pin(SELL, SHARES, "A.shares")))
    assert with_row_identity(again) == again


def test_three_columns_make_one_demand() -> None:
    document = pinned(
        pin(SELL, STOCK, "A.stock"), pin(SELL, SHARES, "A.shares"), pin(SELL, PRICE, "A.price")
    )
    assert [guarantee.name for guarantee in added(document)] == ["same_row(price, shares, stock)"]
