"""Coverage by what is proved: every status, what counts as implied, and what never helps."""

from pathlib import Path
from textwrap import dedent
from typing import Literal

import pytest

from libs.prove.tests.layers_on_disk import EFFECTS, write
from lictor_ir.analysis import Budget, analyze
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.layers.signature import signature_of
from lictor_prove.proof.prover import Proof, prove
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.coverage import CoverageStatus, DomainCoverage

CONTRACTS = """
    from lictor_layer import Spec, contract, effect
    from tools.mail.trusted.effects import send

    Send = effect(send)

    @contract
    def only(addresses: list[str]) -> Spec:
        return Send.all(lambda e: e.addr in addresses)

    @contract
    def unique() -> Spec:
        return Send.distinct(lambda e: e.addr)

    @contract
    def few() -> Spec:
        return Send.count() <= 5

    @contract
    def at_most(n: int) -> Spec:
        return Send.count() <= n

    @contract
    def exactly(n: int) -> Spec:
        return Send.count() == n

    @contract
    def some() -> Spec:
        return Send.count() >= 1

    @contract
    def some_but_few() -> Spec:
        return (Send.count() >= 1) & (Send.count() <= 5)

    @contract
    def addressed() -> Spec:
        return Send.all(lambda e: "@" in e.addr)
"""
MAIL_POLICY = """
    from lictor_layer import domain_policy
    POLICY = domain_policy(when_used="send", recommended=["unique", "few"], label="mail")
"""
BANK = {
    "effects": "from lictor_layer import trusted\n@trusted\ndef pay(to: str, sum: int) -> None: ...\n",
    "contracts": """
        from lictor_layer import Spec, contract, effect

        @contract
        def only(accounts: list[str]) -> Spec:
            return effect("pay").all(lambda e: e.to in accounts)

        @contract
        def to_bob() -> Spec:
            return effect("pay").all(lambda e: e.to == "bob")

        @contract
        def payments(n: int) -> Spec:
            return effect("pay").count() <= n

        @contract
        def once() -> Spec:
            return effect("pay").count() <= 1
    """,
    "policy": """
        from lictor_layer import domain_policy
        POLICY = domain_policy(when_used="pay", recommended=["to_bob"], required=["once"], label="bank")
    """,
}
IMPORTS = """
from lictor_layer import guarantee
from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import send
from tools.bank.trusted import contracts as bank
from tools.bank.trusted.effects import pay
"""


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return layer_with(tmp_path_factory.mktemp("layer"), MAIL_POLICY)


def layer_with(base: Path, policy: str) -> Layer:
    write(base, {"effects": EFFECTS, "contracts": CONTRACTS, "policy": policy})
    write(base, BANK, "tools/bank/trusted")
    return load_layer(discover_trusted_roots([base]), [base])


def proof(layer: Layer, text: str, settings: ProofSettings | None = None) -> Proof:
    # A loaded machine must not turn an implication into a gap.
    return prove(
        IMPORTS + dedent(text),
        name="p.py",
        layer=layer,
        settings=settings or ProofSettings(analysis_ms=10_000),
    )


def covered(layer: Layer, text: str) -> DomainCoverage:
    report = proof(layer, text).coverage
    assert report is not None
    assert report.level == "entailment"
    (domain,) = report.domains
    return domain


SEND = 'def main():\n    send("a@b", "x")\n'
PAY = 'def main():\n    pay("bob", 1)\n'


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("@guarantee(mail.unique())\n@guarantee(mail.few())\n" + SEND, "covered"),
        ("@guarantee(mail.at_most(1))\n" + SEND, "covered_by_entailment"),
        ("@guarantee(mail.unique())\n@guarantee(mail.at_most(4))\n" + SEND, "covered_by_entailment"),
        ('@guarantee(mail.unique())\n@guarantee(mail.only(["a@b"]))\n' + SEND, "covered_by_entailment"),
        ("@guarantee(mail.at_most(3))\n" + SEND, "recommended_gap"),
        ("@guarantee(mail.at_most(6))\n" + SEND, "recommended_gap"),
        (SEND, "silent_gap"),
        ("@guarantee(bank.payments(0))\n" + SEND, "silent_gap"),
        ('@guarantee(bank.to_bob())\n' + PAY, "required_enforced"),
        ('@guarantee(bank.only(["bob"]))\n' + PAY, "required_enforced"),
        (PAY, "silent_gap"),
        ('@guarantee(bank.only(["bob"]))\n@guarantee(bank.payments(1))\n' + PAY, "covered_by_entailment"),
        ('@guarantee(bank.to_bob())\n@guarantee(bank.once())\n' + PAY, "covered"),
        ('@guarantee(bank.only(["bob"]))\n' + PAY + '    pay("bob", 2)\n', "required_gap"),
        ("@guarantee(bank.payments(1))\n" + PAY, "recommended_gap"),
    ],
)  # fmt: skip
def test_a_used_domain_has_one_of_the_documented_statuses(
    layer: Layer, text: str, status: str
) -> None:
    assert covered(layer, text).status.value == status


def test_the_report_tells_what_was_stated_implied_enforced_and_missed(layer: Layer) -> None:
    domain = covered(layer, "@guarantee(mail.at_most(3))\n" + SEND)
    assert (domain.stated, domain.entailed) == (("at_most",), ("few",))
    assert (domain.missing_recommended, domain.missing_required) == (("unique",), ())
    domain = covered(layer, '@guarantee(bank.only(["bob"]))\n' + PAY)
    assert (domain.enforced, domain.missing_required) == (("once",), ())
    domain = covered(layer, '@guarantee(bank.only(["bob"]))\n' + PAY + '    pay("bob", 2)\n')
    assert (domain.enforced, domain.missing_required) == ((), ("once",))


def test_a_contract_that_takes_arguments_is_covered_only_by_its_name_and_that_is_told(
    tmp_path: Path,
) -> None:
    layer = layer_with(tmp_path, MAIL_POLICY.replace('["unique", "few"]', '["at_most"]'))
    domain = covered(layer, "@guarantee(mail.at_most(1_000_000_000_000))\n" + SEND)
    assert (domain.status, domain.by_name) == (CoverageStatus.COVERED_BY_NAME, ("at_most",))
    assert "at_most is named, and what it was given is compared with nothing" in domain.told()
    domain = covered(layer, "@guarantee(mail.few())\n" + SEND)
    assert (domain.status, domain.missing_recommended) == (
        CoverageStatus.RECOMMENDED_GAP,
        ("at_most",),
    )


@pytest.mark.parametrize(
    ("stated", "status"),
    [
        ("at_most(100)", "covered"),
        ("at_most(n=100)", "covered"),
        ("at_most(3)", "covered_by_entailment"),
        ("exactly(1)", "recommended_gap"),
        ("at_most(101)", "recommended_gap"),
        ("at_most(1_000_000_000_000)", "recommended_gap"),
    ],
)
def test_a_recommended_argument_is_compared_with_what_is_proved(
    tmp_path: Path, stated: str, status: str
) -> None:
    layer = layer_with(tmp_path, MAIL_POLICY.replace('["unique", "few"]', '["at_most(100)"]'))
    domain = covered(layer, f"@guarantee(mail.{stated})\n" + SEND)
    assert (domain.status.value, domain.by_name) == (status, ())
    assert domain.missing_recommended == (("at_most(100)",) if "gap" in status else ())


def test_what_a_function_demands_is_not_what_the_program_said(tmp_path: Path) -> None:
    layer = layer_with(tmp_path, MAIL_POLICY.replace('["unique", "few"]', '["addressed"]'))
    assert covered(layer, SEND).status is CoverageStatus.SILENT_GAP
    domain = covered(layer, '@guarantee(mail.only(["a@b", "c@d"]))\n' + SEND)
    assert (domain.status, domain.entailed) == (
        CoverageStatus.COVERED_BY_ENTAILMENT,
        ("addressed",),
    )


def test_what_holds_of_completed_runs_alone_implies_only_what_is_about_their_end(
    tmp_path: Path,
) -> None:
    layer = layer_with(tmp_path, MAIL_POLICY.replace('["unique", "few"]', '["few", "some"]'))
    domain = covered(layer, "@guarantee(mail.exactly(1))\n" + SEND)
    # A count that is exact in the end says nothing about runs that end early.
    assert (domain.entailed, domain.missing_recommended) == (("some",), ("few",))


def test_a_contract_that_is_about_the_end_in_part_must_hold_of_early_ends_in_the_rest(
    tmp_path: Path,
) -> None:
    layer = layer_with(tmp_path, MAIL_POLICY.replace('["unique", "few"]', '["some_but_few"]'))
    domain = covered(layer, "@guarantee(mail.exactly(1))\n" + SEND)
    assert (domain.entailed, domain.missing_recommended) == ((), ("some_but_few",))
    text = "@guarantee(mail.exactly(1))\n@guarantee(mail.at_most(1))\n" + SEND
    assert covered(layer, text).entailed == ("some_but_few",)


def test_what_was_not_proved_implies_nothing(layer: Layer) -> None:
    broken = "@guarantee(mail.at_most(1))\n" + SEND + '    send("c@d", "y")\n'
    domain = covered(layer, broken)
    assert (domain.status, domain.entailed) == (CoverageStatus.RECOMMENDED_GAP, ())


def test_without_time_nothing_is_implied_and_the_verdict_is_the_same(layer: Layer) -> None:
    text = "@guarantee(mail.at_most(1))\n" + SEND
    found = proof(layer, text, ProofSettings(analysis_ms=0))
    assert found.verdict.value == "proved"
    assert found.analysis is None
    assert found.coverage is not None
    assert found.coverage.worst is CoverageStatus.RECOMMENDED_GAP


def test_mention_stays_available_for_comparison(layer: Layer) -> None:
    text = "@guarantee(mail.at_most(1))\n" + SEND
    found = proof(layer, text, ProofSettings(coverage="mention"))
    assert found.coverage is not None
    assert (found.coverage.level, found.coverage.worst.value) == ("mention", "recommended_gap")
    text = "@guarantee(bank.to_bob())\n" + PAY
    found = proof(layer, text, ProofSettings(coverage="mention"))
    assert found.coverage is not None
    # It was not stated. It was proved all the same, and no report may say otherwise.
    assert found.coverage.worst is CoverageStatus.REQUIRED_ENFORCED


@pytest.mark.parametrize("level", ["mention", "entailment"])
def test_what_was_required_and_proved_is_no_gap_though_the_program_breaks_something_else(
    layer: Layer, level: Literal["mention", "entailment"]
) -> None:
    text = '@guarantee(bank.only(["ann"]))\n' + PAY
    found = proof(layer, text, ProofSettings(coverage=level, analysis_ms=10_000))
    assert [(each.name, each.verdict.value) for each in found.guarantees] == [
        ("only(['ann'])", "refuted"),
        ("once()", "proved"),
    ]
    assert found.coverage is not None
    (domain,) = found.coverage.domains
    assert (domain.enforced, domain.missing_required) == (("once",), ())


# -- how guarantees stand --------------------------------------------------------------------------------


def test_a_proof_tells_which_guarantees_the_others_imply(layer: Layer) -> None:
    text = "@guarantee(mail.at_most(1))\n@guarantee(mail.few())\n@guarantee(mail.unique())\n" + SEND
    found = proof(layer, text).analysis
    assert found is not None
    assert found.is_complete
    assert [(each.is_redundant, each.implied_by) for each in found.standings] == [
        (False, ()),
        (True, ("at_most(1)",)),
        (True, ("at_most(1)",)),
    ]
    assert found.standings[0].witness == ("send(addr='~', text='~')",) * 2


def test_what_a_function_demands_makes_no_guarantee_redundant(layer: Layer) -> None:
    text = '@guarantee(mail.addressed())\n@guarantee(mail.only(["a@b", "c@d"]))\n' + SEND
    found = proof(layer, text)
    assert found.analysis is not None
    told = [(each.is_redundant, each.implied_by) for each in found.analysis.standings]
    assert told == [(True, ("only(['a@b', 'c@d'])",)), (False, ())]
    found = proof(layer, "@guarantee(mail.addressed())\n" + SEND)
    assert found.analysis is not None
    assert [each.is_redundant for each in found.analysis.standings] == [False]
    # Asked as `lictor ir analyze` does, the answer is the same.
    assert found.ir is not None
    document = found.ir.document
    asked = analyze(
        signature_of(layer, document),
        [each.contract for each in document.guarantees],
        Budget(60_000),
    )
    assert (asked.reduction.kept, asked.reduction.redundant) == ((0,), ())


def test_a_guarantee_about_what_a_program_never_does_is_vacuous(layer: Layer) -> None:
    text = (
        '@guarantee(mail.unique())\n@guarantee(bank.only(["bob"]))\n@guarantee(bank.payments(0))\n'
    )
    found = proof(layer, text + SEND).analysis
    assert found is not None
    # What forbids is no promise about what happens: it holds because nothing does.
    assert [each.is_vacuous for each in found.standings] == [False, True, False]
    dead = "@guarantee(mail.unique())\ndef main():\n    if False:\n        send('a@b', 'x')\n"
    found = proof(layer, dead).analysis
    assert found is not None
    assert found.standings[0].is_vacuous


def test_a_guarantee_that_no_program_can_keep_is_told_so(layer: Layer) -> None:
    text = "@guarantee(mail.at_most(-1))\n@guarantee(mail.only([]))\n" + SEND
    found = proof(layer, text)
    assert found.verdict.value == "refuted"
    assert found.analysis is not None
    told = [each.possibility.value for each in found.analysis.standings]
    assert told == ["impossible", "only_trivial"]


def test_a_refuted_program_shows_itself_that_its_guarantee_says_something(layer: Layer) -> None:
    text = '@guarantee(mail.only(["c@d"]))\n' + SEND
    found = proof(layer, text).analysis
    assert found is not None
    (standing,) = found.standings
    assert standing.is_redundant is False
    assert standing.witness == ("send(addr='a@b', text='x')",)
