"""Definitions from YAML, JSON and Python: one value, one hash, and errors by file and line."""

import json
from pathlib import Path
from typing import Any

import pytest
from policy_walk import Walk, seen

from lictor_guard.definitions.compiled_definition import compile_definition, definition_hash
from lictor_guard.definitions.loading import default_definition, read_definition, read_directory
from lictor_guard.errors import DefinitionError
from lictor_guard.plugins.completion_checker import CompletionContext, CompletionResult
from lictor_guard.plugins.installed import Plugin, Plugins
from lictor_guard.plugins.tool_policy import PolicyDecision, StatelessPolicy
from lictor_schema.sessions.agent_definition import AgentDefinition, DefinitionMetadata, SectionSpec
from lictor_schema.sessions.tool_policy import ReadBeforeWriteSpec, ToolSpec

YAML = b"""\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}   # a comment changes nothing
sections:
  - name: files
    tools:
      - {name: Read, access: read, resources: [file_path]}
      - {name: Write, access: write, resources: [file_path]}
      - {name: "mcp__fs__*"}
    policies:
      - {kind: read-before-write, name: first-read}
policies:
  - {kind: rate-limit, name: calm, tools: [Write], limit: 5, window_s: 60}
tools:
  - {name: Bash}
  - {name: "mcp__*"}
"""


def test_yaml_json_and_python_make_the_same_definition_with_the_same_hash() -> None:
    minimal = b'apiVersion: lictor/v1\nkind: AgentDefinition\nmetadata: {name: a, version: "1"}\n'
    whole = minimal + (
        b"other_tools: deny\nsections:\n  - name: s\n    tools:\n"
        b"      - {name: w, access: write, resources: [p]}\n"
        b"    policies: [{kind: read-before-write, name: r}]\n"
    )
    written = AgentDefinition(
        api_version="lictor/v1",
        kind="AgentDefinition",
        metadata=DefinitionMetadata(name="a", version="1"),
        sections=(
            SectionSpec(
                name="s",
                tools=(ToolSpec(name="w", access="write", resources=("p",)),),
                policies=(ReadBeforeWriteSpec(kind="read-before-write", name="r"),),
            ),
        ),
    )
    from_yaml = read_definition(whole, "a.yaml")
    from_json = read_definition(written.to_json(), "a.json")
    assert from_yaml.definition == from_json.definition == written
    assert from_yaml.hash == from_json.hash == compile_definition(written).hash
    assert from_yaml.hash == definition_hash(written, {})
    assert read_definition(minimal, "a.yaml").hash != from_yaml.hash


def test_problems_of_form_and_of_meaning_name_file_and_line() -> None:
    with pytest.raises(DefinitionError) as caught:
        read_definition(YAML.replace(b"limit: 5", b"limit: 0"), "coder.yaml")
    assert str(caught.value).startswith("coder.yaml:13: policies[0].limit: must be greater than")
    with pytest.raises(DefinitionError) as caught:
        read_definition(YAML.replace(b"[Write]", b"[Wriet]"), "coder.yaml")
    assert str(caught.value) == (
        "coder.yaml:13: policies[0].tools[0]: Wriet is not a tool of this definition;"
        " did you mean Write?"
    )


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.yaml", b"a: &x 1", "a.yaml:1: uses an anchor"),
        ("a.yaml", b"", "a.yaml: is empty"),
        ("a.yaml", b"- 1", "a.yaml:1: must be"),
        ("a.yaml", b"\xff", "a.yaml: is not UTF-8"),
        ("a.json", b"{", "a.json: "),
        ("a.json", b'{"kind": 1, "kind": 2}', "a.json: "),
        ("a.json", b"[]", "a.json: must be"),
        ("a.yaml", b"kind: " + b"[" * 200 + b"]" * 200, "a.yaml:1: nests deeper"),
    ],
)
def test_what_is_no_definition_is_refused_by_its_name(name: str, content: bytes, told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read_definition(content, name)
    assert str(caught.value).startswith(told)


def test_fractions_in_the_settings_of_a_plugin_survive_json() -> None:
    document = json.loads(a_plugin_definition(threshold=0.5).to_json())
    read = read_definition(json.dumps(document).encode(), "a.json", installed())
    assert read.definition == a_plugin_definition(threshold=0.5)


def test_a_number_that_other_languages_read_differently_is_refused() -> None:
    with pytest.raises(DefinitionError, match="threshold is an integer beyond"):
        compile_definition(a_plugin_definition(threshold=2**53 + 1), installed())


def test_a_directory_is_read_whole_and_every_problem_is_told(tmp_path: Path) -> None:
    (tmp_path / "coder.yaml").write_bytes(YAML)
    (tmp_path / "README.md").write_text("not a definition")
    assert list(read_directory(tmp_path)) == ["coder"]
    (tmp_path / "other.yml").write_bytes(YAML)
    (tmp_path / "third.json").write_bytes(b"{}")
    with pytest.raises(DefinitionError) as caught:
        read_directory(tmp_path)
    told = str(caught.value)
    assert "other.yml: metadata.name: coder is defined in" in told
    assert "third.json: metadata: is required and missing" in told
    with pytest.raises(DefinitionError, match="nowhere: can't be read"):
        read_directory(tmp_path / "nowhere")


def test_a_tool_is_found_by_its_name_else_by_the_longest_prefix() -> None:
    guarded = read_definition(YAML, "coder.yaml")
    found = {name: guarded.tool(name) for name in ("Read", "mcp__fs__cat", "mcp__x", "Reads", "")}
    assert {name: spec and spec.name for name, spec in found.items()} == {
        "Read": "Read",
        "mcp__fs__cat": "mcp__fs__*",
        "mcp__x": "mcp__*",
        "Reads": None,
        "": None,
    }
    assert guarded.resource_params == {"Read": ("file_path",), "Write": ("file_path",)}


def test_the_policies_of_a_tool_are_its_sections_then_the_definitions() -> None:
    """Scenarios 32, 33: section first; an unknown tool gets the definition's own only."""
    guarded = read_definition(YAML, "coder.yaml")
    names = {
        tool: [each.policy.name for each in guarded.policies_for(tool)]
        for tool in ("Write", "mcp__fs__cat", "mcp__x", "Bash", "unknown")
    }
    assert names == {
        "Write": ["first-read", "calm"],
        "mcp__fs__cat": ["first-read", "calm"],
        "mcp__x": ["calm"],
        "Bash": ["calm"],
        "unknown": ["calm"],
    }
    assert [each.owner for each in guarded.policies] == ["policy/first-read", "policy/calm"]


def test_the_default_definition_guards_the_file_tools_of_claude_code() -> None:
    guarded = default_definition()
    assert guarded.definition.metadata.name == "lictor-default"
    writing = {"Write", "Edit", "MultiEdit", "NotebookEdit"}
    assert {tool.name for tool in guarded.definition.tools if tool.access == "write"} == writing
    assert all(guarded.resource_params[tool] for tool in writing)


@pytest.mark.parametrize(
    ("key", "kept_off"),
    [
        (".claude/settings.json", True),
        (".claude/commands/x.md", True),
        (".Claude/settings.local.json", True),
        ("sub/.claude/settings.json", True),
        ("/home/u/.claude/settings.json", True),
        ("/home/u/.claude/hooks/mine.sh", True),
        ("/home/u/.claude.json", True),
        (".lictor/endpoints.json", True),
        ("/home/u/project/.lictor/keys/seal.pem", True),
        ("/home/u/.local/state/lictor/up/home/u/p/.lictor/endpoints.json", True),
        ("/state\n/lictor/unsent/claude-code.s-1/1.json", True),
        ("/home/u/.claude/plans/today.md", False),
        ("src/lictor/up/a.py", False),
        ("claude/settings.json", False),
        (".lictored", False),
    ],
)
def test_the_default_definition_keeps_writes_off_what_guards_the_agent(
    key: str, kept_off: bool
) -> None:
    guarded = default_definition()
    for tool in (each for each in guarded.definition.tools if each.access == "write"):
        policies = [each.policy for each in guarded.policies_for(tool.name)]
        session = Walk(*policies, tools=[tool])
        found = seen("link", key, state="missing", param=tool.resources[0])
        assert bool(session.ask(session.call(tool.name, None, found))) is kept_off


class Bare:
    """A policy with nothing but what it must have."""

    def __init__(self, name: str, settings: Any) -> None:
        self.name = name
        self.settings = settings

    def check(self, call: Any, facts: Any, context: Any) -> PolicyDecision:
        return PolicyDecision.allow()

    def on_result(self, call: Any, result: Any, facts: Any, context: Any) -> dict[str, Any]:
        return {}


class Done:
    """A checker with nothing but what it must have."""

    def check(self, context: CompletionContext) -> CompletionResult:
        return CompletionResult.ok()


def installed(stamp: str = "mine==1.0", made: Any = Bare) -> Plugins:
    return Plugins(policies={"bare": Plugin(lambda: made, stamp)})


def a_plugin_definition(**settings: Any) -> AgentDefinition:
    return AgentDefinition.model_validate(
        {
            "apiVersion": "lictor/v1",
            "kind": "AgentDefinition",
            "metadata": {"name": "a", "version": "1"},
            "policies": [{"kind": "plugin", "name": "p", "plugin": "bare", "settings": settings}],
        },
        strict=False,
    )


def test_a_plugin_is_given_its_name_and_settings_and_what_it_leaves_out_is_filled_in() -> None:
    guarded = compile_definition(a_plugin_definition(limit=3), installed())
    (owned,) = guarded.policies
    assert owned.policy.name == "p"
    assert getattr(owned.policy, "settings") == {"limit": 3}  # noqa: B009 -- not in the protocol
    call: Any = None
    assert owned.policy.keys(call) == ()
    assert owned.policy.reserves(call) is False
    assert owned.policy.on_allowed(call, call, call) == {}


def test_the_version_of_a_plugin_is_part_of_the_hash() -> None:
    definition = a_plugin_definition()
    first, second = (compile_definition(definition, installed(f"mine=={n}")) for n in (1, 2))
    assert first.hash != second.hash
    assert first.plugins == {"policy:bare": "mine==1"}


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda name, settings: object(), "made a object, which is no ToolPolicy"),  # noqa: ARG005
        (lambda name, settings: Bare("other", settings), "must take the name it is given, 'p'"),  # noqa: ARG005
        (lambda name: name, "can't be made: TypeError"),
    ],
)
def test_a_plugin_that_does_not_fit_is_an_error_at_its_place(made: Any, told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        compile_definition(a_plugin_definition(), installed(made=made))
    assert str(caught.value).startswith("policies[0]: plugin 'bare' of mine==1.0 ")
    assert told in str(caught.value)


def test_an_unknown_plugin_is_an_error_that_names_what_is_installed() -> None:
    definition = a_plugin_definition()
    available = Plugins(policies={"stateless": Plugin(lambda: StatelessPolicy, "x==1")})  # pyright: ignore[reportArgumentType] -- never made
    with pytest.raises(DefinitionError, match=r"policies\[0\].plugin: .* known are stateless"):
        compile_definition(definition, available)


def test_the_checker_of_a_plugin_keeps_facts_of_its_own_wherever_it_stands() -> None:
    definition = AgentDefinition.model_validate(
        {
            "apiVersion": "lictor/v1",
            "kind": "AgentDefinition",
            "metadata": {"name": "a", "version": "1"},
            "tools": [{"name": "test"}],
            "completion": {
                "checker": {
                    "kind": "all-of",
                    "checkers": [
                        {"kind": "files", "files": ["b", "a", "b"]},
                        {"kind": "verification", "name": "tests", "tool": "test"},
                        {
                            "kind": "any-of",
                            "checkers": [{"kind": "plugin", "name": "mine", "plugin": "done"}],
                        },
                    ],
                }
            },
        },
        strict=False,
    )
    plugins = Plugins(checkers={"done": Plugin(lambda: lambda *_: Done(), "mine==1")})
    guarded = compile_definition(definition, plugins)
    assert [each.owner for each in guarded.checkers] == ["checker/tests", "checker/mine"]
    assert guarded.stop_files == ("b", "a")
    assert guarded.plugins == {"checker:done": "mine==1"}


@pytest.mark.parametrize(
    ("written", "seconds"), [("0.5", 0.5), ("30", 30), ("3.50", 3.5), ("'2.5'", 2.5)]
)
def test_seconds_of_a_trigger_may_be_a_fraction_in_yaml(written: str, seconds: float) -> None:
    """As the guardrails document types them: every_n_seconds: float."""
    content = f"""
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {{name: a, version: "1"}}
feedback:
  - {{kind: static, name: s, text: hi, trigger: {{every_n_seconds: {written}}}}}
"""
    (spec,) = read_definition(content.encode(), "a.yaml").definition.feedback
    assert spec.trigger.every_n_seconds == seconds


@pytest.mark.parametrize("written", ["1e3", ".5", "5.", "0.0", "-1.5", "soon", "0.0001"])
def test_other_texts_are_no_seconds(written: str) -> None:
    content = f"""
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {{name: a, version: "1"}}
feedback:
  - {{kind: static, name: s, text: hi, trigger: {{every_n_seconds: {written}}}}}
"""
    with pytest.raises(DefinitionError, match="every_n_seconds"):
        read_definition(content.encode(), "a.yaml")
