"""Packs made of several files, and packs that take over the rules of others."""

import json
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import compile_files, load_config
from lictor_policy.packs.files import DirectoryFiles
from lictor_policy.packs.pack import PackReader, load_pack, read_pack


def rule_set(*rules: Any) -> dict[str, Any]:
    return {"apiVersion": "lictor/v1", "kind": "RuleSet", "rules": list(rules)}


def template_set(**templates: str) -> dict[str, Any]:
    return {"apiVersion": "lictor/v1", "kind": "TemplateSet", "templates": templates}


def decisions(loaded: Any) -> dict[str, str]:
    return {rule.id: rule.decision_output.decision.value for rule in loaded.pack.spec.rules}


def refused(files: Any, pack_id: str = "child") -> str:
    with pytest.raises(PackError) as caught:
        PackReader(files).pack(pack_id)
    return str(caught.value)


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"extends": ["base"]}, "spec.extends"),
        ({"rule_files": ["more.yaml"]}, "spec.rule_files"),
        ({"template_files": ["texts.yaml"]}, "spec.template_files"),
        ({"remove_rules": ["a"]}, "spec.remove_rules"),
        ({"extends": []}, "spec.extends"),
    ],
)
def test_what_the_documents_do_not_have_needs_our_version(
    extra: Any, field: str, pack_of: Any, rule_of: Any
) -> None:
    pack = pack_of(rule_of())
    pack["spec"].update(extra)
    with pytest.raises(PackError, match=rf"pack.yaml:\d+: {field}: needs apiVersion: lictor/v1"):
        read_pack(json.dumps(pack, indent=1).encode(), "pack.yaml")


def test_every_field_beyond_the_documents_is_told_at_once(pack_of: Any, rule_of: Any) -> None:
    rule = rule_of(mode="shadow", escalate_after=3)
    with pytest.raises(PackError) as caught:
        read_pack(json.dumps(pack_of(rule, mode="shadow")).encode(), "pack.yaml")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[-3] for line in lines] == [
        "metadata.mode",
        "spec.rules.0.mode",
        "spec.rules.0.escalate_after",
    ]


def test_a_pack_takes_over_rules_overrides_them_and_leaves_some_out(
    files_of: Any, own_pack: Any, pack_of: Any, rule_of: Any
) -> None:
    files = files_of(
        {
            "base/policy.yaml": pack_of(
                rule_of("kept", "block"),
                rule_of("changed", "rewrite"),
                rule_of("dropped", "escalate"),
                id="base",
                severity_default="critical",
            ),
            "child/policy.yaml": own_pack(
                rule_of("changed", "require_review"),
                rule_of("added", "allow"),
                id="child",
                severity_default="info",
                spec={"extends": ["base"], "remove_rules": ["dropped"]},
            ),
        }
    )
    child = PackReader(files).pack("child")
    assert decisions(child) == {"changed": "require_review", "added": "allow", "kept": "block"}
    inherited = child.pack.spec.rules[-1].decision_output
    assert inherited.severity == "critical", "as severe as where it was written"


def test_base_and_heir_in_force_together_decide_by_the_strictest(
    files_of: Any, own_pack: Any, pack_of: Any, rule_of: Any, new_stage: Any
) -> None:
    config = compile_files(
        files_of(
            {
                "base/policy.yaml": pack_of(rule_of("shared", "block"), id="base"),
                "child/policy.yaml": own_pack(
                    rule_of("shared", "rewrite"), id="child", spec={"extends": ["base"]}
                ),
            }
        )
    )
    record = new_stage(config).say("task_started").record
    assert record.decision.decision == "block"
    assert [(rule.pack_id, rule.decision.value) for rule in record.matched_rules] == [
        ("base", "block"),
        ("child", "rewrite"),
    ]


def test_a_circle_is_refused_with_its_chain(files_of: Any, own_pack: Any, rule_of: Any) -> None:
    files = files_of(
        {
            f"{name}/policy.yaml": own_pack(rule_of(name), id=name, spec={"extends": [base]})
            for name, base in (("child", "middle"), ("middle", "top"), ("top", "child"))
        }
    )
    assert "circle: child extends middle extends top extends child" in refused(files)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"extends": ["bas"]}, "spec.extends.0: there is no pack bas; did you mean base?"),
        (
            {"extends": ["base"], "remove_rules": ["olt"]},
            "no base has a rule olt; did you mean old",
        ),
        ({"extends": ["base", "other"]}, "brings another rule old than the base before it"),
        ({"rule_files": ["more.yaml"]}, "spec.rule_files.0: packs/child/more.yaml: is not there"),
        ({"rule_files": ["../base/policy.yaml"]}, "spec.rule_files.0"),
        ({"rule_files": ["twice.yaml"]}, "twice.yaml:6: rule new: rules.0.id: the id new is used"),
        ({"rule_files": ["x.yaml", "x.yaml"]}, "x.yaml is named twice"),
        (
            {"template_files": ["bad.yaml"]},
            "bad.yaml:5: templates.sorry: unknown variable task_titl",
        ),
        ({"template_files": ["t.yaml", "shared/t.yaml"]}, "is in another file of the pack too"),
        ({"rule_files": ["t.yaml"]}, "t.yaml:3: kind: must be 'RuleSet'"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    spec: Any, told: str, files_of: Any, own_pack: Any, pack_of: Any, rule_of: Any
) -> None:
    files = files_of(
        {
            "base/policy.yaml": pack_of(rule_of("old", "block"), id="base"),
            "other/policy.yaml": pack_of(rule_of("old", "rewrite"), id="other"),
            "child/policy.yaml": own_pack(rule_of("new"), id="child", spec=spec),
            "child/twice.yaml": rule_set(rule_of("new")),
            "child/x.yaml": rule_set(rule_of("x")),
            "child/t.yaml": template_set(sorry="We are sorry."),
            "child/bad.yaml": template_set(sorry="{{task_titl}}"),
            "shared/t.yaml": template_set(sorry="We are sorry."),
        }
    )
    assert told in refused(files)


def test_rules_and_texts_of_other_files_are_the_packs_own(
    files_of: Any, own_pack: Any, rule_of: Any, new_stage: Any
) -> None:
    fallback = rule_of("fallback", output={"reason": "{{> sorry}} No more."})
    config = compile_files(
        files_of(
            {
                "child/policy.yaml": own_pack(
                    id="child",
                    spec={
                        "rule_files": ["rules/more.yaml"],
                        "template_files": ["shared/texts.yaml", "own.yaml"],
                    },
                ),
                "child/rules/more.yaml": rule_set(fallback),
                "child/own.yaml": template_set(bye="Good bye."),
                "shared/texts.yaml": template_set(sorry="Sorry, {{task_id}}."),
            }
        )
    )
    assert new_stage(config).say("task_started").decision.reason == "Sorry, task-1. No more."


def test_an_error_in_a_rule_file_names_that_file(
    files_of: Any, own_pack: Any, rule_of: Any
) -> None:
    broken = rule_of("r", conditions={"fact": "task.mod", "equals": "silent"})
    files = files_of(
        {
            "child/policy.yaml": own_pack(id="child", spec={"rule_files": ["more.yaml"]}),
            "child/more.yaml": rule_set(broken),
        }
    )
    with pytest.raises(PackError, match=r"child/more.yaml:\d+: rule r: rules.0.conditions.fact"):
        compile_files(files)


def test_a_shared_text_that_is_not_there_is_refused(
    files_of: Any, own_pack: Any, rule_of: Any
) -> None:
    rule = rule_of("r", output={"reason": "{{> sory}}"})
    files = files_of(
        {
            "child/policy.yaml": own_pack(rule, id="child", spec={"template_files": ["t.yaml"]}),
            "child/t.yaml": template_set(sorry="Sorry."),
        }
    )
    assert "reason: unknown shared text sory; did you mean sorry?" in refused(files)


def test_a_pack_hash_covers_everything_the_pack_takes_in(
    files_of: Any, own_pack: Any, pack_of: Any, rule_of: Any
) -> None:
    files = {
        "base/policy.yaml": pack_of(rule_of("old"), id="base"),
        "child/policy.yaml": own_pack(
            id="child",
            spec={
                "extends": ["base"],
                "rule_files": ["more.yaml"],
                "template_files": ["shared/t.yaml"],
            },
        ),
        "child/more.yaml": rule_set(rule_of("new")),
        "shared/t.yaml": template_set(sorry="Sorry."),
    }
    changes = {
        "base/policy.yaml": pack_of(rule_of("old", "rewrite"), id="base"),
        "child/more.yaml": rule_set(rule_of("newer")),
        "shared/t.yaml": template_set(sorry="Sorry!"),
    }
    hashes = {PackReader(files_of(files)).pack("child").pack_hash}
    for name, data in changes.items():
        hashes.add(PackReader(files_of({**files, name: data})).pack("child").pack_hash)
    assert len(hashes) == 4


def test_a_directory_and_its_bytes_make_the_same_configuration(
    tmp_path: Path, files_of: Any, own_pack: Any, rule_of: Any
) -> None:
    files = files_of(
        {
            "child/policy.yaml": own_pack(id="child", spec={"rule_files": ["rules/more.yaml"]}),
            "child/rules/more.yaml": rule_set(rule_of("new")),
        }
    )
    for name, body in files.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(body)
    assert load_config(tmp_path).config_hash == compile_files(files).config_hash
    assert load_pack(tmp_path / "child" / "policy.yaml").pack.spec.rules[0].id == "new"
    assert DirectoryFiles(tmp_path).pack_ids() == ["child"]


def test_a_link_out_of_the_pack_is_refused(tmp_path: Path, own_pack: Any) -> None:
    (tmp_path / "child").mkdir()
    pack = own_pack(id="child", spec={"rule_files": ["more.yaml"]})
    (tmp_path / "child" / "policy.yaml").write_text(json.dumps(pack), "utf-8")
    (tmp_path / "secret.yaml").write_text("kind: RuleSet", "utf-8")
    (tmp_path / "child" / "more.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(PackError, match="leads out of its folder"):
        load_config(tmp_path)


def test_all_problems_of_all_packs_are_told_at_once(
    files_of: Any, pack_of: Any, rule_of: Any
) -> None:
    wrong = {"fact": "task.mod", "equals": "silent"}
    packs = {
        f"{name}/policy.yaml": pack_of(
            rule_of(f"{name}.1", conditions=wrong), rule_of(f"{name}.2", conditions=wrong), id=name
        )
        for name in ("a", "b")
    }
    with pytest.raises(PackError) as caught:
        compile_files(files_of(packs))
    told = str(caught.value).splitlines()
    assert [line.split("rule ")[1].split(":")[0] for line in told] == ["a.1", "a.2", "b.1", "b.2"]
