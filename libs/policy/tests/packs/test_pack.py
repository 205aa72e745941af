"""What is refused when packs are loaded, and what the refusal says."""

import json
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import PACK_FILE, build_config, load_config
from lictor_policy.packs.pack import read_pack
from lictor_policy.packs.strict_yaml import MAX_BYTES, YamlError, read_yaml

PACKS = Path(__file__).parents[4] / "policy-packs"


def refusal(pack: dict[str, Any]) -> str:
    with pytest.raises(PackError) as caught:
        build_config([read_pack(json.dumps(pack, indent=1).encode(), "example/policy.yaml")])
    return str(caught.value)


def write(directory: Path, name: str, pack: dict[str, Any]) -> None:
    (directory / name).mkdir()
    (directory / name / PACK_FILE).write_text(json.dumps(pack), "utf-8")


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ({"fact": "checkpoint.is_overdu", "equals": True}, "did you mean checkpoint.is_overdue?"),
        ({"fact": "checkpoint.missed_in_a_row", "equals": "3"}, "a str; it needs int"),
        ({"fact": "checkpoint.missed_in_a_row", "equals": True}, "a bool; it needs int"),
        ({"fact": "checkpoint.is_overdue", "equals": 1}, "a int; it needs bool"),
        ({"fact": "checkpoint.is_overdue", "less_than": True}, "has no less_than"),
        ({"fact": "evidence.best_quality", "less_than": "good"}, "none, weak, moderate, strong"),
        ({"fact": "evidence.best_quality", "contains": "weak"}, "has no contains"),
        ({"fact": "task.mode", "equals": "silen"}, "task.mode is never 'silen'"),
        ({"fact": "task.mode", "in": ["silent", 3]}, "compared with 3"),
        ({"fact": "task.mode"}, "exactly one comparator"),
        ({"fact": "task.mode", "equals": "silent", "contains": "s"}, "exactly one comparator"),
        ({"fact": "task.mode", "equal": "silent"}, "known field; did you mean equals?"),
        ({"all": []}, "at least 1 item"),
        ({"all": [{"fact": "task.mode", "equals": "silent"}], "any": []}, "at least 1 item"),
        ({}, "exactly one of all, any, not, fact"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(
    conditions: Any, told: str, pack_of: Any, rule_of: Any
) -> None:
    text = refusal(pack_of(rule_of(conditions={"not": {"any": [conditions]}})))
    assert told in text
    assert text.startswith("example/policy.yaml:")
    assert "rule example.rule: spec.rules.0.conditions.not.any.0" in text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"surprise": 1}, "spec.rules.0.surprise: is not a known field"),
        ({"conditons": {}}, "conditons: is not a known field; did you mean conditions?"),
        ({"triggers": {"event_type": []}}, "known field; did you mean event_types?"),
        ({"triggers": {"event_types": ["task_started_"]}}, "did you mean task_started?"),
        ({"evidence_requirements": {"progress": {"min_new_items": 1}}}, "did you mean min_new_it"),
        ({"output": {"decision": "blocked"}}, "did you mean block?"),
        ({"output": {"severity": "hihg"}}, "did you mean high?"),
        ({"triggers": {"event_types": ["task_begun"]}}, "triggers.event_types.0"),
        ({"triggers": {}}, "must name an event type or a derived signal"),
        ({"triggers": {"derived_signals": ["checkpoint_overdu"]}}, "mean checkpoint_overdue?"),
        ({"output": {"reason": "{{task_titel}}!"}}, "did you mean task_title?"),
        ({"output": {"reason": "{{task_title}}"}}, "beside its variables"),
        ({"output": {"reason": "open {{ brace"}}, "braces that enclose no variable"),
        ({"output": {"decision": "forbid"}}, "decision_output.decision: must be"),
        ({"operator_message_templates": {}}, "block needs blocked"),
        ({"operator_message_templates": {"blocked": "{{x}}"}}, "unknown variable x"),
        ({"intent": None}, "spec.rules.0.intent"),
    ],
)
def test_a_rule_that_cannot_be_run_is_refused(
    changes: Any, told: str, pack_of: Any, rule_of: Any
) -> None:
    text = refusal(pack_of(rule_of(**changes)))
    assert told in text
    assert "rule example.rule" in text


def test_an_error_names_the_line() -> None:
    source = (PACKS / "no-silence" / PACK_FILE).read_bytes()
    lines = source.decode().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "fact: task.mode" in text)
    broken = source.replace(b"fact: task.mode", b"fact: task.mood")
    with pytest.raises(PackError, match=f"no-silence.yaml:{line}: rule no-silence.silent-task"):
        build_config([read_pack(broken, "no-silence.yaml")])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &x 1\nb: *x", "anchor or alias"),
        ("a: 1\na: 2", "key 'a' twice"),
        ("a: !!python/name:os.system x", "tag"),
        ("1: a", "key that is not text"),
        ("? [a]\n: b", "key that is not text"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("", "is empty"),
        ("a: [1", "not valid YAML"),
        ("[" * 60 + "]" * 60, "nests deeper"),
        ("a: '" + "x" * MAX_BYTES + "'", "the limit is"),
    ],
)
def test_yaml_with_surprises_is_refused(text: str, told: str) -> None:
    with pytest.raises(YamlError, match=told):
        read_yaml(text.encode())


def test_plain_scalars_keep_their_looks() -> None:
    data = read_yaml(b"{a: yes, b: 2026-01-01, c: 1.0, d: true, e: 7, f: null, g: '7'}").data
    assert data == {
        "a": "yes",
        "b": "2026-01-01",
        "c": "1.0",
        "d": True,
        "e": 7,
        "f": None,
        "g": "7",
    }


def test_a_pack_hash_is_that_of_the_data_not_of_the_text() -> None:
    source = (PACKS / "no-silence" / PACK_FILE).read_bytes()
    commented = b"# a comment\n" + source
    assert read_pack(source, "a").pack_hash == read_pack(commented, "b").pack_hash
    changed = source.replace(b"owner: lictor", b"owner: somebody", 1)
    assert read_pack(source, "a").pack_hash != read_pack(changed, "b").pack_hash


def test_an_empty_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="nothing would be governed"):
        load_config(tmp_path)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="is not a directory"):
        load_config(tmp_path / "nowhere")


def test_a_missing_pack_is_refused() -> None:
    with pytest.raises(PackError, match="has no pack no-lies; there are: mandatory"):
        load_config(PACKS, ["no-silence", "no-lies"])


def test_an_id_that_is_not_the_folder_is_refused(
    tmp_path: Path, pack_of: Any, rule_of: Any
) -> None:
    write(tmp_path, "other", pack_of(rule_of()))
    with pytest.raises(PackError, match=r"metadata\.id: is example, but the folder is other"):
        load_config(tmp_path)


def test_two_packs_of_one_id_are_refused(config_of: Any, pack_of: Any, rule_of: Any) -> None:
    with pytest.raises(PackError, match="example is also the id of"):
        config_of(pack_of(rule_of("a")), pack_of(rule_of("b")))
    with pytest.raises(PackError, match="named twice"):
        load_config(PACKS, ["no-silence", "no-silence"])


def test_two_rules_of_one_id_are_refused(config_of: Any, pack_of: Any, rule_of: Any) -> None:
    with pytest.raises(PackError, match="used twice"):
        config_of(pack_of(rule_of(), rule_of()))
    with pytest.raises(PackError, match="also the id of a rule"):
        config_of(pack_of(rule_of()), pack_of(rule_of(), id="second"))


def test_packs_stand_in_the_documented_order(config_of: Any, pack_of: Any, rule_of: Any) -> None:
    names = ("verified-completion-only", "a-house-rule", "no-fake-progress", "no-silence")
    config = config_of(*(pack_of(rule_of(name), id=name) for name in names))
    assert [stamp.pack_id for stamp in config.packs] == [
        "no-silence",
        "no-fake-progress",
        "verified-completion-only",
        "a-house-rule",
    ]


def test_the_config_hash_follows_the_packs() -> None:
    both, one = load_config(PACKS), load_config(PACKS, ["no-silence"])
    assert both.config_hash == load_config(PACKS).config_hash
    assert both.config_hash != one.config_hash
