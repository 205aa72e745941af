"""A few examples of what `./taskw fuzz` tries by the thousand, and what it prints."""

from dataclasses import replace
from pathlib import Path

import pytest
from differential import Differential
from fuzz import kernel_rules, mutated_certificates, programs, run, stream_readers
from fuzz.tally import Tally

from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.certificate.cpc.rules import read_line
from lictor_ir.document import Document
from lictor_local.embedded_servers import Endpoints


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


def test_no_generated_program_does_what_its_document_does_not_say() -> None:
    tally = programs.fuzz(60, seed=16)
    assert tally.wrong == []
    assert tally.applied == 60
    assert tally.right > 20


def test_a_program_that_parts_from_its_document_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Differential.read

    def without_effects(differential: Differential, source: str) -> Document:
        return replace(read(differential, source), atoms=(), obligations=())

    monkeypatch.setattr(Differential, "read", without_effects)
    assert any("Mismatch" in each for each in programs.fuzz(20, seed=16).wrong)


async def test_random_foreign_messages_stop_no_reader(clean_infra: Endpoints) -> None:
    tally = await stream_readers.fuzz_server(clean_infra.nats_url, count=150, seed=15)
    assert tally.wrong == []
    assert tally.refused == tally.applied == 150


def test_a_wrong_rule_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = read_line("off-by-one | | t:Int s:Int | (= (> t s) (>= t s))")
    monkeypatch.setattr(kernel_rules, "LINES", [wrong])
    monkeypatch.setattr(kernel_rules, "RULES", {**RULES, wrong.name: wrong})
    assert kernel_rules.fuzz(200, seed=15).wrong


def test_the_table_tells_how_many_were_wrong_and_so_does_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--target", "kernel-rules", "--count", "20", "--seed", "3"]
    assert run.main(arguments) == 0
    heading, row = capsys.readouterr().out.splitlines()
    told = dict(zip(heading.split(), row.split(), strict=True))
    assert told["target"] == "kernel-rules"
    assert int(told["applied"]) >= 20
    assert told["wrong"] == "0"

    wrong = run.Target(lambda _count, _seed, _told: Tally(applied=1, wrong=["this"]), 1)
    monkeypatch.setattr(run, "TARGETS", {"kernel-rules": wrong})
    assert run.main([]) == 1
    assert "WRONG this" in capsys.readouterr().out


def test_every_fuzz_module_has_a_target() -> None:
    modules = {path.stem for path in Path(run.__file__).parent.glob("*.py")}
    targets = {target.fuzz.__module__.removeprefix("fuzz.") for target in run.TARGETS.values()}
    assert modules - {"run", "tally"} == targets
