"""A proof that hangs, crashes or grows without bound is unknown, and whoever asked goes on."""

import subprocess
import sys

import pytest

# In a process of its own: a fork needs one without threads, and the test runner has some.
SCRIPT = """
import os, time
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.workers.limited_proof import prove_limited
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ProofSettings
from lictor_schema.proofs.proof import ProofVerdict

def hangs():
    while True:
        pass

def crashes():
    os.abort()

def grows():
    return bytearray(4 << 30)

def raises():
    raise RuntimeError("a defect")

def is_done():
    return Proof(ProofVerdict.PROVED)

def is_misused():
    raise ProveError("the layer is broken")

settings = ProofSettings(wall_ms=700, memory_mb=256)
try:
    proof = prove_limited({name}, settings)
    print(proof.verdict, *(reason.code for reason in proof.reasons))
except ProverConfigError as error:
    print("config", error)
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hangs", "unknown prover.timeout"),
        ("crashes", "unknown prover.crashed"),
        ("grows", "unknown prover.memory"),
        ("raises", "unknown prover.internal"),
        ("is_done", "proved"),
        ("is_misused", "config the layer is broken"),
    ],
)
def test_what_becomes_of_a_proof(name: str, told: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{name}", name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.strip() == told
