"""What is proved about rules over sequences holds of every session: random ones are played against it."""

from collections.abc import Sequence
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from policy_walk import seen, unresolved
from rehearsed_session import Rehearsal, guarded

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.errors import DefinitionError
from lictor_guard.session.rehearsal import RehearsedCall, denied_by
from lictor_prove.sequences.analysis import ForetoldCall, SequenceFinding, analyze

KEPT = "session/snapshot/"
NAMES = ["read", "one", "two", "three"]
TOOLS: list[Any] = [{"name": "read", "access": "read", "resources": ["path"]}, *NAMES[1:]]
VALUES = ["in", "out", "in.x", "", "s/a", "p/b", "null", "7"]
ODD = [7, None, [], ["in"], ["in", "out"], {"a": "in"}, True]

tool = st.sampled_from(NAMES)
pattern = st.sampled_from(
    ["in", "out", "in.*", "[a-z]*", "(?:.|\\n)*", "^in", r"\w+", "s/.*", r"[^/]+"]
)
rule = st.fixed_dictionaries(
    {
        "param": st.sampled_from(["to", "path"]),
        "allow": st.lists(pattern, max_size=2),
        "deny": st.lists(pattern, max_size=1),
        "required": st.booleans(),
    }
).filter(lambda each: bool(each["allow"] or each["deny"] or each["required"]))
rules = st.lists(rule, max_size=1)
policy = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("never-after"),
            "tools": tool.map(lambda name: [name]),
            "after": st.one_of(
                st.fixed_dictionaries({"tools": tool.map(lambda name: [name]), "where": rules}),
                st.just({"labels": ["secret"]}),
            ),
            "unless": rules,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("only-after"),
            "tools": tool.map(lambda name: [name]),
            "after": st.fixed_dictionaries(
                {"tools": tool.map(lambda name: [name]), "where": rules}
            ),
            "within_s": st.just(50),
            "unless": rules,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("parameters"),
            "tools": tool.map(lambda name: [name]),
            "rules": st.lists(rule, min_size=1, max_size=1),
        }
    ),
)
files = st.fixed_dictionaries(
    {
        "label": st.just("secret"),
        "tools": st.just(["read"]),
        "files": st.lists(pattern, max_size=1),
    }
)
answers = st.fixed_dictionaries(
    {
        "label": st.just("secret"),
        "tools": tool.map(lambda name: [name]),
        "where": rules,
        "output": st.sampled_from([[], ["key"]]),
    }
)
labels = st.lists(st.one_of(files, answers), min_size=1, max_size=2)
calls = st.tuples(
    st.just("call"),
    tool,
    st.dictionaries(st.sampled_from(["to", "path"]), st.sampled_from([*VALUES, *ODD])),
    st.sampled_from(["ok", "ok", "failed", "denied"]),
    st.sampled_from(["file", "missing", "directory", "lost", "not looked at"]),
    st.sampled_from([None, "key", "row"]),
)
sessions = st.lists(
    st.one_of(
        calls,
        calls,
        calls,
        st.sampled_from([("snapshot",), ("restore",), ("reset",), ("pass",)]),
    ),
    max_size=14,
)


def analyzed(compiled: Guarded) -> list[SequenceFinding]:
    def play(foretold: Sequence[ForetoldCall]) -> list[tuple[str, ...]]:
        return denied_by(compiled, [RehearsedCall(*each) for each in foretold])

    return analyze(compiled.definition, play, 2_000)


def resources(name: str, params: dict[str, Any], state: Any) -> tuple[Any, ...]:
    if name != "read" or state == "not looked at":
        return ()
    value = params.get("path")
    paths = [
        each
        for each in (value if isinstance(value, list) else [value])
        if isinstance(each, str) and each
    ]
    if state == "lost":
        return tuple(unresolved(each, "it loops") for each in paths)
    return tuple(seen(each, state=state) for each in paths)


@given(
    st.lists(policy, min_size=1, max_size=4),
    labels,
    st.lists(sessions, min_size=8, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_no_session_does_what_is_proved_impossible(
    policies: list[Any], given_labels: list[Any], played: list[list[Any]]
) -> None:
    named = [{**each, "name": f"p{number}"} for number, each in enumerate(policies)]
    try:
        compiled = guarded(tools=TOOLS, labels=given_labels, policy_specs=named)
    except DefinitionError:
        return
    found = {each.about: each.check for each in analyzed(compiled)}
    for check in sorted(set(found.values())):
        event(check)
    for script in played:
        play = Rehearsal(compiled)
        for number, step in enumerate(script):
            match step:
                case ("call", name, params, outcome, state, output):
                    files = resources(name, params, state)
                    answer = play.check(name, f"c{number}", params=params, resources=files)
                    against = tuple(each.policy_id for each in answer.denials)
                    for policy_id in against:
                        assert found.get(policy_id) != "never-fires", (script, found)
                        assert len(against) > 1 or found.get(policy_id) != "shadowed", (
                            script,
                            found,
                        )
                    if not against:
                        assert found.get(name) != "never-allowed", (script, found)
                        play.result(
                            name,
                            f"c{number}",
                            outcome,
                            params=params,
                            resources=files,
                            output=output,
                        )
                case ("snapshot",):
                    play.snapshot(f"s{number}")
                case ("restore",):
                    kept = [
                        each.removeprefix("session/snapshot/")
                        for each in play.stored
                        if "session/snapshot/" in each
                    ]
                    if kept:
                        play.restore(kept[0])
                case ("reset",):
                    play.reset()
                case _:
                    play.passing(40)
