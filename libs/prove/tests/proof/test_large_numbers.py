"""Numbers of thousands of digits: every program with one gets a verdict, or is told what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from libs.prove.tests.layers_on_disk import write
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.proof import ProofVerdict

EFFECTS = """
    from lictor_layer import Spec, contract, effect, requires, trusted

    @trusted
    def balance() -> int:
        return 0

    @trusted
    def amounts() -> list[int]:
        return []

    @requires(lambda amount: amount > 0, message="an amount")
    @trusted
    def pay(to: str, amount: int) -> None:
        '''Pays.'''

    Pay = effect(pay)

    @contract
    def each_at_most(most: int) -> Spec:
        return Pay.all(lambda e: e.amount <= most)
"""
HUGE = "10**5000"
SHORT = ProofSettings(goal_ms=500, total_ms=2_000)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    base: Path = tmp_path_factory.mktemp("layers")
    write(base, {"effects": EFFECTS}, "tools/pay/trusted")
    return load_layer(discover_trusted_roots([base]), [base])


@pytest.mark.parametrize(
    "body",
    [
        f"pay('a', [1, 2][{HUGE}])",
        f"pay('a', (1, 2)[-{HUGE}])",
        f"pay('a', {{1: 3}}[{HUGE}])",
        f"x = {{1: 3}}; x.pop({HUGE})",
        f"x = {{1, 2}}; x.remove({HUGE})",
        f"x = [1]; x.remove({HUGE})",
        f"x = [1]; x.pop({HUGE})",
        f"x = [1]; x[{HUGE}] = 3",
        f"pay('abc'[{HUGE}], 1)",
        f"pay('a', amounts()[{HUGE}])",
        f"pay('a', amounts()[-{HUGE}])",
        f"pay('a' * {HUGE}, 1)",
        f"pay('a', [1, 2].index({HUGE}))",
        f"for i in range({HUGE}): pay('a', 1)",
        f"for i in range(balance() + {HUGE}): pay('a', i)",
        f"pay(str({HUGE}), 1)",
        f"pay(f'{{{HUGE}}}', 1)",
        f"pay(chr({HUGE}), 1)",
        f"pay('a', {HUGE} // 0)",
        f"pay('a', 1 << {HUGE})",
        f"pay('a', float({HUGE}))",
        f"pay('a', {HUGE}.count)",
        f"pay({HUGE}, 1)",
        f"raise ValueError({HUGE})",
        "pay('a', 2**100000)",
        "pay('a', 10**10**10)",
        f"n = balance()\n    if n > {HUGE}: pay('a', n * n)",
        f"pay('a', max({HUGE}, balance()))",
        f"assert balance() == {HUGE}",
    ],
)
def test_every_program_with_a_very_large_number_gets_a_verdict(layer: Layer, body: str) -> None:
    source = (
        "from tools.pay.trusted.effects import amounts, balance, each_at_most, pay\n"
        "from lictor_layer import guarantee\n"
        "@guarantee(each_at_most(5))\n"
        f"def main() -> None:\n    {body}\n"
    )
    proof = prove(source, name="p.py", layer=layer, settings=SHORT)
    for reason in proof.reasons:
        assert "memory" not in reason.message + reason.remedy
        assert "int_max_str_digits" not in reason.message
    # Each of them fails or breaks the guarantee; whether that is found in the time depends on the machine.
    assert proof.verdict is not ProofVerdict.PROVED
