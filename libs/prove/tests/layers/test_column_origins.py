"""A column in a contract is an origin: what `==` and `!=` say of rows, of their sub-classes, and to who approves."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from libs.prove.tests.layers_on_disk import mail
from lictor_ir.summary import summarize
from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import document_of, prove

TABLES = """
    from lictor_layer import *

    class Contact(Row):
        email: str
        city: str

    class Customer(Contact):
        number: int

    class Stranger(Row):
        email: str

    @trusted
    def contacts() -> list[Contact]: ...
    @trusted
    def customers() -> list[Customer]: ...
    @trusted
    def strangers() -> list[Stranger]: ...
    @trusted
    def post(addr: str) -> None: ...

    Post = effect(post)

    @contract(description="Never to a contact.")
    def never_to_contacts() -> Spec: return Post.all(lambda e: e.addr != Contact.email)
    @contract
    def never_to_customers() -> Spec: return Post.all(lambda e: not comes_from(e.addr, Customer.email))
    @contract(description="To contacts alone.")
    def to_contacts() -> Spec: return Post.all(lambda e: e.addr == Contact.email)
    @contract
    def to_customers() -> Spec: return Post.all(lambda e: e.addr == Customer.email)
"""


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return mail(tmp_path_factory.mktemp("tables"), tables=TABLES)


def program(contract: str, body: str) -> str:
    head = "from lictor_layer import guarantee\nfrom tools.mail.trusted.tables import *\n".replace(
        "*", f"contacts, customers, strangers, post, {contract}"
    )
    return f"{head}@guarantee({contract}())\ndef main():\n" + dedent(body).replace("\n", "\n    ")


def verdict(layer: Layer, contract: str, table: str, column: str = "email") -> str:
    body = f"\n    for row in {table}():\n        post(row.{column})\n"
    return prove(program(contract, body), name="p.py", layer=layer).verdict


@pytest.mark.parametrize(
    ("contract", "table", "wanted"),
    [
        ("never_to_contacts", "contacts", "refuted"),
        ("never_to_contacts", "customers", "refuted"),
        ("never_to_contacts", "strangers", "proved"),
        ("never_to_customers", "customers", "refuted"),
        # A list of contacts may hold customers, for all that its type says.
        ("never_to_customers", "contacts", "refuted"),
        ("never_to_customers", "strangers", "proved"),
        ("to_contacts", "contacts", "proved"),
        ("to_contacts", "customers", "refuted"),
        ("to_customers", "contacts", "refuted"),
    ],
)
def test_a_column_is_inherited_with_what_contracts_deny_of_it(
    layer: Layer, contract: str, table: str, wanted: str
) -> None:
    assert verdict(layer, contract, table) == wanted


@pytest.mark.parametrize("contract", ["never_to_contacts", "never_to_customers"])
def test_other_inherited_columns_are_free(layer: Layer, contract: str) -> None:
    assert verdict(layer, contract, "customers", "city") == "proved"


GUESSED = """
    for row in contacts():
        if row.email == "ann@example.org":
            post("ann@example.org")
"""


def test_a_value_that_is_written_out_has_no_origin_and_the_sentences_say_so(layer: Layer) -> None:
    assert prove(program("to_contacts", GUESSED), name="p.py", layer=layer).verdict == "refuted"
    denied = program("never_to_contacts", GUESSED)
    assert prove(denied, name="p.py", layer=layer).verdict == "proved"
    document = document_of(denied, name="p.py", layer=layer)
    (guarantee,) = document.guarantees
    assert guarantee.description.startswith(
        "Never to a contact. (This is about where a value comes"
    )
    assert "or be what a trusted call made of one.)" in guarantee.description
    told = summarize(document).text()
    for table in ("Contact", "Customer"):
        assert f"its addr is not made by the program from {table}.email of any returned row" in told
    assert "(it may equal one)" in told
    assert 'if Contact.email of item i1 equals "ann@example.org"' in told
    (stated,) = document_of(program("to_contacts", GUESSED), name="p.py", layer=layer).guarantees
    assert stated.description == "To contacts alone."


def test_a_program_can_not_declare_a_table_under_the_name_of_one(layer: Layer) -> None:
    for name in ("Contact", "CONTACT", "contact"):  # to most databases they are one table
        text = f"from lictor_layer import Row\nclass {name}(Row):\n    email: str\ndef main():\n    pass\n"
        (reason,) = prove(text, name="p.py", layer=layer).reasons
        assert reason.code == "row.name"


def test_also_where_two_tables_of_the_layer_share_a_name(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        tables=TABLES,
        more="from lictor_layer import *\nclass Contact(Row):\n    a: int\n",
    )
    test_a_program_can_not_declare_a_table_under_the_name_of_one(layer)
