"""What a policy says: reject before ask before allow, and nothing unknown ever helps to approve."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from approval_samples import LAYER, LIMITS, NOW, REHEARSED, proof, request, submission
from hypothesis import given
from hypothesis import strategies as st

from lictor_approval.approval_policy import (
    ProofFindings,
    contracts_named,
    findings,
    judge,
    lifts_rehearsal,
    load_policy,
    needs_certificate,
    needs_findings,
    policy_hash,
    read_policy,
    values_not_looked_at,
    values_of_several_types,
)
from lictor_approval.errors import ConfigRefused
from lictor_approval.request_binding import asked
from lictor_approval.truth import Truth
from lictor_policy.packs.strict_yaml import read_yaml
from lictor_schema.approvals.approval import ApprovalRequest
from lictor_schema.approvals.approval_policy import ApprovalPolicy
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus, DomainCoverage
from lictor_schema.proofs.inputs import written_inputs
from lictor_schema.proofs.proof import CertificateLevel, GuaranteeResult, ProofVerdict
from lictor_schema.proofs.proof_strength import ProofStrength

AT_MOST = {"contract": "tools.mail.trusted.contracts.at_most", "arguments": [50]}
TEXT = "tools.mail.trusted.contracts.at_most(50)"
ALLOW = {"entails": [AT_MOST], "coverage_at_most": "covered_by_entailment"}
YES, NO, UNKNOWN = Truth(True, "yes"), Truth(False, "no"), Truth(None, "who knows")
GOOD = ProofFindings(frozenset({"send_mail"}), {TEXT: YES}, "not looked at", certificate_level="c")


def policy(*rules: dict[str, Any]) -> ApprovalPolicy:
    named = [
        {"name": f"r{number}", "reason": "because", **rule} for number, rule in enumerate(rules)
    ]
    document = {"format": "lictor-approval-policy/v1", "rules": named}
    return read_policy(json.dumps(document).encode(), "policy.yaml")


def rule(decision: str, **when: Any) -> dict[str, Any]:
    return {"decision": decision, "when": when}


def said(
    of: ApprovalPolicy, found: ProofFindings = GOOD, about: Any = None
) -> tuple[str, str | None]:
    verdict = judge(of, about or request(), found)
    return verdict.decision, verdict.rule


def test_without_rules_somebody_is_asked() -> None:
    assert said(policy()) == ("ask", None)


def test_what_is_entailed_and_cleanly_covered_is_allowed() -> None:
    assert said(policy(rule("allow", **ALLOW))) == ("allow", "r0")


@pytest.mark.parametrize(
    "found",
    [
        ProofFindings(),
        replace(GOOD, entailed={}),
        replace(GOOD, entailed={TEXT: NO}),
        replace(GOOD, entailed={TEXT: UNKNOWN}),
        replace(GOOD, entailed={TEXT.replace("50", "51"): YES}),
    ],
)
def test_what_is_not_known_to_be_entailed_is_asked_about(found: ProofFindings) -> None:
    assert said(policy(rule("allow", **ALLOW)), found)[0] == "ask"


@pytest.mark.parametrize("unclear", ["reject", "ask"])
def test_a_rule_that_can_not_be_evaluated_has_somebody_asked_whatever_others_allow(
    unclear: str,
) -> None:
    rules = policy(rule("allow", **ALLOW), rule(unclear, any_effect=["wipe"]))
    assert said(rules) == ("allow", "r0")
    assert said(rules, replace(GOOD, effects=None)) == ("ask", "r1")


def test_a_reject_rule_counts_before_every_other_wherever_it_stands() -> None:
    rules = policy(
        rule("allow", **ALLOW), rule("ask", agents=["agent-7"]), rule("reject", tasks=["t-1"])
    )
    assert said(rules) == ("reject", "r2")


def test_a_reject_rule_that_holds_counts_though_another_is_not_known() -> None:
    rules = policy(rule("reject", not_entailed=[AT_MOST]), rule("reject", agents=["agent-7"]))
    assert said(rules, replace(GOOD, entailed={TEXT: UNKNOWN})) == ("reject", "r1")


TRUTHS = {"yes": YES, "no": NO, "unknown": UNKNOWN}


@pytest.mark.parametrize(
    ("rejects", "allows"), list(itertools.product(TRUTHS, TRUTHS)), ids=lambda each: each
)
def test_the_matrix_of_rules(rejects: str, allows: str) -> None:
    other = {**AT_MOST, "arguments": [7]}
    rules = policy(rule("reject", not_entailed=[other]), rule("allow", **ALLOW))
    # `not_entailed` turns a truth around, and leaves what is unknown unknown.
    turned = {"yes": NO, "no": YES, "unknown": UNKNOWN}[rejects]
    found = replace(GOOD, entailed={TEXT: TRUTHS[allows], TEXT.replace("50", "7"): turned})
    if rejects == "yes":
        expected = "reject"
    elif rejects == "no" and allows == "yes":
        expected = "allow"
    else:
        expected = "ask"
    assert said(rules, found)[0] == expected


truths = st.sampled_from([YES, NO, UNKNOWN])
conditions = st.sampled_from(
    [
        {"agents": ["agent-7"]},
        {"agents": ["other"]},
        {"any_effect": ["send_mail"]},
        {"any_effect": ["wipe"]},
        {"not_entailed": [AT_MOST]},
        {"only_effects": ["send_mail"]},
        {"coverage_at_least": "silent_gap"},
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from(["reject", "ask"]), conditions), max_size=4),
    truths,
    st.booleans(),
)
def test_knowing_less_never_turns_another_answer_into_allow(
    others: list[tuple[str, dict[str, Any]]], truth: Truth, effects_known: bool
) -> None:
    rules = policy(rule("allow", **ALLOW), *(rule(what, **when) for what, when in others))
    known = replace(GOOD, entailed={TEXT: truth})
    less = replace(known, entailed={}, effects=known.effects if effects_known else None)
    if said(rules, known)[0] != "allow":
        assert said(rules, less)[0] != "allow"
    assert said(rules, less)[0] != "allow"


def covered(status: CoverageStatus | None) -> Any:
    mine = request()
    if status is None:
        return mine.model_copy(update={"coverage": None})
    domain = DomainCoverage(domain="mail", when_used=(), used_calls=(), status=status)
    report = CoverageReport(
        program_hash=mine.binding.program_hash, layer_hash=LAYER, level="mention", domains=(domain,)
    )
    return mine.model_copy(update={"coverage": report})


@pytest.mark.parametrize("status", [None, *CoverageStatus])
def test_only_coverage_that_is_good_enough_is_allowed(status: CoverageStatus | None) -> None:
    clean = status in (CoverageStatus.COVERED, CoverageStatus.COVERED_BY_ENTAILMENT)
    rules = policy(rule("allow", **ALLOW))
    assert said(rules, about=covered(status))[0] == ("allow" if clean else "ask")


@pytest.mark.parametrize("status", [None, *CoverageStatus])
def test_bad_coverage_is_rejected_and_unknown_coverage_asked_about(
    status: CoverageStatus | None,
) -> None:
    bad = status in (CoverageStatus.SILENT_GAP, CoverageStatus.REQUIRED_GAP)
    rules = policy(rule("reject", coverage_at_least="silent_gap"))
    assert said(rules, about=covered(status))[0] == ("reject" if bad else "ask")


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"agents": ["agent-7"]}, True),
        ({"agents": ["agent-8"]}, False),
        ({"tasks": ["t-1"]}, True),
        ({"layers": [LAYER]}, True),
        ({"layers": [content_hash("x")]}, False),
        ({"only_effects": ["send_mail", "list_contacts"]}, True),
        ({"only_effects": ["list_contacts"]}, False),
        ({"strength": "every_prefix"}, True),
        ({"strength": "on_completion"}, True),
        ({"certificate": True}, True),
    ],
)
def test_each_condition_restricts_an_allow_rule(when: dict[str, Any], holds: bool) -> None:
    rules = policy(rule("allow", **ALLOW, **when))
    assert said(rules)[0] == ("allow" if holds else "ask")


@pytest.mark.parametrize("strength", [None, ProofStrength.ON_COMPLETION])
def test_a_guarantee_for_fewer_runs_is_not_enough(strength: ProofStrength | None) -> None:
    weak = GuaranteeResult(name="g", verdict=ProofVerdict.PROVED, strength=strength)
    about = request().model_copy(update={"guarantees": (weak,)})
    assert said(policy(rule("allow", **ALLOW, strength="every_prefix")), about=about)[0] == "ask"


def test_only_the_words_of_the_analysis_count_as_answers() -> None:
    contracts = contracts_named(policy(rule("allow", **ALLOW)))
    words = {"implied": True, "not_implied": False, "unknown": None, "IMPLIED": None, "": None}
    for word, holds in words.items():
        found = findings(contracts, ["send_mail"], [(word, "why")], None)
        assert found.entailed[TEXT].holds is holds
    assert findings(contracts, [], [("implied", "")], "it broke").entailed == {}
    assert findings(contracts, [], [], None).entailed == {}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (b"", "is empty"),
        (b"rules: []", "format"),
        (b"a: &x 1\nb: *x", "anchor"),
        (b"format: lictor-approval-policy/v1\nrules: []\nextra: 1", "extra"),
    ],
)
def test_what_is_no_policy_is_refused(source: bytes, why: str) -> None:
    with pytest.raises(ConfigRefused, match=why):
        read_policy(source, "policy.yaml")


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (rule("allow", agents=["a"]), "entails and coverage_at_most"),
        (rule("allow", entails=[AT_MOST]), "entails and coverage_at_most"),
        (rule("allow", entails=[AT_MOST], coverage_at_most="required_gap"), "required gap"),
        (rule("reject"), "must give a condition"),
        (rule("reject", agents=None), "must give a condition"),
        (rule("reject", agents=[]), "agents"),
        (rule("maybe", agents=["a"]), "decision"),
        (rule("reject", agnets=["a"]), "agnets"),
        (rule("reject", entails=[{"contract": "__import__('os')"}]), "contract"),
        (rule("ask", certificate=False), "certificate"),
    ],
)
def test_a_rule_that_says_too_little_or_something_else_is_refused(
    broken: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigRefused, match=why):
        policy(broken)


def test_two_rules_of_one_name_are_refused() -> None:
    twice = {**rule("ask", agents=["a"]), "name": "same"}
    with pytest.raises(ConfigRefused, match="one name"):
        policy(twice, twice)


def test_a_policy_has_a_name_and_tells_what_it_needs(tmp_path: Path) -> None:
    plain, entailing = policy(rule("ask", agents=["a"])), policy(rule("allow", **ALLOW))
    assert policy_hash(plain) != policy_hash(entailing)
    assert (needs_findings(plain), needs_findings(entailing)) == (False, True)
    with pytest.raises(ConfigRefused, match="can't be read"):
        load_policy(tmp_path / "nowhere.yaml")


# -- certificates ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "shown", "said_then"),
    [
        ("a", "a", "allow"),
        ("a", "c", "allow"),
        ("b", "a", "ask"),
        ("c", "b", "ask"),
        ("c", "c", "allow"),
        ("a", None, "ask"),
    ],
)
def test_a_certificate_counts_for_what_it_was_found_to_show_not_for_what_the_prover_says(
    wanted: str, shown: Any, said_then: str
) -> None:
    submitted = submission()
    proved = proof(submitted, certificate_hash=content_hash("cert"), certificate_level="c")
    about = asked(submitted, 3, proved, 5, at=NOW, within=LIMITS.decide_within)
    assert about.binding.certificate_level == "c"
    rules = policy(rule("allow", **ALLOW, certificate_level_at_least=wanted))
    assert needs_certificate(rules)
    found = replace(GOOD, certificate_level=shown)
    assert said(rules, found, about)[0] == said_then


def without_certificate() -> ApprovalRequest:
    submitted = submission()
    proved = proof(submitted, certificate_hash=None, certificate_level=None)
    return asked(submitted, 3, proved, 5, at=NOW, within=LIMITS.decide_within)


@pytest.mark.parametrize("wanted", [{}, {"certificate_level_at_least": "a"}, {"certificate": True}])
def test_without_a_certificate_nothing_is_allowed_whatever_the_rule_says(
    wanted: dict[str, Any],
) -> None:
    rules = policy(rule("allow", **ALLOW, **wanted))
    assert said(rules, about=request())[0] == "allow"
    assert said(rules, about=without_certificate())[0] == "ask"


@pytest.mark.parametrize("shown", [None, "a", "b"])
def test_a_rule_that_does_not_say_how_much_allows_only_what_no_solver_is_believed_for(
    shown: CertificateLevel | None,
) -> None:
    rules = policy(rule("allow", **ALLOW))
    assert needs_certificate(rules)
    assert said(rules, replace(GOOD, certificate_level=shown))[0] == "ask"
    assert not needs_certificate(policy(rule("reject", tasks=["t-1"])))


def with_rehearsal(**changes: Any) -> ApprovalRequest:
    submitted = submission()
    found = proof(submitted, rehearsal=REHEARSED.model_copy(update=changes) if changes else None)
    return asked(submitted, 3, found, 5, at=NOW, within=LIMITS.decide_within)


@pytest.mark.parametrize(
    "about",
    [with_rehearsal(), with_rehearsal(refused="no seccomp"), with_rehearsal(runs=0)],
    ids=["of-before", "refused", "no-run"],
)
def test_what_was_not_rehearsed_is_allowed_only_by_a_rule_that_says_so(
    about: ApprovalRequest,
) -> None:
    rules = policy(rule("allow", **ALLOW))
    assert said(rules, about=request())[0] == "allow"
    assert said(rules, about=about)[0] == "ask"
    assert said(policy(rule("allow", **ALLOW, rehearsed=True)), about=about)[0] == "ask"
    lifted = policy(rule("allow", **ALLOW, rehearsed=False))
    assert said(lifted, about=about)[0] == "allow"
    assert said(lifted, about=request())[0] == "allow"
    assert (lifts_rehearsal(rules), lifts_rehearsal(lifted)) == ((), ("r0",))
    assert said(policy(rule("reject", rehearsed=False)), about=about)[0] == "reject"
    assert said(policy(rule("reject", rehearsed=False)), about=request())[0] == "ask"


@pytest.mark.parametrize(("wanted", "then"), [(0, "allow"), (80, "allow"), (81, "ask")])
def test_rehearsal_covers_as_much_as_a_rule_demands_of_what_can_be_reached(
    wanted: int, then: str
) -> None:
    rules = policy(rule("allow", **ALLOW, rehearsal_coverage_at_least=wanted))
    assert said(rules)[0] == then
    lifted = policy(rule("allow", **ALLOW, rehearsed=False, rehearsal_coverage_at_least=wanted))
    assert said(lifted, about=with_rehearsal())[0] == "ask"


def test_a_policy_of_before_keeps_its_name() -> None:
    rules = policy(rule("allow", **ALLOW))
    assert "rehears" not in rules.to_json().decode()


# -- values ----------------------------------------------------------------------------------------


def with_values(**values: Any) -> ApprovalRequest:
    return request(inputs=written_inputs(values))


def test_a_rule_that_says_nothing_of_values_allows_no_program_that_is_given_any() -> None:
    """What is proved holds for every value; a rule that was written before there were any looked at none."""
    rules = policy(rule("allow", **ALLOW))
    assert said(rules, about=request()) == ("allow", "r0")
    assert said(rules, about=with_values(limit=50)) == ("ask", None)
    verdict = judge(rules, with_values(limit=50), GOOD)
    assert verdict.judged[0].truth.why == "it does not say what limit may be"


def test_a_rule_that_allows_has_to_name_every_value() -> None:
    rules = policy(rule("allow", **ALLOW, inputs={"limit": {"any": True}}))
    assert said(rules, about=with_values(limit=50)) == ("allow", "r0")
    assert said(rules, about=with_values(limit=50, to="ada")) == ("ask", None)
    assert said(rules, about=request()) == ("ask", None)


@pytest.mark.parametrize(
    ("wanted", "value", "holds"),
    [
        ({"at_most": 50}, 50, True),
        ({"at_most": 50}, 51, False),
        ({"at_most": 50}, 50.5, False),
        ({"at_most": 50}, float("inf"), False),
        ({"at_most": 50}, 2**60, False),
        ({"at_least": 1, "at_most": 50}, 0, False),
        ({"at_least": 1, "at_most": 50}, 1.5, True),
        ({"at_most": 50}, float("nan"), None),
        ({"at_most": 50}, "50", None),
        ({"at_most": 50}, True, None),
        ({"one_of": ["ada", "bob"]}, "ada", True),
        ({"one_of": ["ada", "bob"]}, "Ada", False),
        ({"one_of": [1]}, True, None),
        ({"one_of": [1]}, 1.0, None),
        ({"one_of": [1, 100], "at_most": 50}, 100, False),
    ],
)
def test_values_are_compared_exactly_and_what_has_no_order_is_unknown(
    wanted: Any, value: Any, holds: bool | None
) -> None:
    about = with_values(x=value)
    (allowing,) = judge(policy(rule("allow", **ALLOW, inputs={"x": wanted})), about, GOOD).judged
    assert allowing.truth.holds is holds
    decisions = {True: "reject", False: "ask", None: "ask"}
    rejecting = policy(rule("reject", inputs={"x": wanted}))
    assert said(rejecting, about=about)[0] == decisions[holds]


@pytest.mark.parametrize(
    ("named", "value", "holds"),
    [
        ("0.5, 1.5", 1.5, True),
        ("0.5, 1.50", 1.5, True),
        ("0.5, 1.5", 2.5, False),
        ("0.1", 0.1, True),
        ("1.5", "1.5", True),
        ("1.5", 1, None),
        ("-0.0", -0.0, True),
        ("-0.0", 0.0, None),
        ("0.0", -0.0, None),
        ("nan", float("nan"), True),
        ("nan", 1.0, False),
        ("inf", float("inf"), True),
        (".inf", float("inf"), None),
        ("1e+16", 1e16, True),
        ("1e400", float("inf"), None),
        ("1_0.0", 10.0, None),
        ("9007199254740993", 2**53 + 1, True),
        ("9007199254740993", 2**53, False),
        ("9007199254740993", float(2**53), None),
        ("9007199254740993", "9007199254740993", True),
        ("1000000000000000", 10**15, True),
        ("-9007199254740993", -(2**53) - 1, True),
        ("0009007199254740993", 2**53 + 1, None),
        (str(2**8191), 2**8191, True),
        ("9" * 3000, 1, None),
        ("'5'", 5, None),
        ("ada", 5, None),
        ("true", "true", None),
        ("true", True, True),
        ("false", True, False),
        ("yes", True, None),
        ("1, ada", 2, None),
        ("1, ada", 1, True),
        ("2026-01-01", "2026-01-01", True),
    ],
)
def test_what_is_named_means_what_the_value_is_and_is_unknown_where_it_can_not(
    named: str, value: Any, holds: bool | None
) -> None:
    """YAML without surprises reads `1.5` as a text; a rule that rejects 1.5 must not wave the float through."""
    about = with_values(x=value)
    decisions = {True: "reject", False: "allow", None: "ask"}
    rejecting = read_policy(
        f"""
format: lictor-approval-policy/v1
rules:
  - {{name: no, decision: reject, reason: r, when: {{inputs: {{x: {{one_of: [{named}]}}}}}}}}
  - name: yes
    decision: allow
    reason: r
    when:
      inputs: {{x: {{any: true}}}}
      coverage_at_most: covered_by_entailment
      entails: [{{contract: tools.mail.trusted.contracts.at_most, arguments: [50]}}]
""".encode(),
        "policy.yaml",
    )
    assert said(rejecting, about=about)[0] == decisions[holds]
    literals = read_yaml(f"[{named}]".encode()).data
    allowing = policy(rule("allow", **ALLOW, inputs={"x": {"one_of": literals}}))
    assert (said(allowing, about=about)[0] == "allow") is (holds is True)


def test_bounds_beside_names_settle_what_the_names_leave_open() -> None:
    both = policy(rule("reject", inputs={"x": {"one_of": ["ada"], "at_most": 5}}))
    assert judge(both, with_values(x=6), GOOD).judged[0].truth.holds is False
    assert judge(both, with_values(x=5), GOOD).judged[0].truth.holds is None


def test_names_of_several_types_are_told() -> None:
    def several(*named: Any) -> bool:
        return bool(
            values_of_several_types(policy(rule("reject", inputs={"x": {"one_of": [*named]}})))
        )

    assert several(1, "ada")
    assert several(1, True)
    assert several(1, "2.5")
    assert not several(1, "9007199254740993")
    assert not several("1.0", "2.5", "-0.0")
    assert not several("ada", "2.5")


def test_a_rule_that_rejects_may_look_at_one_value_of_several() -> None:
    rules = policy(rule("reject", inputs={"limit": {"at_least": 1000}}))
    assert said(rules, about=with_values(limit=1000, to="ada"))[0] == "reject"
    assert said(rules, about=with_values(to="ada"))[0] == "ask"


@pytest.mark.parametrize(
    "wanted", [{}, {"any": True, "at_most": 5}, {"any": False}, {"one_of": [1, None]}]
)
def test_a_condition_on_a_value_says_one_thing(wanted: Any) -> None:
    with pytest.raises(ConfigRefused):
        policy(rule("reject", inputs={"x": wanted}))


def test_a_rule_that_allows_whatever_value_is_named_and_older_policies_keep_their_hash() -> None:
    rules = policy(rule("allow", **ALLOW, inputs={"x": {"any": True}}), rule("allow", **ALLOW))
    assert values_not_looked_at(rules) == ("r0",)
    assert b"inputs" not in policy(rule("allow", **ALLOW)).to_json()
