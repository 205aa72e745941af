"""What holds for any policies together: more of them never allow more, and their order tells nothing."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from policy_walk import seen
from rehearsed_session import Rehearsal, Scripted, guarded

from lictor_guard.plugins.tool_policy import PolicyDecision
from lictor_schema.sessions.session_questions import Denial

TOOLS = [
    {"name": "read_file", "access": "read", "resources": ["path"]},
    {"name": "write_file", "access": "write", "resources": ["path"]},
    *({"name": name} for name in ("edit", "test", "deploy", "fetch")),
]
NAMES = [str(each["name"]) for each in TOOLS]
OUTCOMES = st.sampled_from(["ok", "ok", "failed", "crashed"])

POLICIES: list[dict[str, Any]] = [
    {"kind": "sequential-dependency", "requires": {"deploy": ["test"]}},
    {
        "kind": "sequential-dependency",
        "requires": {"deploy": ["test"], "fetch": ["edit"]},
        "invalidated_by": {"test": ["edit", "write_file"]},
    },
    {"kind": "read-before-write"},
    {"kind": "rate-limit", "tools": ["fetch", "deploy"], "limit": 2, "window_s": 60},
    {"kind": "rate-limit", "tools": ["test"], "limit": 1, "window_s": 10},
    {
        "kind": "parameters",
        "tools": ["write_file"],
        "rules": [{"param": "path", "deny": ["secret"]}],
    },
    {"kind": "time-window", "tools": ["deploy"], "begins": "00:00", "ends": "08:05"},
]
policies = st.lists(st.sampled_from(POLICIES), max_size=4).map(
    lambda parts: [{**part, "name": f"policy-{n}"} for n, part in enumerate(parts)]
)


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, dict[str, Any], tuple[Any, ...], Any, int]:
    """A call, how it would end, and how long after the one before it is made."""
    tool = draw(st.sampled_from(NAMES))
    files: tuple[Any, ...] = ()
    if tool.endswith("_file"):
        path = draw(st.sampled_from(["a", "b", "secret"]))
        files = (seen(path, content=draw(st.sampled_from("xy"))),)
    params = {each.param: each.given for each in files}
    return tool, params, files, draw(OUTCOMES), draw(st.integers(0, 40))


histories = st.lists(steps(), min_size=1, max_size=25)


def session(given_policies: list[Any]) -> Rehearsal:
    return Rehearsal(guarded(tools=TOOLS, policy_specs=given_policies))


def denials_of(play: Rehearsal, step: Any, call_id: str) -> list[Denial]:
    tool, params, files, _, later = step
    play.passing(later)
    return list(play.check(tool, call_id, params=params, resources=files).denials)


def live_through(play: Rehearsal, step: Any, call_id: str) -> None:
    tool, params, files, outcome, _ = step
    play.result(tool, call_id, outcome, params=params, resources=files)


@given(given_policies=policies, extra=st.sampled_from(POLICIES), history=histories)
@settings(max_examples=60, deadline=None)
def test_another_policy_can_only_tighten(
    given_policies: list[Any], extra: dict[str, Any], history: list[Any]
) -> None:
    """At every point of one and the same history, what more policies allow, fewer allow too."""
    fewer = session(given_policies)
    more = session([*given_policies, {**extra, "name": "policy-extra"}])
    for number, step in enumerate(history):
        call_id = f"call-{number}"
        against, against_with_more = (denials_of(play, step, call_id) for play in (fewer, more))
        assert not against or against_with_more
        # Whatever was said, both sessions live through the same: the call is made, or it is not.
        if not against:
            live_through(fewer, step, call_id)
            live_through(more, step, call_id)


@given(given_policies=policies, history=histories, seed=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_policies_never_changes_the_verdict(
    given_policies: list[Any], history: list[Any], seed: Any
) -> None:
    shuffled = list(given_policies)
    seed.shuffle(shuffled)
    plays = (session(given_policies), session(shuffled))
    for number, step in enumerate(history):
        call_id = f"call-{number}"
        one, other = (denials_of(play, step, call_id) for play in plays)
        assert sorted(one, key=policy_of) == sorted(other, key=policy_of)
        if not one:
            for play in plays:
                live_through(play, step, call_id)


@given(given_policies=policies, history=histories)
@example(
    given_policies=[{**POLICIES[0], "name": "order"}, {**POLICIES[4], "name": "rate"}],
    history=[(tool, {}, (), "ok", 0) for tool in ("test", "test", "deploy")],
)
@settings(max_examples=60, deadline=None)
def test_a_policy_says_in_company_what_it_says_alone(
    given_policies: list[Any], history: list[Any]
) -> None:
    """Scenario 142: no policy sees the facts of another, of its own kind or not."""
    together = session(given_policies)
    alone = [session([each]) for each in given_policies]
    for number, step in enumerate(history):
        call_id = f"call-{number}"
        before = [(dict(play.stored), list(play.log)) for play in alone]
        said_alone = [denial for play in alone for denial in denials_of(play, step, call_id)]
        assert denials_of(together, step, call_id) == said_alone
        if not said_alone:
            for play in (together, *alone):
                live_through(play, step, call_id)
            continue
        # A denied call is not made, so who would have allowed it must not have counted it.
        for play, (stored, log) in zip(alone, before, strict=True):
            play.stored, play.log = stored, log


def policy_of(denial: Denial) -> str:
    return denial.policy_id


def against(name: str) -> Scripted:
    decision = PolicyDecision.deny(f"{name} is against it", f"ask {name}")
    return Scripted(name, lambda _: decision)


def failing(_: object) -> PolicyDecision:
    raise RuntimeError("it broke")


def test_all_who_are_against_a_call_are_heard() -> None:
    """Scenario 34: a denial stops the call, with the reasons of everybody who denies."""
    play = Rehearsal(guarded(tools=NAMES, policies=[against("one"), against("two")]))
    answer = play.check("edit")
    assert answer.decision == "deny"
    assert [each.policy_id for each in answer.denials] == ["one", "two"]
    assert answer.reason == "one is against it; two is against it"
    assert answer.remedy == "ask one; ask two"


def test_a_policy_that_raises_denies_and_the_others_are_heard() -> None:
    play = Rehearsal(guarded(tools=NAMES, policies=[Scripted("broken", failing), against("two")]))
    answer = play.check("edit")
    assert [each.policy_id for each in answer.denials] == ["broken", "two"]
    assert "RuntimeError: it broke" in answer.denials[0].reason
    assert play.kinds[-1] == "call_denied"


def test_a_call_that_all_allow_is_made_and_its_result_is_heard_once() -> None:
    """Scenarios 35 and 36: an allowed call runs, and its success is reported to the policy once."""
    policy = Scripted("one")
    play = Rehearsal(guarded(tools=NAMES, policies=[policy]))
    assert play.check("edit", "call-1").decision == "allow"
    for _ in range(3):
        play.result("edit", "call-1")
    assert policy.heard == ["call-1"]


def test_a_denied_call_is_no_result() -> None:
    """Scenario 37: after a denial, no result reaches the policies."""
    policy = against("one")
    play = Rehearsal(guarded(tools=NAMES, policies=[policy]))
    play.check("edit")
    assert policy.heard == []


def test_a_denial_is_one_entry_with_its_reasons() -> None:
    """Scenario 38: one denied call is logged once, with the reason."""
    play = Rehearsal(guarded(tools=NAMES, policies=[against("one")]))
    for _ in range(2):
        play.check("edit", "call-1")
    (entry,) = [each for _, each in play.log if each.kind == "call_denied"]
    assert [each.reason for each in entry.denials] == ["one is against it"]


def test_without_policies_a_call_is_made() -> None:
    """Scenario 39: given no policies, the call runs."""
    assert Rehearsal(guarded(tools=NAMES)).check("edit").decision == "allow"


def test_a_policy_hears_of_tools_of_other_sections() -> None:
    """A dependency on another section's tool must not wait for ever."""
    order = {"kind": "sequential-dependency", "name": "order", "requires": {"deploy": ["build"]}}
    play = Rehearsal(
        guarded(
            sections=[
                {"name": "build", "tools": [{"name": "build"}]},
                {"name": "ship", "tools": [{"name": "deploy"}], "policies": [order]},
            ]
        )
    )
    assert play.call("deploy").decision == "deny"
    play.call("build")
    assert play.call("deploy").decision == "allow"


def test_an_allowing_decision_has_no_reason() -> None:
    """Scenario 1: `allow()` is allowed and gives no reason."""
    decision = PolicyDecision.allow()
    assert decision.allowed
    assert decision.reason is None


def test_a_denying_decision_keeps_its_reason_and_remedy() -> None:
    """Scenario 2: `deny` keeps the reason; ours must say what would help, too."""
    decision = PolicyDecision.deny("no tests", "run test")
    assert (decision.allowed, decision.reason, decision.remedy) == (False, "no tests", "run test")
    with pytest.raises(ValueError, match="needs a reason and a remedy"):
        PolicyDecision.deny("no tests", "")


def test_a_decision_can_not_be_changed() -> None:
    """Scenario 3: assigning a field of a decision is refused."""
    decision = PolicyDecision.deny("no tests", "run test")
    with pytest.raises(AttributeError):
        decision.allowed = True  # pyright: ignore[reportAttributeAccessIssue]
