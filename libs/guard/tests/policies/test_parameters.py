"""What the parameters of a tool may hold."""

import time
from typing import Any

import pytest
from policy_walk import Walk, seen, unresolved
from rehearsed_session import Rehearsal, guarded

from lictor_guard.errors import DefinitionError
from lictor_guard.policies.parameters import MAX_TEXTS, Parameters
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.session_questions import Resource
from lictor_schema.sessions.tool_policy import ParameterPatternSpec, ToolSpec

INSIDE = ("[^/].*",)


def policy(*rules: ParameterRule) -> Parameters:
    return Parameters(
        ParameterPatternSpec(kind="parameters", name="shape", tools=("Bash", "db_*"), rules=rules)
    )


def rule(param: str = "command", **options: Any) -> ParameterRule:
    return ParameterRule(param=param, **options)


def denials(params: dict[str, Any], *rules: ParameterRule, tool: str = "Bash") -> list[str]:
    session = Walk(policy(*rules))
    return [each.reason or "" for each in session.ask(session.call(tool, params))]


def refused(which: ParameterRule, value: Any, *files: Resource) -> list[str]:
    """What a rule on a parameter that names files has against a call."""
    tool = ToolSpec(name="Bash", access="write", resources=("path",))
    session = Walk(policy(which), tools=[tool])
    return [
        each.reason or "" for each in session.ask(session.call("Bash", {"path": value}, *files))
    ]


def test_a_denied_pattern_is_found_anywhere() -> None:
    forbids = rule(deny=(r"rm\s+-rf",))
    assert denials({"command": "ls; rm  -rf /"}, forbids) == [
        r"parameter 'command' holds what 'rm\s+-rf' forbids"
    ]
    assert denials({"command": "ls"}, forbids) == []


def test_an_allowed_pattern_must_match_the_whole_value() -> None:
    allows = rule(allow=("git (status|log)", "ls"))
    assert denials({"command": "git log"}, allows) == []
    for command in ("git log; rm x", "x git log", "git log\n", "lsx", ""):
        assert denials({"command": command}, allows) == [
            "parameter 'command' does not match 'git (status|log)' and 'ls'"
        ]


@pytest.mark.parametrize("pattern", ["a)|(?:b", "(a", "a{5,1}", "(?=a)b", r"(a)\1", "[z-a]"])
def test_a_pattern_that_is_none_is_refused_when_it_is_loaded(pattern: str) -> None:
    with pytest.raises(DefinitionError, match=r"rule for parameter 'command': pattern .* can't be"):
        policy(rule(allow=(pattern,)))


def test_flags_of_a_pattern_do_not_reach_the_anchors() -> None:
    assert denials({"command": "a\nb"}, rule(allow=("(?m)^a$",)))
    with pytest.raises(DefinitionError):
        policy(rule(allow=("(?x)a # comment",)))


def test_only_the_tools_that_are_named_are_gated() -> None:
    forbids = rule(deny=("x",))
    assert denials({"command": "x"}, forbids, tool="Read") == []
    assert denials({"command": "x"}, forbids, tool="db_query")


def test_a_required_parameter_must_be_there() -> None:
    needs = rule(required=True)
    for params in ({}, {"command": None}):
        assert denials(params, needs) == ["parameter 'command' is missing"]
    assert denials({"command": ""}, needs) == []


def test_a_parameter_that_is_not_required_may_be_left_out() -> None:
    assert denials({}, rule(allow=("a",))) == []


@pytest.mark.parametrize(
    ("value", "pattern"),
    [(5, "[0-9]+"), (True, "true"), (1.5, r"1\.5"), (None, "null"), ([1, "a"], r'\[1,"a"\]')],
)
def test_a_value_that_is_no_text_is_matched_as_its_json(value: Any, pattern: str) -> None:
    assert denials({"command": value}, rule(allow=(pattern,))) == []
    assert denials({"command": value}, rule(allow=("other",)))


def test_the_keys_of_an_object_are_matched_in_order() -> None:
    assert denials({"command": {"b": 1, "a": 2}}, rule(allow=(r'\{"a":2,"b":1\}',))) == []


def test_escaping_hides_nothing_from_a_denied_pattern() -> None:
    forbids = rule(deny=(r"^rm\s-rf",))
    for value in (["ls", "rm\n-rf"], {"run": {"rm\t-rf": 1}}, [[{"a": ["rm -rf"]}]]):
        assert denials({"command": value}, forbids)


def test_a_rule_reaches_into_objects_and_lists() -> None:
    inner = rule("edits.text", deny=("secret",))
    assert denials({"edits": {"text": "secret"}}, inner)
    assert denials({"edits": [{"text": "ok"}, {"text": "a secret"}]}, inner)
    assert denials({"edits": [{"text": "ok"}, {"other": "secret"}]}, inner) == []
    assert denials({"edits.text": "secret"}, inner)
    assert denials({"edits.text": "ok", "edits": {"text": "secret"}}, inner)


def test_a_required_parameter_must_be_in_every_item() -> None:
    needs = rule("edits.text", required=True)
    assert denials({"edits": [{"text": "a"}]}, needs) == []
    assert denials({"edits.text": "a"}, needs) == []
    for params in ({"edits": [{"text": "a"}, {}]}, {"edits": {}}, {}):
        assert denials(params, needs) == ["parameter 'edits.text' is missing"]


def test_an_object_that_comes_as_text_is_denied() -> None:
    inner = rule("edits.text", deny=("secret",))
    (reason,) = denials({"edits": '[{"text": "secret"}]'}, inner)
    assert "can't be looked at" in reason


def test_every_broken_rule_is_told_with_its_remedy() -> None:
    session = Walk(policy(rule(deny=("x",), remedy="say y"), rule("to", required=True)))
    (denial,) = session.ask(session.call("Bash", {"command": "x"}))
    assert denial.reason == "parameter 'command' holds what 'x' forbids; parameter 'to' is missing"
    assert denial.remedy == "say y; give 'to'"


def test_the_value_itself_is_not_repeated() -> None:
    (reason,) = denials({"command": "hunter2 x"}, rule(deny=("x",)))
    assert "hunter2" not in reason


def test_half_a_character_is_denied() -> None:
    (reason,) = denials({"command": "rm \ud800"}, rule(deny=("rm",)))
    assert "can't be checked" in reason


@pytest.mark.parametrize("pattern", ["(a+a+)+b", "(a|aa)+b", "(.*)*b", r"(\w|\w\w)*-"])
def test_five_megabytes_are_matched_at_once_whatever_the_pattern(pattern: str) -> None:
    value = "a" * 5_000_000
    begun = time.process_time()
    assert denials({"command": value}, rule(deny=(pattern,))) == []
    assert denials({"command": value}, rule(allow=(pattern,)))
    assert time.process_time() - begun < 5


def test_a_counted_repetition_is_not_let_loose_on_a_long_text() -> None:
    bomb = rule(deny=("a.{400}c",))
    assert denials({"command": "ab" * 10_000}, bomb) == []
    begun = time.process_time()
    (reason,) = denials({"command": "ab" * 2_500_000}, bomb)
    assert time.process_time() - begun < 5
    assert "5000000 characters are too many" in reason


def test_repetitions_within_each_other_multiply() -> None:
    for pattern in ("(a.{40}){10}c", "(?x)(a.{40}) {10}c"):
        assert denials({"command": "ab" * 10_000}, rule(deny=(pattern,))) == []
        (reason,) = denials({"command": "ab" * 100_000}, rule(deny=(pattern,)))
        assert "takes at most 20000" in reason


@pytest.mark.parametrize(
    "pattern",
    ["a" + "[ab]" * 490 + "c", "a" + "(?:a|b)" * 100 + "c", "a" + "a?b?" * 100 + "c", "a.{60}c"],
)
def test_places_written_out_weigh_as_much_as_counted_ones(pattern: str) -> None:
    bomb = rule(deny=(pattern,))
    assert denials({"command": "ab" * 5_000}, bomb) == []
    (reason,) = denials({"command": "ab" * 500_000}, bomb)
    assert "1000000 characters are too many" in reason


def test_loose_places_in_a_repeated_group_count_as_often_as_it_is_repeated() -> None:
    """Else a pattern of a hundred words held up every session of the service for seconds."""
    words = rule(deny=(r"(\w+\s?){100}!",))
    assert denials({"command": "word " * 4_000}, words) == []
    (reason,) = denials({"command": "word " * 4_001}, words)
    assert "takes at most 20000" in reason


def test_what_opens_a_group_and_what_is_escaped_weighs_nothing() -> None:
    light = r"(?i)(?P<verb>get|put)(?:/a)\.\*\+\?\|\[x\.\.\.\.\.\x{41}\p{L}"
    assert denials({"command": "a" * 5_000_000}, rule(deny=(light,))) == []


def test_all_patterns_of_a_call_share_its_work() -> None:
    forbids = rule(deny=tuple(f"x{number}" for number in range(60)))
    assert denials({"command": "a" * 500_000}, forbids) == []
    (reason,) = denials({"command": "a" * 3_000_000}, forbids)
    assert "more than can be matched with all patterns in time" in reason
    assert denials({"command": ["a"] * 8_000}, rule(deny=tuple("bcdefghijk" * 6))) == []
    many = [rule(f"p{number}", deny=tuple("bcdefghijk" * 6)) for number in range(4)]
    (reason,) = denials({each.param: ["a"] * 8_000 for each in many}, *many)
    assert "more than can be matched" in reason


def test_policies_that_gate_one_tool_share_the_work_of_a_call() -> None:
    def spec(name: str, tool: str) -> dict[str, Any]:
        forbids = {"param": "x", "deny": [f"x{number}" for number in range(30)]}
        return {"kind": "parameters", "name": name, "tools": [tool], "rules": [forbids]}

    alone = guarded(
        tools=("run_a", "run_b"), policy_specs=(spec("one", "run_a"), spec("two", "run_b"))
    )
    beside = guarded(
        tools=("run_a", "run_b"), policy_specs=(spec("one", "run_a"), spec("two", "run_*"))
    )
    params = {"x": "a" * 3_000_000}
    assert Rehearsal(alone).check("run_a", params=params).decision == "allow"
    assert len(Rehearsal(beside).check("run_a", params=params).denials) == 2


def test_more_texts_than_can_be_matched_in_time_are_denied() -> None:
    many = ["a"] * (MAX_TEXTS + 5)
    (reason,) = denials({"command": many}, rule(deny=("b",)))
    assert "more than" in reason
    (reason,) = denials({"command": [{"x": each} for each in many]}, rule("command.x", deny=("b",)))
    assert "more than" in reason


def test_a_rule_on_a_path_judges_the_file_and_not_its_spelling() -> None:
    forbids = rule("path", deny=(r"(^|/)\.lictor(/|$)",))
    for given in ("endpoints.json", "docs/endpoints.json", ".lictor//endpoints.json"):
        (reason,) = refused(forbids, given, seen(given, ".lictor/endpoints.json"))
        assert "forbids" in reason
    assert refused(forbids, "a.py", seen("a.py")) == []


def test_a_denied_spelling_of_a_harmless_file_is_denied_too() -> None:
    assert refused(rule("path", deny=("secret",)), "secret/x", seen("secret/x", "public/x"))


def test_an_allowed_pattern_matches_the_file_alone() -> None:
    inside = rule("path", allow=INSIDE)
    assert refused(inside, "/srv/a.py", seen("/srv/a.py", "a.py")) == []
    (reason,) = refused(inside, "notes.md", seen("notes.md", "/etc/passwd"))
    assert "does not match" in reason


def test_a_path_whose_file_is_not_known_is_denied() -> None:
    for which in (rule("path", allow=INSIDE), rule("path", deny=("x",))):
        (reason,) = refused(which, "a.py", unresolved("a.py", "its links lead in a circle"))
        assert "its links lead in a circle" in reason
        for value in ("a.py", 5, {"a": 1}, ["b.py", "a.py"], ["b.py", 5]):
            (reason,) = refused(which, value, seen("b.py"), seen("a.py", param="other"))
            assert "which file it means is not known" in reason
        (reason,) = refused(which, [])
        assert "names no file" in reason


def test_every_path_of_a_list_must_pass() -> None:
    inside = rule("path", allow=INSIDE, deny=("secret",))
    assert refused(inside, ["a", "b"], seen("a"), seen("b")) == []
    assert refused(inside, ["a", "b"], seen("a"), seen("b", "/b"))
    assert refused(inside, ["a", "b"], seen("a"), seen("b", "secret"))


def test_a_path_that_is_left_out_names_no_file() -> None:
    assert refused(rule("path", allow=("null",)), None) == []
    assert refused(rule("path", required=True), None) == ["parameter 'path' is missing"]
