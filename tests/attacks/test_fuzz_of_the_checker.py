"""A few examples of what `fuzz` tries by the ten thousand: the checker accepts nothing that is false."""

import pytest
from fuzz import kernel_rules, mutated_certificates

from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.certificate.cpc.rules import read_line


def test_no_rule_shows_what_is_false() -> None:
    tally = kernel_rules.fuzz(1_500, seed=15)
    assert tally.wrong == []
    assert tally.applied >= 1_500
    # It tries what can be refused and what can be accepted, or it tries nothing.
    assert tally.refused > 100
    assert tally.right > 100


def test_no_changed_certificate_shows_what_is_false() -> None:
    tally = mutated_certificates.fuzz(150, seed=15)
    assert tally.wrong == []
    assert tally.refused > 50
    assert tally.right > 5


def test_a_wrong_rule_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = read_line("off-by-one | | t:Int s:Int | (= (> t s) (>= t s))")
    monkeypatch.setattr(kernel_rules, "LINES", [wrong])
    monkeypatch.setattr(kernel_rules, "RULES", {**RULES, wrong.name: wrong})
    assert kernel_rules.fuzz(200, seed=15).wrong


def test_the_last_line_tells_how_many_were_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel_rules.main(["--count", "20", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("kernel rules: ")
    assert said.endswith(" 0 wrong\n")
