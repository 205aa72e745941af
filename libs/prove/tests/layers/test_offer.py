"""What a layer offers, as whoever writes a program reads it."""

from pathlib import Path

from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.layers.offer import offer_text, offered
from lictor_prove.python.operations.builtin_functions import BUILTINS

ROOTS = [Path(__file__).parents[4] / "examples/layers"]


def test_functions_are_told_with_their_demands_and_promises() -> None:
    offer = offered(load_layer(list(discover_trusted_roots(ROOTS)), ROOTS))
    read, send = offer["functions"]
    assert read["signature"] == "list_contacts(mailing_list: str) -> list[Contact]"
    assert read["promises"] == ["len(result) <= MOST_CONTACTS (MOST_CONTACTS = 50)"]
    assert send["signature"] == "send_mail(addr: str, name: str, text: str) -> None"
    assert send["demands"] == ["addr is an e-mail address", "there is a text"]
    assert send["module"] == "tools.mail.trusted.effects"


def test_contracts_rows_and_policies_are_told() -> None:
    offer = offered(load_layer(list(discover_trusted_roots(ROOTS)), ROOTS))
    signatures = [each["signature"] for each in offer["contracts"]]
    assert "only_to(addresses: list[str])" in signatures
    assert "to_contacts()" in signatures
    (row,) = offer["rows"]
    assert row["columns"] == {"name": "str", "email": "str", "mailing_list": "str"}
    assert row["module"] == "tools.mail.trusted.schemas"
    (policy,) = offer["policies"]
    assert policy["required"] == ["short_texts"]


def test_the_text_has_all_that_a_program_is_written_with() -> None:
    offer = offered(load_layer(list(discover_trusted_roots(ROOTS)), ROOTS))
    text = offer_text(offer)
    for each in (*offer["functions"], *offer["contracts"]):
        assert each["signature"] in text
        assert f"from {each['module']} import ..." in text
    assert "A program that uses send_mail must keep short_texts." in text
    assert set(offer["allowed"]["builtins"]) == set(BUILTINS)
    assert "open" not in offer["allowed"]["builtins"]
    assert all(f"{each['what']}: {each['instead']}" in text for each in offer["allowed"]["refused"])
