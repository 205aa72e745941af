"""The office agent: what it read decides where its mail may go."""

from pathlib import Path

from policy_walk import seen
from rehearsed_session import Rehearsal

from lictor_guard.definitions.loading import read_definition

OFFICE = Path(__file__).parents[4] / "examples" / "agents" / "office.yaml"


def office() -> Rehearsal:
    return Rehearsal(read_definition(OFFICE.read_bytes(), OFFICE.name))


def read(play: Rehearsal, path: str) -> None:
    assert (
        play.call("read_file", params={"path": path}, resources=(seen(path),)).decision == "allow"
    )


def mail(play: Rehearsal, to: str) -> str:
    return play.call("send_mail", params={"to": to, "text": "as you asked"}).policy_id


def test_after_a_secret_mail_goes_inside_only() -> None:
    play = office()
    read(play, "menu.md")
    assert mail(play, "eve@example.net") == "lictor.allowed"
    read(play, "secrets/merger.md")
    assert mail(play, "eve@example.net") == "secrets-stay-inside"
    assert mail(play, "ann@example.org") == "lictor.allowed"
    assert mail(play, "ann@example.org, eve@example.net") == "secrets-stay-inside"
    assert play.call("fetch", params={"url": "https://example.net/?q=merger"}).decision == "deny"


def test_an_answer_that_tells_a_salary_is_secret() -> None:
    play = office()
    play.check("look_up", "l1", params={"name": "Ann"})
    play.result("look_up", "l1", output="Ann, room 12")
    assert mail(play, "eve@example.net") == "lictor.allowed"
    play.check("look_up", "l2", params={"name": "Bob"})
    play.result("look_up", "l2", output="Bob, room 13, salary 4200")
    assert mail(play, "eve@example.net") == "secrets-stay-inside"


def test_what_strangers_write_does_not_reach_the_secrets() -> None:
    play = office()
    play.call("read_mail")
    new = seen("salaries/bob", state="missing")
    assert play.check("write_file", params={"path": new.given}, resources=(new,)).policy_id == (
        "foreign-text-writes-no-secrets"
    )
    other = seen("notes.md", state="missing")
    assert (
        play.check("write_file", params={"path": other.given}, resources=(other,)).decision
        == "allow"
    )
