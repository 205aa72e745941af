"""The steps of checked proofs, one by one, and whether a solver says that each of them follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import z3  # pyright: ignore[reportMissingTypeStubs]
from cpc_instances import written

from lictor_ir.certificate.cpc import check, kernel
from lictor_ir.certificate.cpc.rules import Rule
from lictor_ir.certificate.cpc.terms import Term, Terms

PROOFS = Path(__file__).parent / "certificate" / "proofs"
NAMES = sorted(path.stem for path in PROOFS.glob("*.cpc"))


def texts(name: str) -> tuple[str, str]:
    """The script and the proof of this name."""
    return tuple((PROOFS / f"{name}{end}").read_text("ascii") for end in (".smt2", ".cpc"))  # pyright: ignore[reportReturnType]


@dataclass(frozen=True, eq=False)
class Step:
    """One use of a rule."""

    terms: Terms
    rule: str
    premises: tuple[Term, ...]
    args: tuple[Term, ...]
    shown: Term


@contextmanager
def recorded() -> Iterator[list[Step]]:
    """The steps that are gone through meanwhile."""
    steps: list[Step] = []

    def recording(name: str, rule: Rule) -> Rule:
        def record(terms: Terms, premises: Sequence[Term], args: Sequence[Term]) -> Term:
            shown = rule(terms, premises, args)
            steps.append(Step(terms, name, tuple(premises), tuple(args), shown))
            return shown

        return record

    with patch.object(
        kernel, "RULES", {name: recording(name, rule) for name, rule in kernel.RULES.items()}
    ):
        yield steps


def steps_of(script: str, proof: str) -> list[Step]:
    """The steps of a proof that is accepted."""
    with recorded() as steps:
        check(script, proof)
    return steps


def follows(terms: Terms, premises: Sequence[Term], shown: Term) -> bool | None:
    """Whether a solver finds that the premises imply what is shown; None when it does not know."""
    lines: list[str] = []
    for name, (takes, gives) in terms.declared.items():
        lines.append(f"(declare-fun |{name}| ({' '.join(takes)}) {gives})")
    lines += [f"(assert {written(premise)})" for premise in premises]
    lines.append(f"(assert (not {written(shown)}))")
    solver = z3.Solver()
    solver.set("timeout", 3_000)
    solver.from_string("\n".join(lines))
    found = solver.check()
    return None if found == z3.unknown else found == z3.unsat
