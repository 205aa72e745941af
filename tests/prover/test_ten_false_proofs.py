"""Ten programs that were proved once and break what they promise in plain Python. None of them may be proved.

Some are refused by the front-end, some are undecided, and what a front-end gets wrong about Python, a rehearsal finds:
with the front-end that proved all ten, it found those of `FOUND_BY_REHEARSAL`. The others it can't see: a contract that
means something else than it says, code of the layer, and promises that no run keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lictor_prove.errors import ProveError
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.rehearsal.comparison import DIFFERS
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.rehearsal.rounds import rehearse
from lictor_run.rehearsal.local_stage import LocalStage

HERE = Path(__file__).parent / "ten_programs"
PROGRAMS = sorted(HERE.glob("p*.py"))
PATIENT = ProofSettings(rehearsal_ms=60_000)
SEED = "5eed" * 8
BANK = """
import lictor_layer
from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import balance, charge, text

@lictor_layer.guarantee(c.at_most(5))
def main() -> None:
"""
FOUND_BY_REHEARSAL = {
    "p01_attribute_of_a_pattern": "pass",
    "p02_conversion_in_a_format": "pass",
    "p03_method_of_another_container": "charge('ann', 5)",
    "p04_member_of_an_enum": "pass",
    "p07_length_of_a_range": "if balance('ann') > 3:\n        charge('ann', 5)",
    "p09_value_that_is_left_open": "text()",
}
"""What the front-end took each program for."""


def layer_of(program: Path) -> Layer:
    named = [
        folder
        for folder in (HERE / "layers").iterdir()
        if f"tools.{folder.name}." in program.read_text("utf-8")
    ]
    return load_layer(sorted(named[0].glob("tools/*/trusted")), [named[0]])


@pytest.fixture(scope="module")
def stage() -> Iterator[LocalStage]:
    with LocalStage() as made:
        made.start()
        yield made


def test_there_are_ten() -> None:
    assert len(PROGRAMS) == 10


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_none_of_the_ten_is_proved(program: Path, stage: LocalStage) -> None:
    try:
        layer = layer_of(program)
    except ProveError:
        return  # no program is judged by such a layer
    found = prove(
        program.read_text("utf-8"), name=program.name, layer=layer, settings=PATIENT, seed=SEED
    )
    assert rehearse(found, stage).verdict != "proved"


@pytest.mark.parametrize("name", FOUND_BY_REHEARSAL)
def test_rehearsal_finds_what_a_wrong_document_says(name: str, stage: LocalStage) -> None:
    """The document is that of the program which the front-end took it for; Python is given the program itself."""
    program = HERE / f"{name}.py"
    bank = HERE / "p01_attribute_of_a_pattern.py"
    taken_for = BANK + f"    {FOUND_BY_REHEARSAL[name]}\n"
    wrong = prove(taken_for, name=program.name, layer=layer_of(bank), settings=PATIENT, seed=SEED)
    assert wrong.plan is not None
    try:
        outline = outline_of(layer_of(program))
    except ProveError:
        return
    order = replace(wrong.plan.order, source=program.read_text("utf-8"), outline=outline)
    found = rehearse(replace(wrong, plan=replace(wrong.plan, order=order)), stage)
    assert found.verdict == "unknown"
    assert [reason.code for reason in found.reasons] == [DIFFERS]


@pytest.mark.parametrize(
    "spent", ["for i in range(10 ** 9):\n            pass", "'a' * 2 ** 29", "f'{10 ** 5000}'"]
)
def test_limit_hides_no_call_that_a_wrong_document_does_not_say(
    spent: str, stage: LocalStage
) -> None:
    """The run in which Python does more runs out of something before it does; a runner has more of it."""
    layer = layer_of(HERE / "p01_attribute_of_a_pattern.py")
    taken_for = BANK + "    balance('ann')\n    charge('ann', 5)\n"
    wrong = prove(taken_for, name="spends.py", layer=layer, settings=PATIENT, seed=SEED)
    assert wrong.plan is not None
    more = f"    if balance('ann') > 0:\n        {spent}\n        charge('eve', 1000000)\n    charge('ann', 5)\n"
    order = replace(wrong.plan.order, source=BANK + more)
    found = rehearse(replace(wrong, plan=replace(wrong.plan, order=order)), stage).rehearsal
    assert found is not None
    assert found.runs > 0
    assert found.refused.startswith(f"only {found.runs} of ")


def test_honest_program_is_proved_and_rehearsed(stage: LocalStage) -> None:
    source = BANK + FOUND_BY_REHEARSAL["p07_length_of_a_range"].join(("    ", "\n"))
    layer = layer_of(HERE / "p01_attribute_of_a_pattern.py")
    found = rehearse(
        prove(source, name="honest.py", layer=layer, settings=PATIENT, seed=SEED), stage
    )
    assert found.verdict == "proved"
    assert found.rehearsal is not None
    assert not found.rehearsal.refused
    assert found.rehearsal.sites_reached == 2
    assert found.rehearsal.outcomes_reached == 2
