"""The examples beside a pack: how they are read, run and told when they go otherwise."""

from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import PACK_ORDER, load_config
from lictor_policy.packs.files import PACK_FILE
from lictor_policy.packs.pack import load_pack
from lictor_policy.packs.pack_tests import (
    TESTS_FILE,
    load_pack_tests,
    missing_examples,
    run_pack_tests,
)

PACKS = Path(__file__).parents[4] / "policy-packs"

EXAMPLE = """
kind: PolicyPackTests
pack: example
tests:
  - title: A silent task starts
    rule: example.rule
    fires: true
    steps:
      - at: 0
        event: task_started
        payload: {mode: silent}
        expect: {decision: block, rules: [example.rule]}
"""


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "tests.yaml"
    path.write_text(text, "utf-8")
    return load_pack_tests(path)


@pytest.fixture
def config(config_of: Any, pack_of: Any, rule_of: Any) -> Any:
    return config_of(pack_of(rule_of(conditions={"fact": "task.mode", "equals": "silent"})))


def test_an_example_that_goes_as_told_is_ok(tmp_path: Path, config: Any) -> None:
    (result,) = run_pack_tests(config, load(tmp_path, EXAMPLE))
    assert result.ok, result.problems


def test_an_example_that_goes_otherwise_says_where_and_how(tmp_path: Path, config: Any) -> None:
    tests = load(tmp_path, EXAMPLE.replace("silent}", "interactive}"))
    (result,) = run_pack_tests(config, tests)
    assert result.problems == (
        "step 1 (task_started, t+0): decision: expected block, but it was allow",
        "step 1 (task_started, t+0): rules: expected example.rule, but it was none",
        "last step: example.rule should fire; fired: no rule",
    )


def test_a_timer_that_is_not_due_is_told(tmp_path: Path, config: Any) -> None:
    steps = "      - {at: 60, timer: checkpoint}\n"
    (result,) = run_pack_tests(config, load(tmp_path, EXAMPLE + steps))
    assert result.problems == (
        "step 2 (checkpoint, t+60): no checkpoint timer is due at t+60; set are: none",
    )


def test_an_event_that_is_no_event_is_told(tmp_path: Path, config: Any) -> None:
    tests = load(tmp_path, EXAMPLE.replace("{mode: silent}", "{mood: silent}"))
    (result,) = run_pack_tests(config, tests)
    assert "payload.mood: is not a known field" in result.problems[0]


def test_a_refused_event_is_told(tmp_path: Path, config: Any) -> None:
    steps = "      - {at: 1, event: task_started}\n"
    (result,) = run_pack_tests(config, load(tmp_path, EXAMPLE + steps))
    assert "has started already" in result.problems[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("fires: true", "fire: true"), ":5: tests.0.fires: is required"),
        (("event: task_started", "event: task_begun"), ":10: tests.0.steps.0.event: must be"),
        (("at: 0", "at: zero"), ":9: tests.0.steps.0.at: must be a valid integer"),
        (("event: task_started", "note: nothing"), "must have exactly one of event"),
        (("kind: PolicyPackTests", "kind: [x"), "is not valid YAML"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_line(
    change: tuple[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(PackError) as caught:
        load(tmp_path, EXAMPLE.replace(*change))
    assert told in str(caught.value)


def test_a_rule_without_both_kinds_of_example_is_named(tmp_path: Path) -> None:
    tests = load(tmp_path, EXAMPLE)
    assert missing_examples(["example.rule", "example.other"], tests) == [
        "example.rule: has no example in which it does not fire",
        "example.other: has no example in which it fires",
        "example.other: has no example in which it does not fire",
    ]
    assert missing_examples([], tests) == ["example.rule: is no rule of example"]


@pytest.mark.parametrize("path", sorted(PACKS.glob(f"*/{TESTS_FILE}")), ids=lambda p: p.parent.name)
def test_the_examples_of_the_shipped_packs_go_as_told(path: Path, shipped: Any) -> None:
    tests = load_pack_tests(path)
    assert tests.pack == path.parent.name
    alone = load_config(PACKS, [tests.pack])
    for config in (alone, shipped):
        failed = [each for each in run_pack_tests(config, tests) if not each.ok]
        assert not failed, "\n".join(f"{each.title}: {'; '.join(each.problems)}" for each in failed)


@pytest.mark.parametrize("pack", PACK_ORDER)
def test_every_shipped_rule_has_an_example_for_and_one_against(pack: str) -> None:
    rules = load_pack(PACKS / pack / PACK_FILE).pack.spec.rules
    tests = load_pack_tests(PACKS / pack / TESTS_FILE)
    assert missing_examples([rule.id for rule in rules], tests) == []
