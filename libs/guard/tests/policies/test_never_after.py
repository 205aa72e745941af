"""A tool that is not called any more after certain other calls."""

from typing import Any

import pytest
from policy_walk import seen
from rehearsed_session import Rehearsal, guarded

from lictor_guard.errors import DefinitionError

TOOLS = [
    {"name": "read_file", "access": "read", "resources": ["path"]},
    {"name": "send_mail"},
    {"name": "fetch"},
    {"name": "shell"},
]
LABELS = [{"label": "secret", "tools": ["read_file"], "files": ["secrets/.*"]}]
INSIDE = {
    "kind": "never-after",
    "name": "secrets-stay-inside",
    "after": {"labels": ["secret"]},
    "tools": ["send_mail"],
    "unless": [{"param": "to", "allow": [r"[^@,;\s]+@example\.org"], "required": True}],
}
OFFLINE = {
    "kind": "never-after",
    "name": "no-shell-with-foreign-text",
    "after": {"tools": ["fetch"], "where": [{"param": "url", "deny": [r"^https://example\.org/"]}]},
    "tools": ["shell"],
}


def session(*policies: dict[str, Any]) -> Rehearsal:
    return Rehearsal(
        guarded(tools=TOOLS, labels=LABELS, policy_specs=policies or (INSIDE, OFFLINE))
    )


def read_secret(play: Rehearsal) -> None:
    play.call("read_file", params={"path": "secrets/a"}, resources=(seen("secrets/a"),))


def mail(play: Rehearsal, to: Any) -> str:
    return play.call("send_mail", params={"to": to}).decision


def test_before_the_secret_mail_goes_anywhere_and_after_it_stays_inside() -> None:
    play = session()
    assert mail(play, "eve@example.net") == "allow"
    read_secret(play)
    assert mail(play, "eve@example.net") == "deny"
    assert mail(play, "ann@example.org") == "allow"


@pytest.mark.parametrize(
    "to", [None, 7, [], ["ann@example.org", "eve@example.net"], "ann@example.org,eve@example.net"]
)
def test_what_is_not_surely_inside_is_outside(to: Any) -> None:
    play = session()
    read_secret(play)
    assert mail(play, to) == "deny"


def test_a_denial_names_the_earlier_call_and_what_would_help() -> None:
    play = session()
    read_secret(play)
    denial = play.call("send_mail", params={"to": "eve@example.net"}).denials[0]
    assert denial.policy_id == "secrets-stay-inside"
    assert denial.reason == (
        "parameter 'to' does not match '[^@,;\\s]+@example\\.org', which 'send_mail' needs since"
        " call 'c1' of 'read_file' at 2027-01-15T08:00:00+00:00 gave the session the label 'secret'"
    )
    assert denial.remedy == "give 'to' a value that matches '[^@,;\\s]+@example\\.org'"


def test_calls_of_a_tool_count_by_their_parameters() -> None:
    play = session()
    play.call("fetch", params={"url": "https://example.org/a"})
    assert play.call("shell").decision == "allow"
    play.call("fetch", params={"url": "https://example.net/a"})
    denial = play.call("shell").denials[0]
    assert "call 'c3' of 'fetch'" in denial.reason
    assert "report it to whoever runs you" in denial.remedy


def test_an_earlier_call_counts_while_it_runs() -> None:
    play = session()
    play.check("fetch", "f1", params={"url": "https://example.net/a"})
    assert "was allowed" in play.call("shell").denials[0].reason
    play.result("fetch", "f1", "denied")
    assert play.call("shell").decision == "allow"


def test_a_call_is_not_denied_for_itself() -> None:
    once = {
        "kind": "never-after",
        "name": "once",
        "after": {"tools": ["fetch"]},
        "tools": ["fetch"],
    }
    play = session(once)
    assert [play.check("fetch", "f1").decision for _ in range(2)] == ["allow", "allow"]
    assert play.check("fetch", "f2").decision == "deny"
    play.result("fetch", "f1")
    assert play.call("fetch").decision == "deny"


def test_two_calls_side_by_side_can_not_pass_each_other() -> None:
    exclusive = [
        {"kind": "never-after", "name": f"no-{two}", "after": {"tools": [one]}, "tools": [two]}
        for one, two in (("fetch", "shell"), ("shell", "fetch"))
    ]
    play = session(*exclusive)
    assert play.check("fetch").decision == "allow"
    assert play.check("shell").decision == "deny"


@pytest.mark.parametrize("change", ["restore", "reset"])
def test_it_is_not_forgotten(change: str) -> None:
    play = session()
    play.snapshot("begin")
    read_secret(play)
    play.call("fetch", params={"url": "https://example.net/a"})
    if change == "reset":
        play.reset()
    else:
        play.restore("begin")
    assert mail(play, "eve@example.net") == "deny"
    assert play.call("shell").decision == "deny"


@pytest.mark.parametrize(
    ("policy", "labels", "problem"),
    [
        ({"after": {}}, [], "looks back at nothing"),
        (
            {"after": {"labels": ["secrte"]}},
            LABELS,
            "no rule gives label secrte; did you mean secret?",
        ),
        ({"after": {"labels": ["secret"]}}, [], "no rule gives label secret"),
        ({"after": {"tools": ["fetsh"]}}, [], "fetsh is not a tool"),
        (
            {"after": {"labels": ["secret"], "where": [{"param": "a", "deny": ["x"]}]}},
            LABELS,
            "needs tools",
        ),
        ({"after": {"tools": ["fetch"]}, "tools": ["male"]}, [], "male is not a tool"),
        ({"after": {"tools": ["fetch"]}, "unless": [{"param": "to"}]}, [], "allows anything"),
        (
            {"after": {"tools": ["fetch"]}, "unless": [{"param": "to", "deny": ["("]}]},
            [],
            "can't be used",
        ),
        (
            {"after": {"tools": ["fetch"]}},
            [{"label": "x", "tools": ["shell"], "files": ["a"]}],
            "names no files",
        ),
        (
            {"after": {"tools": ["fetch"]}},
            [{"label": "x", "tools": ["shell"], "output": ["("]}],
            "can't be used",
        ),
    ],
)
def test_what_would_gate_nothing_is_refused(
    policy: dict[str, Any], labels: list[Any], problem: str
) -> None:
    spec = {"kind": "never-after", "name": "p", "tools": ["send_mail"], **policy}
    with pytest.raises(DefinitionError, match=problem.replace("?", r"\?")):
        guarded(tools=TOOLS, labels=labels, policy_specs=[spec])
