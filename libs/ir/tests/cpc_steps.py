"""The steps of checked proofs, one by one, and whether a solver says that each of them follows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

import z3  # pyright: ignore[reportMissingTypeStubs]
from cpc_instances import written

from lictor_ir.certificate.cpc import check, kernel
from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.certificate.cpc.parser import tokens
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


def changed_proof(chance: Random, proof: str) -> str:
    """The proof with one thing changed, of a kind that a forger or a bad disk would change."""
    lines = proof.splitlines()
    steps = [at for at, line in enumerate(lines) if line.startswith(("(step", "(assume"))]
    at, other = chance.choice(steps), chance.choice(steps)
    line = lines[at]
    match chance.randrange(9):
        case 0:
            lines[at] = re.sub(r":rule \S+", f":rule {chance.choice(list(RULES))}", line)
        case 1:
            names = re.findall(r"@p\d+", proof)
            lines[at] = re.sub(r"(?<=[( ])@p\d+(?=[ )])", lambda _: chance.choice(names), line)
        case 2:
            del lines[at]
        case 3:
            lines[at], lines[other] = lines[other], lines[at]
        case 4:
            defined = re.findall(r"@t\d+", proof) or ["true"]
            lines[at] = re.sub(r"@t\d+", lambda _: chance.choice(defined), line, count=1)
        case 5:
            numbered = [where for where, each in enumerate(lines) if re.search(r" -?\d+[ )]", each)]
            where = chance.choice(numbered or [at])
            number = str(chance.randrange(-2, 12))
            lines[where] = re.sub(r"(?<= )-?\d+(?=[ )])", number, lines[where], count=1)
        case 6:
            spelled = [where for where, each in enumerate(lines) if re.search(r'"[^"]+"', each)]
            where = chance.choice(spelled or [at])
            lines[where] = re.sub(r'"[^"]', '"q', lines[where], count=1)
        case 7:
            found = tokens(line)
            swapped = chance.randrange(len(found))
            found[swapped] = chance.choice(tokens(proof))
            lines[at] = " ".join(found)
        case _:
            character = chance.randrange(len(line))
            lines[at] = line[:character] + chr(chance.randrange(32, 127)) + line[character + 1 :]
    return "\n".join(lines)
