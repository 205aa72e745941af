"""However many look at a program, its source is parsed once: what is proved, required and covered is of one tree."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path
from typing import Any, Literal

import pytest

from lictor_ir.text.scanner import Scanner
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of, prove
from lictor_schema.proofs.proof import ProofVerdict

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture(scope="module")
def layer() -> Layer:
    base = EXAMPLES / "layers"
    found = load_layer(discover_trusted_roots([base]), [base])
    assert found.policies, "the examples' layer must have policies"
    return found


class Parses:
    """Counts how often one text is parsed, by whatever way."""

    def __init__(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        compile_, scanner = builtins.compile, Scanner.__init__

        # `ast.parse` asks `compile` for a tree, so this sees both.
        def compiling(source: Any, *args: Any, **named: Any) -> Any:
            self.count += source in (text, text.encode()) if isinstance(source, str | bytes) else 0
            return compile_(source, *args, **named)

        def scanning(self_: Scanner, source: str, *args: Any, **named: Any) -> None:
            self.count += source == text
            scanner(self_, source, *args, **named)

        monkeypatch.setattr(builtins, "compile", compiling)
        monkeypatch.setattr(Scanner, "__init__", scanning)


@pytest.mark.parametrize(
    ("name", "language"), [("newsletter.py", "python"), ("newsletter.lictor", "commands")]
)
def test_a_program_is_parsed_once_in_a_whole_proof_under_policies(
    layer: Layer,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    language: Literal["python", "commands"],
) -> None:
    source = (EXAMPLES / "programs" / name).read_text("utf-8")
    parses = Parses(source, monkeypatch)
    proof = prove(source, name=name, layer=layer, language=language)
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.coverage is not None
    assert proof.coverage.domains
    assert parses.count == 1
    document_of(source, name=name, layer=layer, language=language)
    assert parses.count == 2


def test_the_count_sees_every_way_to_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    parses = Parses("x = 1", monkeypatch)
    ast.parse("x = 1")
    compile("x = 1", "<x>", "exec")
    Scanner("x = 1")
    ast.parse("x = 2")
    assert parses.count == 3
