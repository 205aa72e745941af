"""Suppression windows: rules rest for a while, by the broker's clock, and never silently."""

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import compile_files, load_config

PACKS = Path(__file__).parents[4] / "policy-packs"

# Stories start at 2026-03-02T09:00:00Z.
DURING = {"starts_at": "2026-03-02T09:00:00Z", "ends_at": "2026-03-02T10:00:00Z"}


def window(name: str = "move", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "lictor/v1",
        "kind": "SuppressionWindow",
        "metadata": {"id": name, "reason": "the channel moves", "approved_by": "ops lead"},
        "spec": {**DURING, **spec},
    }


@pytest.fixture
def under(files_of: Any, own_pack: Any, rule_of: Any) -> Any:
    """The configuration of one pack with two rules, under these windows."""

    def build(*windows: dict[str, Any], mode: str = "any_rule_match") -> Any:
        rules = (rule_of("first", "block"), rule_of("second", "rewrite"))
        files = {"example/policy.yaml": own_pack(*rules, spec={"evaluation_mode": mode})}
        files |= {f"maintenance/{each['metadata']['id']}.yaml": each for each in windows}
        return compile_files(files_of(files))

    return build


@pytest.fixture
def started(under: Any, new_stage: Any, make_event: Any) -> Any:
    """The record of a task that started so many seconds into the story."""

    def play(*windows: Any, seconds: float = 0, **payload: Any) -> Any:
        stage = new_stage(under(*windows))
        return stage.play(make_event("task_started", seconds, **payload), seconds).record

    return play


def test_a_rule_that_rests_is_recorded_with_its_window_and_not_enforced(started: Any) -> None:
    record = started(window(rules=["first"]))
    assert record.decision.decision == "rewrite"
    assert [rule.rule_id for rule in record.matched_rules] == ["second"]
    (rested,) = record.suppressed_rules
    assert (rested.rule_id, rested.window_id, rested.decision) == ("first", "move", "block")


def test_when_all_that_matched_rests_the_event_is_allowed_and_the_reason_says_why(
    started: Any,
) -> None:
    record = started(window(packs=["example"]))
    assert record.decision.decision == "allow"
    assert "suppression window" in record.decision.reason
    assert [rule.rule_id for rule in record.suppressed_rules] == ["first", "second"]
    assert record.matched_rules == ()


@pytest.mark.parametrize(
    ("seconds", "rests"), [(-1, False), (0, True), (3599, True), (3600, False)]
)
def test_a_window_holds_from_its_start_until_before_its_end(
    seconds: float, rests: bool, started: Any
) -> None:
    record = started(window(rules=["first"]), seconds=seconds)
    assert bool(record.suppressed_rules) is rests
    assert (record.decision.decision == "rewrite") is rests


@pytest.mark.parametrize(
    ("spec", "rests"),
    [
        ({"task_ids": ["task-1"]}, True),
        ({"task_ids": ["task-2"]}, False),
        ({"applies_to": {"channels": ["telegram"]}}, True),
        ({"applies_to": {"channels": ["mail"]}}, False),
        ({"applies_to": {"runtimes": ["*"]}}, True),
        ({"applies_to": {"task_modes": ["silent"]}, "task_ids": ["task-1"]}, False),
    ],
)
def test_a_window_is_only_about_its_tasks(spec: Any, rests: bool, started: Any) -> None:
    assert bool(started(window(rules=["first"], **spec)).suppressed_rules) is rests


def test_under_first_match_the_next_rule_takes_the_place_of_one_that_rests(
    under: Any, new_stage: Any
) -> None:
    record = (
        new_stage(under(window(rules=["first"]), mode="first_match")).say("task_started").record
    )
    assert record.decision.policy_id == "second"
    record = new_stage(under(mode="first_match")).say("task_started").record
    assert [rule.rule_id for rule in record.matched_rules] == ["first"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rules": ["frst"]}, "spec.rules.0: there is no rule frst; did you mean first?"),
        ({"packs": ["exmple"]}, "spec.packs.0: there is no pack exmple; did you mean example?"),
        ({}, "must name a pack or a rule"),
        ({"rules": ["first"], "ends_at": "2026-03-02T09:00:00Z"}, "must be after starts_at"),
        ({"rules": ["first"], "ends_at": "2026-04-02T09:00:00Z"}, "more than 30 days"),
        ({"rules": ["first"], "ends_at": None}, "spec.ends_at"),
        ({"rules": ["first"], "starts_at": "2026-03-02"}, "spec.starts_at: must be an RFC 3339"),
        ({"rules": ["first"], "applies_to": {"runtimes": ["*", "x"]}}, "* alone takes any"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(changes: Any, told: str, under: Any) -> None:
    with pytest.raises(PackError) as caught:
        under(window(**changes))
    assert told in str(caught.value)
    assert str(caught.value).startswith("packs/maintenance/move.yaml:")


@pytest.mark.parametrize("field", ["reason", "approved_by"])
def test_a_window_without_a_reason_or_an_approval_is_refused(field: str, under: Any) -> None:
    broken = window(rules=["first"])
    del broken["metadata"][field]
    with pytest.raises(PackError, match=f"metadata.{field}: is required and missing"):
        under(broken)


def test_a_window_without_an_end_is_refused(under: Any) -> None:
    endless = window(rules=["first"])
    del endless["spec"]["ends_at"]
    with pytest.raises(PackError, match=r"spec\.ends_at: is required and missing"):
        under(endless)


def test_a_window_counts_in_the_config_hash(under: Any) -> None:
    assert under().config_hash != under(window(rules=["first"])).config_hash


def test_a_window_is_named_like_its_file(files_of: Any, own_pack: Any, rule_of: Any) -> None:
    files = files_of(
        {
            "example/policy.yaml": own_pack(rule_of("first")),
            "maintenance/other.yaml": window(rules=["first"]),
        }
    )
    with pytest.raises(PackError, match=r"metadata\.id: is move; name the file move\.yaml"):
        compile_files(files)


@pytest.fixture
def quiet(tmp_path: Path, new_stage: Any) -> Any:
    """A task that has promised a report by t+300, with the shipped packs and one more file."""

    def begin(place: str, document: dict[str, Any], profiles: tuple[str, ...] = ()) -> Any:
        shutil.copytree(PACKS, tmp_path / "packs")
        path = tmp_path / "packs" / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document), "utf-8")
        stage = new_stage(load_config(tmp_path / "packs", profiles=profiles))
        stage.say("task_started")
        promise = {"what": "the row counts", "due_at": "t+300"}
        stage.say("task_checkpoint_sent", 10, promised_followup=promise)
        return stage

    return begin


def test_what_falls_due_under_a_window_is_told_anew_when_it_ends(quiet: Any) -> None:
    stage = quiet("maintenance/move.yaml", window(packs=["no-silence", "no-fake-progress"]))
    rested = stage.fire("followup")
    assert rested.record.decision.decision == "allow"
    assert rested.record.suppressed_rules
    told = [stage.fire("followup", seconds).record for seconds in (3600, 3900, 4200)]
    assert [each.decision.decision for each in told] == [
        "force_checkpoint",
        "force_checkpoint",
        "escalate",
    ]
    assert len({rested.record.event_id, *(each.event_id for each in told)}) == 4
    assert "followup" not in stage.pending


def test_what_only_rules_on_trial_hear_of_stays_to_be_told(quiet: Any) -> None:
    trial = {
        "apiVersion": "lictor/v1",
        "kind": "PolicyOverlay",
        "metadata": {"id": "trial", "title": "Trial", "summary": "On trial", "owner": "ops"},
        "spec": {
            "packs": [
                {"id": name, "mode": "shadow", "reason": "new", "approved_by": "ops lead"}
                for name in ("no-silence", "no-fake-progress")
            ]
        },
    }
    stage = quiet("profiles/trial.yaml", trial, ("trial",))
    due = [stage.pending["followup"].due]
    for _ in range(12):
        outcome = stage.fire("followup")
        assert (outcome.state.times_told, len(outcome.record.shadow_rules)) == (1, 1)
        due.append(stage.pending["followup"].due)
    assert due[-1] - due[-2] == timedelta(hours=1), "but rarely"
