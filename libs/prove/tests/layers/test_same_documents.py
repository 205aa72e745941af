"""A program gives the same document in every process: sets have no order that two processes share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from libs.prove.tests.layers_on_disk import mail

CONTRACTS = """
    from lictor_layer import *
    from tools.mail.trusted.effects import send

    KNOWN = frozenset(["a@x", "b@x", "c@x", ("d", 1), frozenset(["e@x", "f@x"])])

    @contract(description="Only {addresses}.")
    def only_those(addresses: set[str]) -> Spec:
        return effect(send).all(lambda e: e.addr in addresses)

    @contract
    def known() -> Spec:
        return effect(send).all(lambda e: e.addr in KNOWN)
"""
PROGRAM = """
from lictor_layer import guarantee
from tools.mail.trusted.effects import send
from tools.mail.trusted.sets import known, only_those

@guarantee(only_those({"a@x", "b@x", "c@x", "d@x"}))
@guarantee(known())
def main():
    send("a@x", "")
"""
READ = """
import sys
from pathlib import Path
from lictor_ir.json.document import document_hash
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of
base = Path(sys.argv[1])
layer = load_layer(discover_trusted_roots([base]), [base])
print(document_hash(document_of(Path(sys.argv[2]).read_text(), name="p.py", layer=layer)))
"""


def test_sets_of_contracts_have_one_order_in_every_process(tmp_path: Path) -> None:
    mail(tmp_path, sets=CONTRACTS)
    program = tmp_path / "p.py"
    program.write_text(PROGRAM, "utf-8")
    found = {
        subprocess.run(
            [sys.executable, "-c", READ, str(tmp_path), str(program)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(1, 5)
    }
    assert len(found) == 1
