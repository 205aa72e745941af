"""Decision Timing Envelopes in a pack: part of its hash, and refused where they can't hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import build_config
from lictor_policy.packs.bundle import bundle_directory, read_bundle
from lictor_policy.packs.envelopes import refuse_unverifiable
from lictor_policy.packs.lint_directory import lint_packs
from lictor_policy.packs.pack import LoadedPack, envelopes_of, load_pack, read_pack
from lictor_policy.packs.strict_yaml import read_yaml
from lictor_schema.core.canonical_json import content_hash

SHIPPED = sorted((Path(__file__).parents[4] / "policy-packs").glob("*/policy.yaml"))


def envelope(**changes: Any) -> dict[str, Any]:
    return {
        "decisionType": "refund",
        "version": "1.0.0",
        "deadlineMs": 120,
        "stageBudgetsMs": {"context": 40, "plan": 40, "act": 30, "verify": 10},
        "freshness": {"defaultTtlMs": 500, "featureTtls": {"priceFeed": 250}},
        "limits": {"maxHops": 3, "maxFanout": 4, "maxToolCalls": 10, "maxChainDepth": 5},
        "degradeLadder": [{"step": "cache_bundle", "maxExtraMs": 20}, {"step": "abstain"}],
        "verification": {"requiredAboveBlastRadius": "small", "methods": ["read_after_write"]},
        "safeAction": {
            "requireIdempotency": True,
            "requireRollbackAbove": "small",
            "blastRadiusMax": "medium",
        },
        **changes,
    }


@pytest.fixture
def governed(pack_of: Any, rule_of: Any) -> Any:
    """A pack as data, with the envelopes given."""

    def build(*envelopes: dict[str, Any], rules: bool = True, **metadata: Any) -> dict[str, Any]:
        pack = pack_of(*([rule_of()] if rules else []), **metadata)
        pack["apiVersion"] = "lictor/v1"
        pack["spec"]["envelopes"] = list(envelopes)
        return pack

    return build


def read(pack: Any, name: str = "policy.yaml") -> LoadedPack:
    return read_pack(json.dumps(pack, indent=1).encode(), name)


def problem(pack: Any) -> str:
    with pytest.raises(PackError) as caught:
        read(pack)
    return str(caught.value)


def line_of(pack: Any, text: str, place: int = 0) -> int:
    lines = json.dumps(pack, indent=1).splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line][place]


def test_a_pack_has_its_envelopes_by_decision_type(governed: Any) -> None:
    loaded = read(governed(envelope(), envelope(decisionType="note")))
    found = envelopes_of([loaded])
    assert list(found) == ["refund", "note"]
    assert found["refund"].freshness.feature_ttls == {"priceFeed": 250}


def test_a_pack_may_hold_envelopes_alone(governed: Any) -> None:
    assert list(envelopes_of([read(governed(envelope(), rules=False))])) == ["refund"]
    assert "give at least one" in problem(governed(rules=False))


def test_a_change_of_an_envelope_changes_the_hash_of_its_pack(governed: Any) -> None:
    one, other = read(governed(envelope())), read(governed(envelope(deadlineMs=121)))
    assert one.pack_hash != other.pack_hash
    assert one.pack_hash == content_hash(governed(envelope()))


def test_a_pack_without_envelopes_hashes_as_before_there_were_any(
    pack_of: Any, rule_of: Any
) -> None:
    pack = pack_of(rule_of(id="example.rule"))
    assert read(pack).pack_hash == content_hash(pack)
    for path in SHIPPED:
        assert load_pack(path).pack_hash == content_hash(read_yaml(path.read_bytes()).data)


def test_envelopes_need_our_version_of_the_format(governed: Any) -> None:
    pack = {**governed(envelope()), "apiVersion": "reporting-governance/v1alpha1"}
    line = line_of(pack, '"envelopes"')
    assert problem(pack) == f"policy.yaml:{line}: spec.envelopes: needs apiVersion: lictor/v1"


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        (
            {"deadlineMs": 119},
            "spec.envelopes.0",
            "stageBudgetsMs add up to 120, more than deadlineMs 119; lower a budget",
        ),
        (
            {"degradeLadder": [{"step": "hitl"}]},
            "spec.envelopes.0",
            "degradeLadder must contain `abstain`; add that rung",
        ),
        (
            {"degradeLadder": [{"step": "abstain"}, {"step": "bypass"}]},
            "spec.envelopes.0.degradeLadder.1",
            "a `bypass` rung must name its approver",
        ),
        (
            {"verification": {"requiredAboveBlastRadius": "huge"}},
            "spec.envelopes.0.verification.requiredAboveBlastRadius",
            "'none', 'tiny', 'small', 'medium' or 'large'",
        ),
        (
            {"safeAction": {**envelope()["safeAction"], "blastRadiusMax": "none"}},
            "spec.envelopes.0.safeAction.blastRadiusMax",
            "'tiny', 'small', 'medium' or 'large'",
        ),
        (
            {"deadlinems": 5},
            "spec.envelopes.0.deadlinems",
            "is not a known field; did you mean deadlineMs?",
        ),
        (
            {"policyPack": {"policyPackVersion": "1"}},
            "spec.envelopes.0.policyPack",
            "can't be known inside the pack; leave it out",
        ),
    ],
)
def test_an_envelope_that_can_not_hold_is_refused_with_file_line_and_field(
    changes: dict[str, Any], field: str, told: str, governed: Any
) -> None:
    """Contract scenario 9: budgets beyond the deadline are refused at load."""
    found = problem(governed(envelope(**changes)))
    (line,) = found.splitlines()
    source, number, rest = line.split(":", 2)
    assert source == "policy.yaml"
    assert int(number) >= line_of(governed(envelope(**changes)), '"envelopes"')
    assert rest.startswith(f" {field}: ")
    assert told in rest


def test_a_decision_type_has_one_envelope_in_a_pack(governed: Any) -> None:
    pack = governed(envelope(), envelope(version="2.0.0"))
    assert problem(pack) == (
        f"policy.yaml:{line_of(pack, 'decisionType', 1)}: spec.envelopes.1.decisionType:"
        " refund has an envelope already; keep one of each decision type"
    )


def test_a_decision_type_has_one_envelope_in_all_packs_together(governed: Any) -> None:
    one = read(governed(envelope(), id="one"), "one/policy.yaml")
    two = read(governed(envelope(), id="two"), "two/policy.yaml")
    with pytest.raises(PackError, match=r"spec\.envelopes\.0\.decisionType: refund .* keep one"):
        envelopes_of([one, two])


def test_lint_tells_what_is_wrong_with_an_envelope_with_its_place(
    governed: Any, tmp_path: Path
) -> None:
    pack = governed(envelope(deadlineMs=1))
    write(tmp_path, pack)
    (found,) = lint_packs(tmp_path)
    assert (found.level, found.field) == ("error", "spec.envelopes.0")
    assert found.line == line_of(pack, '"envelopes"') + 1
    assert found.suggestion == "lower a budget"


def test_lint_tells_of_two_packs_that_govern_one_decision_type(
    governed: Any, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write(tmp_path, governed(envelope(), rules=False, id=name))
    (found,) = lint_packs(tmp_path)
    assert (found.level, found.field) == ("error", "spec.envelopes.0.decisionType")
    assert found.file == str(tmp_path / "two" / "policy.yaml")


def test_packs_of_envelopes_alone_lint_compile_and_bundle(governed: Any, tmp_path: Path) -> None:
    pack = governed(envelope(), rules=False, id="refunds")
    write(tmp_path, pack)
    assert lint_packs(tmp_path) == []
    bundled = bundle_directory(tmp_path)
    config = read_bundle(bundled.body).config
    assert (config.rules, [each.pack_id for each in config.packs]) == ((), ["refunds"])
    assert config.envelopes["refund"].dte.deadline_ms == 120
    assert config.envelopes["refund"].pack == config.packs[0]
    assert config.packs[0].pack_hash == content_hash(pack)


def test_a_configuration_has_one_envelope_of_each_decision_type(governed: Any) -> None:
    one = read(governed(envelope(), rules=False, id="one"), "one/policy.yaml")
    two = read(governed(envelope(), rules=False, id="two"), "two/policy.yaml")
    with pytest.raises(PackError, match=r"two/policy.yaml:\d+: spec\.envelopes\.0\.decisionType"):
        build_config([one, two])


def test_a_profile_leaves_envelopes_and_may_not_switch_every_rule_off(
    governed: Any, tmp_path: Path
) -> None:
    write(tmp_path, governed(envelope(), id="ruled"))
    write(tmp_path, governed(envelope(decisionType="note"), rules=False, id="refunds"))
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    off = {"enabled": False, "reason": "a trial", "approved_by": "ops"}
    for name, changed in (("quiet", "ruled"), ("harmless", "refunds")):
        overlay = {
            "apiVersion": "lictor/v1",
            "kind": "PolicyOverlay",
            "metadata": {"id": name, "title": name, "summary": name, "owner": "ops"},
            "spec": {"packs": [{"id": changed, **off}]},
        }
        (profiles / f"{name}.yaml").write_text(json.dumps(overlay))
    with pytest.raises(PackError, match="every rule is switched off"):
        bundle_directory(tmp_path, ["quiet"])
    config = bundle_directory(tmp_path, ["harmless"]).config
    assert set(config.envelopes) == {"refund", "note"}


def write(folder: Path, pack: Any) -> None:
    path = folder / pack["metadata"]["id"] / "policy.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(pack, indent=1))


def verifying(above: str, *methods: str, reach: str = "medium") -> dict[str, Any]:
    """An envelope that must be verified above a tier, by one of some methods."""
    safe = {"requireIdempotency": True, "requireRollbackAbove": "small", "blastRadiusMax": reach}
    rule = {"requiredAboveBlastRadius": above, "methods": list(methods)}
    return envelope(verification=rule, safeAction=safe)


@pytest.fixture
def linted(governed: Any, tmp_path: Path) -> Any:
    """What lint finds in a pack with one envelope, where two methods are installed."""

    def lint(given: dict[str, Any], methods: Any = ("read_after_write", "invariant_check")) -> Any:
        (tmp_path / "my-pack").mkdir(exist_ok=True)
        pack = governed(given, rules=False)
        pack["metadata"]["id"] = "my-pack"
        (tmp_path / "my-pack/policy.yaml").write_text(json.dumps(pack, indent=1))
        return lint_packs(tmp_path, methods=methods)

    return lint


def test_a_verification_method_that_nobody_has_is_refused_with_its_place(linted: Any) -> None:
    (found,) = linted(verifying("small", "read_after_write", "reed_after_write"))
    assert (found.level, found.check) == ("error", "verification")
    assert found.field == "spec.envelopes.0.verification.methods.1"
    assert found.line is not None
    assert found.problem == "nobody has a verification method reed_after_write"
    assert found.suggestion == "did you mean read_after_write?"
    assert linted(verifying("small", "mine"), ("mine",)) == []
    assert linted(verifying("small", "mine"), None) == [], "nobody knows what there is"


@pytest.mark.parametrize(
    ("above", "reach", "refused"),
    [
        ("none", "tiny", True),
        ("small", "medium", True),
        ("medium", "large", True),
        ("medium", "medium", False),
        ("large", "large", False),
        ("small", "tiny", False),
    ],
)
def test_no_method_is_refused_where_verification_is_mandatory(
    linted: Any, tmp_path: Path, above: str, reach: str, refused: bool
) -> None:
    found = linted(verifying(above, reach=reach))
    assert [each.level for each in found] == ["error"] * refused
    bundled = bundle_directory(tmp_path)
    if refused:
        assert "verification is mandatory" in found[0].problem
        assert found[0].suggestion == "name one"
        with pytest.raises(PackError, match="envelope refund of pack my-pack: verification"):
            refuse_unverifiable(bundled.config.envelopes)
    else:
        refuse_unverifiable(bundled.config.envelopes)
    assert read_bundle(bundled.body).config.envelopes, "what is in force stays readable"
