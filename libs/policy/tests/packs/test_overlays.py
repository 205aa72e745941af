"""Overlays: what a profile or an environment may change, and what it has to say for it."""

from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import EvaluatorConfig, compile_files, load_config
from lictor_policy.packs.files import DirectoryFiles
from lictor_policy.rules.compiled_rule import CompiledRule

PACKS = Path(__file__).parents[4] / "policy-packs"
APPROVED = {"reason": "agreed in the review of March", "approved_by": "head of operations"}


def overlay(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "lictor/v1",
        "kind": "PolicyOverlay",
        "metadata": {"id": name, "title": name, "summary": "An overlay", "owner": "tests"},
        "spec": spec,
    }


@pytest.fixture
def with_overlays(files_of: Any, own_pack: Any, rule_of: Any) -> Any:
    """The configuration of one pack with two rules, under these overlays."""

    def build(*overlays: dict[str, Any], **spec: Any) -> Any:
        given = overlays or (overlay("test", **spec),)
        names = [each["metadata"]["id"] for each in given]
        rules = (
            rule_of("first", "force_checkpoint", output={"severity": "high"}),
            rule_of("second", "rewrite", output={"severity": "medium"}),
        )
        files = {"example/policy.yaml": own_pack(*rules)}
        files |= {f"profiles/{name}.yaml": each for name, each in zip(names, given, strict=True)}
        return compile_files(files_of(files), profiles=names)

    return build


@pytest.fixture
def decided(with_overlays: Any, new_stage: Any) -> Any:
    def build(*overlays: Any, **spec: Any) -> Any:
        return new_stage(with_overlays(*overlays, **spec)).say("task_started").record

    return build


def test_the_first_record_names_the_profiles_that_changed_the_packs(
    with_overlays: Any, new_stage: Any, decided: Any
) -> None:
    off = overlay("off", rules=[{"id": "first", "enabled": False, **APPROVED}])
    strict = overlay("strict", rules=[{"id": "second", "decision": "block"}])
    config = with_overlays(off, strict)
    stage = new_stage(config)
    stamp = stage.say("task_started").record.episode
    assert [each.profile_id for each in stamp.profiles] == ["off", "strict"]
    assert stamp.profiles == config.profiles
    # What it switches off, why, and who agreed is in the file that the hash names.
    other = {**APPROVED, "reason": "another"}
    changed = overlay("off", rules=[{"id": "first", "enabled": False, **other}])
    was, now = (decided(each).episode.profiles[0] for each in (off, changed))
    assert was.profile_hash != now.profile_hash


def test_a_rule_is_made_stricter_for_free(decided: Any) -> None:
    record = decided(rules=[{"id": "second", "decision": "block", "severity": "critical"}])
    assert record.decision.policy_id == "second"
    assert (record.decision.decision, record.decision.severity) == ("block", "critical")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"enabled": False}, "switches it off"),
        ({"mode": "shadow"}, "puts it into shadow mode"),
        ({"decision": "rewrite"}, "rewrite instead of force_checkpoint"),
        ({"severity": "low"}, "severity low instead of high"),
        ({"decision": "block", "severity": "low"}, "severity low instead of high"),
    ],
)
def test_a_rule_is_made_weaker_only_with_a_reason_and_an_approval(
    change: Any, told: str, with_overlays: Any
) -> None:
    for missing in APPROVED:
        given = {name: text for name, text in APPROVED.items() if name != missing}
        with pytest.raises(PackError) as caught:
            with_overlays(rules=[{"id": "first", **change, **given}])
        assert f"weakens rule first ({told}); give a reason and approved_by" in str(caught.value)
        assert str(caught.value).startswith("packs/profiles/test.yaml:")
    with_overlays(rules=[{"id": "first", **change, **APPROVED}])


@pytest.mark.parametrize("change", [{"enabled": False}, {"mode": "shadow"}])
def test_a_pack_is_made_weaker_only_with_a_reason_and_an_approval(
    change: Any, with_overlays: Any
) -> None:
    with pytest.raises(PackError, match="give a reason and approved_by"):
        with_overlays(packs=[{"id": "example", **change}])


def test_a_rule_that_is_switched_off_leaves_no_trace(decided: Any) -> None:
    record = decided(rules=[{"id": "first", "enabled": False, **APPROVED}])
    assert [rule.rule_id for rule in record.matched_rules] == ["second"]


def test_the_last_overlay_has_the_last_word(decided: Any) -> None:
    off = overlay("off", packs=[{"id": "example", "mode": "shadow", **APPROVED}])
    on = overlay("on", rules=[{"id": "first", "mode": "enforce"}])
    record = decided(off, on)
    assert [rule.rule_id for rule in record.matched_rules] == ["first"]
    assert [rule.rule_id for rule in record.shadow_rules] == ["second"]
    record = decided(on, off)
    assert [rule.rule_id for rule in record.shadow_rules] == ["first", "second"]


def test_what_one_overlay_switched_off_another_switches_on_again(decided: Any) -> None:
    off = overlay("off", rules=[{"id": "first", "enabled": False, **APPROVED}])
    on = overlay("on", rules=[{"id": "first", "enabled": True}])
    assert decided(off, on).decision.policy_id == "first"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"packs": [{"id": "exmple", "mode": "enforce"}]}, "no pack exmple; did you mean example?"),
        ({"rules": [{"id": "frst", "mode": "enforce"}]}, "no rule frst; did you mean first?"),
        ({"rules": [{"id": "first"}]}, "changes nothing"),
        ({"rules": [{"id": "first", "mode": "enforce"}] * 2}, "first is changed twice"),
        ({"rules": [{"id": "first", "mod": "enforce"}]}, "known field; did you mean mode?"),
        ({"rules": [{"id": "first", "mode": "shadw"}]}, "did you mean shadow?"),
        ({"packs": [{"id": "example", "enabled": False, **APPROVED}]}, "every rule is switched"),
    ],
)
def test_an_overlay_that_makes_no_sense_is_refused(
    spec: Any, told: str, with_overlays: Any
) -> None:
    with pytest.raises(PackError) as caught:
        with_overlays(**spec)
    assert told in str(caught.value)


def test_a_decision_without_words_is_refused(files_of: Any, own_pack: Any, rule_of: Any) -> None:
    rule = rule_of("first", "rewrite", operator_message_templates={"placeholder_rewrite": "text"})
    files = files_of(
        {
            "example/policy.yaml": own_pack(rule),
            "profiles/test.yaml": overlay("test", rules=[{"id": "first", "decision": "block"}]),
        }
    )
    with pytest.raises(PackError, match="block needs blocked, which rule first doesn't have"):
        compile_files(files, profiles=["test"])


def test_an_overlay_that_is_not_there_is_refused(with_overlays: Any) -> None:
    with pytest.raises(PackError, match="has no profile strickt; did you mean strict"):
        load_config(PACKS, profiles=["strickt"])
    with pytest.raises(PackError, match="chosen twice"):
        with_overlays(overlay("test"), overlay("test"))


def test_the_config_hash_follows_the_overlays_and_their_order(with_overlays: Any) -> None:
    one = overlay("one", rules=[{"id": "first", "severity": "critical"}])
    two = overlay("two", rules=[{"id": "second", "severity": "critical"}])
    hashes = {
        with_overlays(*given).config_hash for given in ((one,), (two,), (one, two), (two, one))
    }
    assert len(hashes) == 4


SHIPPED = [
    name.removeprefix("profiles/").removesuffix(".yaml")
    for name in DirectoryFiles(PACKS).listed("profiles")
]


def test_the_three_documented_profiles_are_there() -> None:
    assert set(SHIPPED) >= {"strict-manager-mode", "standard-team-mode", "minimal-solo-mode"}


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_profile_fits_the_shipped_packs(name: str) -> None:
    assert load_config(PACKS, profiles=[name]).packs == load_config(PACKS).packs


def test_strict_mode_is_nowhere_weaker_and_solo_mode_nowhere_stricter_than_the_packs() -> None:
    plain, strict, solo = (
        rules_by_id(load_config(PACKS, profiles=names))
        for names in ([], ["strict-manager-mode"], ["minimal-solo-mode"])
    )
    assert plain.keys() == strict.keys() == solo.keys()
    assert all(strict[name].strength >= rule.strength for name, rule in plain.items())
    assert all(solo[name].strength == rule.strength for name, rule in plain.items())
    assert not any(rule.shadow for rule in strict.values())
    assert not any(name.startswith("no-silence") for name, rule in solo.items() if rule.shadow)
    after_solo = load_config(PACKS, profiles=["minimal-solo-mode", "strict-manager-mode"])
    quiet = {name for name, rule in rules_by_id(after_solo).items() if rule.shadow}
    assert quiet == set(), "the stricter overlay has the last word"


def rules_by_id(config: EvaluatorConfig) -> dict[str, CompiledRule]:
    return {
        rule.rule.id: rule
        for looking in config.index.values()
        for candidates in looking
        for _, rule in candidates.rules
    }
