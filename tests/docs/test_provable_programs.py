"""The programs in docs/provable-programs.md get the verdicts and reasons that stand below them."""

from __future__ import annotations

import re

from page_tables import ROOT

from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof

TEXT = (ROOT / "docs/provable-programs.md").read_text("utf-8")
ROOTS = [ROOT / "examples/layers"]


def told(proof: Proof) -> str:
    """The verdict, and what there is about guarantees or reasons, as the page has it."""
    guarantees = [f"    {each.verdict.value:<9} {each.name}" for each in proof.guarantees]
    reasons = [f"    {each.message}  [{each.code}]" for each in proof.reasons]
    lines = [proof.verdict.value, *(guarantees or reasons)]
    return "\n".join(lines) + "\n"


def test_the_examples_get_their_verdicts() -> None:
    layer = load_layer(list(discover_trusted_roots(ROOTS)), ROOTS)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    programs = [text for language, text in blocks if language]
    exact, unread, refused = programs
    read = unread.replace("text[:500]", "text")
    assert read != unread
    outputs = [text for language, text in blocks if not language]
    found = [
        told(prove(each, name="example.py", layer=layer)) for each in (exact, unread, read, refused)
    ]
    assert found == outputs
