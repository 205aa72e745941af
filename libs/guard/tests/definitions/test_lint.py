"""What a definition can get wrong: every mistake names its place, and all are told together."""

from typing import Any

import pytest
from pydantic import ValidationError

from lictor_guard.definitions.compiled_definition import compile_definition
from lictor_guard.definitions.lint_warnings import definition_doubts
from lictor_guard.errors import DefinitionError
from lictor_guard.facts.session_facts import RECENT_CALLS
from lictor_guard.plugins.installed import Plugins
from lictor_schema.sessions.agent_definition import AgentDefinition, LoopFeedbackSpec

READ = {"name": "read", "access": "read", "resources": ["path"]}
WRITE = {"name": "write", "access": "write", "resources": ["path"]}
TOOLS = [READ, WRITE, {"name": "test"}, {"name": "build"}, {"name": "deploy"}, {"name": "mcp__*"}]


def definition(**parts: Any) -> AgentDefinition:
    document = {
        "apiVersion": "lictor/v1",
        "kind": "AgentDefinition",
        "metadata": {"name": "coder", "version": "1"},
        "tools": TOOLS,
        **parts,
    }
    return AgentDefinition.model_validate(document, strict=False)


def problems(**parts: Any) -> list[str]:
    try:
        compile_definition(definition(**parts), Plugins())
    except DefinitionError as error:
        return str(error).splitlines()
    return []


def policy(kind: str, name: str = "p", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, **fields}


def requiring(requires: dict[str, list[str]], name: str = "p", **fields: Any) -> dict[str, Any]:
    return policy("sequential-dependency", name, requires=requires, **fields)


def completed_by(**checker: Any) -> dict[str, Any]:
    return {"checker": checker}


def static(name: str = "s", **trigger: Any) -> dict[str, Any]:
    return {"kind": "static", "name": name, "trigger": trigger, "text": "go on"}


@pytest.mark.parametrize(
    "parts",
    [
        {"deadline_s": 315_360_001},
        {"feedback": [static(every_n_seconds=9_000_000_000)]},
        {"feedback": [{**static(every_n_calls=1), "kind": "deadline", "warn_s": 315_360_001}]},
    ],
)
def test_a_length_of_time_beyond_ten_years_is_refused(parts: dict[str, Any]) -> None:
    """Counted from now, it would end at a time that no entry of a session can tell."""
    with pytest.raises(ValidationError, match="less than or equal to 315360000"):
        definition(**parts)


LIMIT = policy("rate-limit", tools=["test"], limit=3, window_s=60)
WINDOW = policy("time-window", tools=["test"], begins="08:00", ends="18:00")
SECTION = {"name": "files", "tools": [READ, WRITE]}
REST = {"tools": [{"name": "test"}]}

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"metadata": {"name": "a", "version": "  "}}, "metadata.version: is blank"),
    ({"workspace": {"mounts": ["work"]}}, "workspace.mounts[0]: must be an absolute path"),
    ({"workspace": {"mounts": ["/"]}}, "workspace.mounts[0]: is the file system's root"),
    ({"workspace": {"mounts": ["//./"]}}, "workspace.mounts[0]: is the file system's root"),
    ({"workspace": {"mounts": ["/a/../b"]}}, "workspace.mounts[0]: goes up with `..`"),
    ({"workspace": {"mounts": ["/a", "/b", "/a/c"]}}, "workspace.mounts[2]: lies in another mount"),
    ({"workspace": {"mounts": ["/a/c", "//a/"]}}, "workspace.mounts[1]: lies in another mount"),
    ({"tools": [{"name": "w", "access": "write"}]}, "tools[0].resources: is missing"),
    ({"tools": [{"name": "w", "resources": ["p"]}]}, "tools[0].access: is none, but resources"),
    ({"tools": [*TOOLS, {"name": "test"}]}, "tools[6].name: test stands in the definition's tools"),
    ({"sections": [SECTION]}, "sections[0].tools[0].name: read stands in the definition's tools"),
    ({**REST, "sections": [SECTION, SECTION]}, "sections[1].name: another section is named files"),
    (
        {"sections": [SECTION, {"name": "b", "tools": [{"name": "read"}]}], **REST},
        "sections[1].tools[0]: read stands in section files too, but with other access",
    ),
    ({"policies": [LIMIT, LIMIT]}, "policies[1].name: another policy is named p already"),
    (
        {
            **REST,
            "sections": [{**SECTION, "policies": [policy("read-before-write")]}],
            "policies": [LIMIT],
        },
        "policies[0].name: another policy is named p already",
    ),
    ({"policies": [{**LIMIT, "name": "lictor.x"}]}, "policies[0].name: begins with lictor."),
    ({"policies": [{**LIMIT, "tools": ["tset"]}]}, "policies[0].tools[0]: tset is not a tool"),
    (
        {"policies": [{**LIMIT, "tools": ["test", "Deploy"]}], "other_tools": "allow"},
        "policies[0].tools[1]: Deploy is not a tool of this definition; did you mean deploy?",
    ),
    ({"policies": [{**LIMIT, "tools": ["x*"]}]}, "policies[0].tools[0]: x* is not a tool"),
    ({"policies": [requiring({"dploy": ["test"]})]}, "policies[0].requires.dploy: dploy is not"),
    (
        {"policies": [requiring({"deploy": ["test", "tst"]})]},
        "policies[0].requires.deploy[1]: tst is not a tool of this definition; did you mean test?",
    ),
    (
        {"policies": [requiring({"deploy": ["deploy"]})]},
        "policies[0].requires.deploy[0]: deploy requires itself",
    ),
    (
        {"policies": [requiring({"deploy": ["test"], "test": ["build"], "build": ["deploy"]})]},
        "build requires deploy requires test requires build",
    ),
    (
        {
            "policies": [requiring({"a": ["b"]}), requiring({"b": ["a"]}, "q")],
            "tools": [{"name": "a"}, {"name": "b"}],
        },
        "policies[0].requires.a[0]: is a circle, so none of these could ever be called: a requires"
        " b requires a",
    ),
    (
        {"policies": [requiring({"mcp__*": ["mcp__*"]})]},
        "policies[0].requires.mcp__*[0]: mcp__* requires itself",
    ),
    (
        {"policies": [requiring({"mcp__*": ["test"], "test": ["mcp__login"]})]},
        "test requires mcp__login requires test",
    ),
    (
        {"policies": [requiring({"deploy": ["test"]}, invalidated_by={"build": ["write"]})]},
        "policies[0].invalidated_by.build: has no effect: nothing here requires build",
    ),
    (
        {"policies": [requiring({"deploy": ["test"]}, invalidated_by={"test": ["test"]})]},
        "policies[0].invalidated_by.test[0]: a run of test is a run of test",
    ),
    (
        {
            "policies": [
                requiring(
                    {"deploy": ["build", "test"]},
                    invalidated_by={"build": ["test"], "test": ["build"]},
                )
            ]
        },
        "policies[0].requires.deploy[1]: build and test make each other stale",
    ),
    (
        {**REST, "sections": [{**SECTION, "policies": [LIMIT]}]},
        "sections[0].policies[0].tools[0]: test is not in section files, so this policy would not",
    ),
    (
        {**REST, "sections": [{**SECTION, "policies": [requiring({"test": ["read"]})]}]},
        "sections[0].policies[0].requires.test: test is not in section files",
    ),
    (
        {"tools": [READ], "policies": [policy("read-before-write")]},
        "policies[0]: gates nothing: no tool that it gates has access write",
    ),
    (
        {"policies": [policy("parameters", tools=["test"], rules=[{"param": "a"}])]},
        "policies[0].rules[0]: allows anything",
    ),
    (
        {
            "policies": [
                policy(
                    "parameters", tools=["test"], rules=[{"param": "a", "deny": ["ok", "(a)\\1"]}]
                )
            ]
        },
        "policies[0].rules[0].deny[1]: pattern '(a)\\1' can't be used: backreferences",
    ),
    (
        {
            "policies": [
                policy(
                    "parameters", tools=["test"], rules=[{"param": "a", "allow": ["(a{999}){999}"]}]
                )
            ]
        },
        "policies[0].rules[0].allow[0]: pattern '(a{999}){999}' can't be used",
    ),
    ({"policies": [{**WINDOW, "ends": "08:00"}]}, "policies[0].ends: is the same as begins"),
    ({"policies": [{**WINDOW, "timezone": "Mars/X"}]}, "policies[0].timezone: 'Mars/X' is not"),
    ({"policies": [{**WINDOW, "timezone": "../etc"}]}, "policies[0].timezone: '../etc' is not"),
    ({"policies": [{**WINDOW, "days": ["mon", "mon"]}]}, "policies[0].days[1]: mon is given twice"),
    ({"feedback": [static()]}, "feedback[0].trigger: never fires"),
    (
        {"feedback": [static(every_n_calls=1), static(every_n_calls=2)]},
        "feedback[1].name: another provider is named s already",
    ),
    (
        {
            "feedback": [
                {
                    "kind": "repeated-calls",
                    "name": "r",
                    "trigger": {"every_n_calls": 1},
                    "window": 3,
                    "repeats": 4,
                }
            ]
        },
        "feedback[0].repeats: is 4, but window looks at 3 calls only",
    ),
    ({"completion": completed_by(kind="any-of", checkers=[])}, "completion.checker.checkers: is"),
    (
        {"completion": completed_by(kind="evidence", quality="none")},
        "completion.checker.quality: is none",
    ),
    (
        {"completion": completed_by(kind="verification", name="v", tool="tests")},
        "completion.checker.tool: tests is not a tool of this definition; did you mean test?",
    ),
    (
        {
            "completion": completed_by(
                kind="verification", name="v", tool="test", stale_after=["write", "test"]
            )
        },
        "completion.checker.stale_after: names test itself",
    ),
    (
        {"completion": completed_by(kind="verification", name="v", tool="test", matches="a")},
        "completion.checker.matches: needs param",
    ),
    (
        {
            "completion": completed_by(
                kind="all-of",
                checkers=[
                    {"kind": "verification", "name": "v", "tool": "test"},
                    {
                        "kind": "any-of",
                        "checkers": [{"kind": "verification", "name": "v", "tool": "build"}],
                    },
                ],
            )
        },
        "completion.checker.checkers[1].checkers[0].name: another checker is named v already",
    ),
    ({"budgets": {"cost_usd": "0.00"}}, "budgets.cost_usd: is 0.00"),
    ({"budgets": {"cost_usd": "-1"}}, "budgets.cost_usd: is -1"),
    ({"budgets": {"cost_usd": "0.1234567"}}, "budgets.cost_usd: is 0.1234567; money is counted"),
    (
        {"policies": [policy("plugin", plugin="nowhere")]},
        "policies[0].plugin: no installed package has the policy 'nowhere'; known are none",
    ),
]


@pytest.mark.parametrize(("parts", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_a_mistake_is_an_error_that_names_its_place(parts: dict[str, Any], told: str) -> None:
    """Scenario 147: mistakes in a definition."""
    found = problems(**parts)
    assert any(told in line for line in found), found


def test_all_mistakes_are_told_together() -> None:
    found = problems(
        policies=[{**LIMIT, "tools": ["tset"]}, {**WINDOW, "name": "w", "timezone": "nowhere"}],
        feedback=[static()],
        completion=completed_by(kind="any-of", checkers=[]),
    )
    assert [line.partition(":")[0] for line in found] == [
        "policies[0].tools[0]",
        "policies[1].timezone",
        "feedback[0].trigger",
        "completion.checker.checkers",
    ]


ASKS = {"kind": "require-approval", "name": "asks", "tools": ["test"]}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tools": ["tset"]}, "policies[0].tools[0]: tset is not a tool of this definition"),
        ({"unless": [{"param": "n"}]}, "policies[0].unless[0]: allows anything"),
        ({"unless": [{"param": "n", "allow": ["("]}]}, "policies[0].unless[0].allow[0]"),
        ({"approvers": ["ann", "ann"]}, "policies[0].approvers[1]: ann is given twice"),
        ({"remember": ["rule", "rule"]}, "policies[0].remember[1]: rule is given twice"),
    ],
)
def test_a_mistake_in_a_policy_that_asks_people_names_its_place(
    changes: dict[str, Any], told: str
) -> None:
    found = problems(policies=[{**ASKS, **changes}])
    assert any(line.startswith(told) for line in found), found


@pytest.mark.parametrize("bad", [0, -1])
@pytest.mark.parametrize("field", ["every_n_calls", "every_n_seconds"])
def test_a_trigger_needs_a_number_above_zero(field: str, bad: int) -> None:
    """Scenario 147: mistakes in a definition."""
    with pytest.raises(ValueError, match=f"feedback.0.static.trigger.{field}"):
        definition(feedback=[static("s", **{field: bad})])


@pytest.mark.parametrize("bad", ["", "two words", "a*b", "*"])
def test_names_are_never_empty_and_hold_no_blanks(bad: str) -> None:
    """Scenario 147: mistakes in a definition."""
    with pytest.raises(ValueError, match="name"):
        definition(tools=[{"name": bad}])
    with pytest.raises(ValueError, match="name"):
        definition(policies=[{**LIMIT, "name": bad}])
    with pytest.raises(ValueError, match="name"):
        definition(feedback=[static(bad, every_n_calls=1)])


def test_tools_by_prefix_can_be_referred_to_by_what_they_cover() -> None:
    fine = [
        {**LIMIT, "name": "a", "tools": ["mcp__*", "mcp__git__*", "mcp__git__push", "te*"]},
        requiring({"mcp__*": ["mcp__login"], "deploy": ["te*"]}, "b"),
    ]
    assert problems(policies=fine) == []


def test_a_chain_is_no_circle() -> None:
    assert problems(policies=[requiring({"deploy": ["test", "build"], "test": ["build"]})]) == []


def test_a_build_that_spoils_the_test_comes_first() -> None:
    policies = [
        requiring({"deploy": ["build", "test"]}, invalidated_by={"test": ["build", "write"]})
    ]
    assert problems(policies=policies) == []


def test_a_tool_may_stand_in_two_sections_with_the_same_access() -> None:
    assert problems(**REST, sections=[SECTION, {"name": "more", "tools": [READ]}]) == []


def test_what_nobody_can_decide_yet_is_a_doubt() -> None:
    doubtful = definition(
        policies=[
            {
                **ASKS,
                "remember": ["session", "rule"],
                "unless": [{"param": "command", "deny": ["rm.*x"]}],
            }
        ]
    )
    assert [str(each).partition(":")[0] for each in definition_doubts(doubtful)] == [
        "policies[0].unless[0].deny[0]",
        "policies[0].remember[1]",
    ]


def test_seconds_that_an_author_hardly_means_are_doubts() -> None:
    deadline = {"kind": "deadline", "name": "d", "warn_s": 60}
    doubtful = definition(
        deadline_s=600,
        feedback=[
            {**deadline, "trigger": {"every_n_seconds": 60.5}},
            {**deadline, "name": "fine", "trigger": {"every_n_seconds": 60}},
            static("lictor.own", every_n_seconds=0.25),
        ],
    )
    compile_definition(doubtful, Plugins())
    assert [str(each) for each in definition_doubts(doubtful)] == [
        "feedback[0].trigger.every_n_seconds: is more than warn_s (60), so the deadline may come without a warning",
        "feedback[2].name: begins with lictor., which Lictor's own advice does too",
        "feedback[2].trigger.every_n_seconds: is less than the second in which a timer rings at most once;"
        " hooks keep to it",
    ]


def test_what_works_but_is_hardly_meant_is_a_doubt_and_no_error() -> None:
    doubtful = definition(
        tools=[WRITE],
        policies=[policy("read-before-write")],
        feedback=[
            {"kind": "budget", "name": "b", "trigger": {"every_n_calls": 1}},
            {"kind": "deadline", "name": "d", "trigger": {"every_n_calls": 1}},
        ],
        completion={
            "checker": {
                "kind": "all-of",
                "checkers": [{"kind": "files", "files": []}, {"kind": "all-of", "checkers": []}],
            },
            "on_silence": "allow",
        },
    )
    compile_definition(doubtful, Plugins())
    assert [str(each).partition(":")[0] for each in definition_doubts(doubtful)] == [
        "policies[0]",
        "feedback[0]",
        "feedback[1]",
        "completion.checker.checkers[0].files",
        "completion.checker.checkers[1].checkers",
        "completion.on_silence",
    ]


@pytest.mark.parametrize(
    ("pattern", "escapes"),
    [
        ("git.*-f", True),
        ("(?i)a.b", True),
        ("(?s)git.*-f", False),
        ("(?is:a.b)", False),
        (r"a\.b", False),
        ("[.]", False),
        (r"\p{L}+", False),
    ],
)
def test_a_denied_pattern_that_a_line_break_escapes_is_a_doubt(pattern: str, escapes: bool) -> None:
    rules = [{"param": "path", "deny": [pattern], "allow": ["a.b"]}]
    doubtful = definition(
        tools=[WRITE], policies=[policy("parameters", tools=[WRITE["name"]], rules=rules)]
    )
    found = [str(each).partition(":")[0] for each in definition_doubts(doubtful)]
    assert found == ["policies[0].rules[0].deny[0]"] * escapes


@pytest.mark.parametrize(
    ("pattern", "anywhere"),
    [
        ("pytest", True),
        ("^pytest", True),
        ("pytest$", True),
        ("^pytest$", False),
        ("(?i)^pytest$", False),
        (r"\Apytest\z", False),
    ],
)
def test_a_check_that_is_found_anywhere_is_a_doubt(pattern: str, anywhere: bool) -> None:
    checker = {"kind": "verification", "name": "v", "tool": "T", "param": "x", "matches": pattern}
    doubtful = definition(tools=[{"name": "T"}], completion={"checker": checker})
    found = [str(each).partition(":")[0] for each in definition_doubts(doubtful)]
    assert found == ["completion.checker.matches"] * anywhere


def test_a_loop_detector_never_looks_further_back_than_a_session_remembers() -> None:
    bounds = LoopFeedbackSpec.model_fields["window"].metadata
    assert max(getattr(each, "le", 0) for each in bounds) == RECENT_CALLS
