"""What a reason says to do works: a program that is rejected is proved after its remedy is followed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from libs.prove.tests.python_front_end import LAYER, program
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof
from lictor_schema.proofs.proof import ProofVerdict

GUARANTEE = "@lictor_layer.guarantee(c.at_most(40))"


FIELDS = ("parameters", "above")
REMEDIES = yaml.safe_load(Path(__file__).with_name("remedies.yaml").read_text("utf-8"))


def proof_of(body: str, parameters: str = "", above: str = "") -> Proof:
    return prove(program(body, parameters, above, GUARANTEE), name="test.py", layer=LAYER)


@pytest.mark.parametrize(
    "remedy", REMEDIES, ids=lambda each: f"{each['code']}: {each['before'][:40]}"
)
def test_the_program_is_proved_after_following_the_remedy(remedy: dict[str, str]) -> None:
    around = [remedy.get(name, "") for name in FIELDS]
    rejected = proof_of(remedy["before"], *around)
    assert rejected.verdict is ProofVerdict.REJECTED
    found = {each.code: each.remedy for each in rejected.reasons}
    assert remedy["code"] in found
    assert remedy.get("remedy", "") in found[remedy["code"]]
    around = [remedy.get(f"{name}_after", held) for name, held in zip(FIELDS, around, strict=True)]
    proved = proof_of(remedy["after"], *around)
    assert proved.verdict is ProofVerdict.PROVED, proved.reasons


def test_a_very_large_number_is_never_a_question_of_memory() -> None:
    for body in (
        "n = 10 ** 5000\nif number() < n:\n    send('a', 'b')",
        "n = 2 ** 40000 * number()\nif n > 3:\n    send('a', 'b')",
        f"n = {'9' * 4200}\nif number() < n:\n    send('a', 'b')",
    ):
        assert proof_of(body).verdict is ProofVerdict.PROVED
    for body, code in (
        ("n = 2 ** 64 ** 64", "limits.term"),
        (f"n = {'9' * 4400}", "source.syntax"),
        ("n = 7\nfor _ in range(30):\n    n = n * n", "limits.term"),
    ):
        (reason,) = proof_of(body).reasons
        assert reason.code == code
        assert "memory" not in reason.message + reason.remedy
    told = proof_of("send('a', str(10 ** 5000))")
    assert told.verdict is ProofVerdict.REFUTED
    assert "digits" in told.reasons[0].message


def test_a_list_that_a_trusted_call_returned_is_counted() -> None:
    body = "n = names().count('a')\nsend('a', str(n))\ni = names().index('b')"
    assert proof_of(body).verdict is ProofVerdict.PROVED
    promised = "@lictor_layer.guarantee(c.only(['a']))"
    body = "if names().count('a') == 1:\n    send('b', 'x')"
    proof = prove(program(body, guarantee=promised), name="test.py", layer=LAYER)
    assert proof.verdict is not ProofVerdict.PROVED
