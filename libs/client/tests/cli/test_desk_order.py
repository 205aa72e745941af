"""Orders at a desk: which service has which, and what every command that gives one does alike."""

import getpass

import pytest

from lictor.desk_orders import DESKS
from lictor_bus.names.roles import roles
from lictor_cli.desk_order import is_as_looked_at, user_name
from lictor_cli.main import FAILED, main


def test_every_desk_is_of_the_service_that_listens_there() -> None:
    desks = {
        subject.removeprefix("lictor.desk."): role.user
        for role in roles()
        for subject in role.subscribe
        if subject.startswith("lictor.desk.")
    }
    assert desks == DESKS


@pytest.mark.parametrize(
    ("text", "by", "field"), [("", "ada", "text"), ("nobody is refunded twice", "", "authority")]
)
def test_a_field_that_an_operator_got_wrong_is_named(
    text: str, by: str, field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claim", "add", "once", text, "--subject", "refund", "--by", by]) == FAILED
    told = capsys.readouterr().err
    assert told.startswith(f"lictor: {field}: ")
    assert told.endswith(".\n")


def test_a_user_without_a_name_is_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4242")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert (user_name(), user_name("ada")) == ("operator", "ada")


def test_only_another_hash_than_the_one_looked_at_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert is_as_looked_at(None, "b", "it is b now")
    assert is_as_looked_at("b", "b", "it is b now")
    assert capsys.readouterr().err == ""
    assert not is_as_looked_at("a", "b", "it is b now")
    assert capsys.readouterr().err == "lictor: it is b now; look at it again.\n"
