"""The layer that the pages point to: its programs have the verdicts that they claim."""

from pathlib import Path

import pytest

from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import prove

EXAMPLES = Path(__file__).parents[4] / "examples"
LAYERS = EXAMPLES / "layers"


@pytest.mark.parametrize(
    ("program", "verdict"), [("newsletter", "proved"), ("newsletter_with_a_copy", "refuted")]
)
def test_the_example_programs_have_their_verdicts(program: str, verdict: str) -> None:
    layer = load_layer(discover_trusted_roots([LAYERS]), [LAYERS])
    source = (EXAMPLES / "programs" / f"{program}.py").read_text(encoding="utf-8")
    proof = prove(source, name=program, layer=layer)
    assert proof.verdict.value == verdict
    (required,) = [result for result in proof.guarantees if result.required_by == "mail"]
    assert (required.name, required.verdict.value) == ("short_texts()", "proved")


def test_columns_that_are_pinned_apart_are_proved_only_from_one_row(tmp_path: Path) -> None:
    root = tmp_path / "tools" / "desk" / "trusted"
    root.mkdir(parents=True)
    (root / "effects.py").write_text(
        "import clauz3\n"
        "class Approval(clauz3.Row):\n    stock: str\n    shares: int\n"
        "@clauz3.ensures(lambda result: len(result) > 0)\n@clauz3.trusted\n"
        "def approvals(desk: str) -> list[Approval]: ...\n"
        "@clauz3.trusted\ndef sell(stock: str, shares: int) -> None: ...\n"
        "Sell = clauz3.effect(sell)\n"
        "@clauz3.contract\ndef stock_from(schema: type) -> clauz3.ContractSpec:\n"
        "    column = schema.stock\n    return Sell.all(lambda e: e.stock == column)\n"
        "@clauz3.contract\ndef shares_from(schema: type) -> clauz3.ContractSpec:\n"
        "    column = schema.shares\n    return Sell.all(lambda e: e.shares == column)\n"
    )
    layer = load_layer([root], [tmp_path])
    head = (
        "import clauz3\nfrom tools.desk.trusted import effects as desk\n"
        "from tools.desk.trusted.effects import Approval, approvals, sell\n"
        "@clauz3.guarantee(desk.stock_from(Approval))\n"
        "@clauz3.guarantee(desk.shares_from(Approval))\n"
        "def main() -> None:\n    rows = approvals('x')\n    for row in rows:\n"
    )
    honest = prove(head + "        sell(row.stock, row.shares)\n", name="honest", layer=layer)
    mixed = prove(head + "        sell(row.stock, rows[0].shares)\n", name="mixed", layer=layer)
    assert honest.verdict.value == "proved"
    assert mixed.verdict.value in ("refuted", "unknown")
    assert [result.verdict.value for result in mixed.guarantees[:2]] == ["proved", "proved"]
