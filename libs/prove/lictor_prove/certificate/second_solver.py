"""cvc5, of another lineage than Z3: asked the same scripts, and for proofs in its CPC format.

It can hang past its own limits, so it is only asked in processes that are killed when their time is up.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final, Literal

NAME: Final = "cvc5"
OPTIONS: Final = {
    "produce-proofs": "true",
    # The finest: what it would otherwise lump into one step is spelled out, rewrite by rewrite.
    "proof-granularity": "dsl-rewrite",
    "strings-exp": "true",
}


@dataclass(frozen=True, slots=True)
class SolverReply:
    """What cvc5 says about a script."""

    answer: Literal["sat", "unsat", "unknown"]
    proof: str | None = None
    """Of unsat, where it could be determined."""


def solver_version() -> str:
    """Which cvc5 is asked."""
    return version(NAME)


def ask(script: str, timeout_ms: int) -> SolverReply:
    """Whether the script's formulas can be true together; unknown too when it can't read or decide them."""
    cvc5: Any = import_module(NAME)
    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in OPTIONS.items():
        solver.setOption(name, value)
    solver.setOption("tlimit-per", str(max(1, timeout_ms)))
    try:
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "goal")
        symbols = parser.getSymbolManager()
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, symbols)
        answer = said.strip()
        if answer == "sat":
            return SolverReply("sat")
        if answer != "unsat":
            return SolverReply("unknown")
    except RuntimeError:  # cvc5's own error, and all that its parser raises
        return SolverReply("unknown")
    try:
        steps = solver.getProof()[0]
        text = solver.proofToString(steps, cvc5.ProofFormat.CPC)
        return SolverReply("unsat", text.decode() if isinstance(text, bytes) else text)
    except (RuntimeError, UnicodeDecodeError, IndexError):
        return SolverReply("unsat")
