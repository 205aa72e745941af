"""What rules over sequences of calls can do, and that every session that is shown goes as it is foretold."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rehearsed_session import Rehearsal, guarded

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.definitions.loading import read_definition
from lictor_guard.session.rehearsal import RehearsedCall, denied_by
from lictor_guard.text.linear_patterns import LinearPattern
from lictor_ir.regexes import full_match
from lictor_prove.errors import ProveError
from lictor_prove.python.refusals import SubsetRefusal
from lictor_prove.sequences.analysis import ForetoldCall, SequenceFinding, analyze
from lictor_prove.sequences.parameter_terms import rust_language

EXAMPLES = Path(__file__).parents[4] / "examples/agents"
TOOLS: list[Any] = [
    {"name": "read", "access": "read", "resources": ["path"]},
    *("mail", "fetch", "test", "deploy", "note"),
]
SECRET = {"label": "secret", "tools": ["read"], "files": ["secrets/.*"]}
INSIDE = [{"param": "to", "allow": [r"[^@,;\s]+@example\.org"], "required": True}]


def never(name: str, after: dict[str, Any], tool: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "never-after", "name": name, "after": after, "tools": [tool], **fields}


def only(name: str, after: str, tool: str, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "only-after",
        "name": name,
        "after": {"tools": [after]},
        "tools": [tool],
        "within_s": 60,
        **fields,
    }


def rules(name: str, tool: str, *given: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "parameters", "name": name, "tools": [tool], "rules": list(given)}


def findings(compiled: Guarded, timeout_ms: int = 5_000) -> list[SequenceFinding]:
    def play(calls: Sequence[ForetoldCall]) -> list[tuple[str, ...]]:
        return denied_by(compiled, [RehearsedCall(tool, params) for tool, params in calls])

    found = analyze(compiled.definition, play, timeout_ms)
    for each in found:
        confirm(compiled, each)
    return found


def confirm(compiled: Guarded, finding: SequenceFinding) -> None:
    """A finding with a session goes so in another session of the judge; one without says why, or is unknown."""
    assert finding.examples or finding.check in ("never-fires", "unknown")
    json.dumps(finding.to_json_value())
    for example in finding.examples:
        session = denied_by(compiled, [RehearsedCall(*each) for each in example.calls])
        assert [bool(each) for each in session] == [False] * (len(session) - 1) + [True]
        assert session[-1] == example.denied_by


def of(policies: Sequence[dict[str, Any]], **parts: Any) -> dict[str, tuple[str, int]]:
    """By what it is about: what was found, and how many calls its longest session has."""
    compiled = guarded(tools=TOOLS, labels=[SECRET], policy_specs=policies, **parts)
    return {
        each.about: (each.check, max((len(it.calls) for it in each.examples), default=0))
        for each in findings(compiled)
    }


def test_a_rule_that_denies_is_shown_doing_it() -> None:
    assert of([never("inside", {"labels": ["secret"]}, "mail", unless=INSIDE)]) == {
        "inside": ("fires", 2)
    }
    assert of([only("tested", "test", "deploy")]) == {"tested": ("fires", 1)}


def test_a_rule_that_waits_for_a_call_that_is_never_allowed_never_fires() -> None:
    policies = [
        only("a", "test", "deploy"),
        only("b", "deploy", "test"),
        never("c", {"tools": ["deploy"]}, "note"),
    ]
    assert of(policies) == {
        "a": ("fires", 1),
        "b": ("fires", 1),
        "c": ("never-fires", 0),
        "deploy": ("never-allowed", 1),
        "test": ("never-allowed", 1),
    }


def test_rules_that_leave_a_tool_no_call_contradict_each_other() -> None:
    policies = [only("tested", "test", "deploy"), never("frozen", {"tools": ["test"]}, "deploy")]
    found = of(policies)
    assert found["deploy"] == ("never-allowed", 2)
    assert found["tested"] == ("fires", 1)
    assert found["frozen"] == ("fires", 2)


def test_a_rule_whose_calls_all_pass_is_told() -> None:
    """What another policy lets pass is what `unless` lets pass."""
    same = [
        rules("addresses", "mail", *INSIDE),
        never("inside", {"labels": ["secret"]}, "mail", unless=INSIDE),
    ]
    assert of(same) == {"inside": ("shadowed", 2)}
    wider = [{"param": "to", "allow": [r"[^@,;\s]+@(example|test)\.org"], "required": True}]
    policies = [
        rules("addresses", "mail", *INSIDE),
        never("inside", {"labels": ["secret"]}, "mail", unless=wider),
    ]
    assert of(policies) == {"inside": ("shadowed", 2)}
    policies = [
        rules("addresses", "mail", *wider),
        never("inside", {"labels": ["secret"]}, "mail", unless=INSIDE),
    ]
    assert of(policies) == {"inside": ("fires", 2)}


def test_what_is_not_modelled_is_unknown_and_never_a_warning() -> None:
    """It is shadowed, but the solver does not know what `\\w` is to the judge."""
    letters = [{"param": "to", "allow": [r"\w+@example\.org"], "required": True}]
    wider = [{"param": "to", "allow": [r"[^@]+@example\.org"], "required": True}]
    policies = [
        rules("addresses", "mail", *letters),
        never("inside", {"labels": ["secret"]}, "mail", unless=wider),
    ]
    assert of(policies) == {"inside": ("unknown", 0)}
    same = [
        rules("addresses", "mail", *letters),
        never("inside", {"labels": ["secret"]}, "mail", unless=letters),
    ]
    assert of(same)["inside"][0] in ("shadowed", "unknown")


def test_a_file_that_nobody_can_tell_is_no_proof_that_all_pass() -> None:
    """A pattern for every key: a path that can't be resolved has none, and is denied."""
    anything = [{"param": "path", "allow": ["(?:.|\\n)*"]}]
    assert of([never("p", {"tools": ["note"]}, "read", unless=anything)]) == {"p": ("unknown", 0)}
    anywhere = [{"param": "to", "allow": ["(?:.|\\n)*"]}]
    assert of([never("p", {"tools": ["note"]}, "mail", unless=anywhere)]) == {
        "p": ("never-fires", 0)
    }


def test_a_label_that_no_call_can_give_is_told() -> None:
    policies = [
        never("inside", {"labels": ["secret"]}, "mail"),
        never("no-reading", {"tools": ["note"]}, "read"),
        only("noted", "note", "read"),
    ]
    found = of(policies)
    assert found["inside"] == ("never-fires", 0)
    assert found["read"] == ("never-allowed", 2)


def test_policies_that_are_not_modelled_let_calls_pass_for_a_proof() -> None:
    """An order that keeps a tool from being called is not known here: nothing is proved by it, nor foretold wrongly."""
    order = {"kind": "sequential-dependency", "name": "order", "requires": {"fetch": ["deploy"]}}
    policies = [
        only("a", "test", "deploy"),
        order,
        never("after-fetch", {"tools": ["fetch"]}, "mail"),
    ]
    found = of(policies)
    assert found["a"] == ("fires", 1)
    assert found["after-fetch"][0] in ("fires", "unknown")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_say_what_they_mean(path: Path) -> None:
    found = findings(read_definition(path.read_bytes(), path.name))
    assert {each.check for each in found} <= {"fires"}


def test_no_shorter_session_shows_it() -> None:
    """Every shorter session of the same calls is tried."""
    policies = [
        only("tested", "test", "deploy"),
        never("quiet", {"tools": ["deploy"]}, "note"),
    ]
    compiled = guarded(tools=TOOLS, policy_specs=policies)
    (quiet,) = [each for each in findings(compiled) if each.about == "quiet"]
    (example,) = quiet.examples
    assert [tool for tool, _ in example.calls] == ["test", "deploy", "note"]
    calls = [
        RehearsedCall(str(each if isinstance(each, str) else each["name"]), {}) for each in TOOLS
    ]
    for shorter in itertools.product(calls, repeat=2):
        assert denied_by(compiled, shorter)[-1] != ("quiet",)


def test_the_rehearsal_goes_as_a_session_does() -> None:
    compiled = guarded(
        tools=TOOLS, labels=[SECRET], policy_specs=[never("a", {"tools": ["fetch"]}, "note")]
    )
    play = Rehearsal(compiled)
    calls = ["note", "fetch", "note", "mail"]
    told = denied_by(compiled, [RehearsedCall(each, {}) for each in calls])
    assert told == [tuple(each.policy_id for each in play.call(tool).denials) for tool in calls]


PATTERNS = [
    *("a.c", "^ab", "^ab$", r"[^@,;\s]+@x\.org", "a|b", "(?:ab)+c?", "a{2,3}", r"[a-c]\n", r"x\sy"),
    *("^(a|b)b", r"\w", "(?i)a", "a$", "^a|b$", r"a\b", r"a\d"),
]
TEXTS = [
    *(
        "",
        "a",
        "b",
        "ab",
        "abc",
        "a\nc",
        "aac",
        "aaa",
        "aaaa",
        "ababc",
        "bb",
        "b\n",
        "ab\n",
        "\nab",
        "c\n",
    ),
    *("u@x.org", "u v@x.org", "u\x1c@x.org", "x y", "x\x1cy", "x\u2003y"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_to_the_solver_what_it_means_to_the_judge(pattern: str) -> None:
    for whole in (True, False):
        try:
            language = rust_language(pattern, whole=whole)
        except (ProveError, SubsetRefusal):
            continue
        engine = LinearPattern(pattern, whole=whole)
        for text in TEXTS:
            assert full_match(language, text) == engine.matches(text), (pattern, text, whole)
