"""Real proofs of cvc5 are accepted, for their own script only, and whatever is done to them leaves nothing wrong."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random

import pytest
import z3  # pyright: ignore[reportMissingTypeStubs]
from cpc_instances import written
from cpc_steps import NAMES, changed_proof, follows, recorded, texts

import lictor_ir.certificate.cpc
from lictor_ir.certificate.cpc import InvalidProof, Refutation, UnknownRule, check
from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.errors import IrError

MAX_CODE = 1_000
"""Lines of the whole checker, its table too, without docstrings, comments and blank ones."""
MAX_LINES = 1_260
"""All lines of it."""


def accepted(script: str, proof: str) -> Refutation | None:
    try:
        return check(script, proof)
    except (InvalidProof, UnknownRule):
        return None


@pytest.mark.parametrize("name", NAMES)
def test_real_proof_is_accepted(name: str) -> None:
    script, proof = texts(name)
    found = check(script, proof)
    assert found.steps == proof.count(":rule") == sum(found.rules.values())
    assert set(found.rules) <= {*RULES, "scope"}


def test_proof_is_of_its_own_script_only() -> None:
    for name in NAMES:
        for other in NAMES:
            assert (name == other) == (accepted(texts(other)[0], texts(name)[1]) is not None)


@pytest.mark.parametrize("name", NAMES)
def test_script_without_one_of_its_assertions_is_not_refuted(name: str) -> None:
    """Unless the proof does not need it."""
    script, proof = texts(name)
    needed = proof.count("(assume ")
    dropped = 0
    for line in [line for line in script.splitlines() if line.startswith("(assert")]:
        dropped += accepted(script.replace(f"{line}\n", "", 1), proof) is None
    assert dropped >= min(needed, len(set(re.findall(r"^\(assert.*", script, re.M))))


def lines_of_code(text: str) -> int:
    """Lines that are not blank, comments or docstrings."""
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        bool(line.strip()) and line.strip()[0] != "#" and at not in docstrings
        for at, line in enumerate(text.splitlines(), 1)
    )


def test_the_checker_is_small() -> None:
    folder = Path(lictor_ir.certificate.cpc.__file__).parent
    python = [path.read_text("utf-8") for path in folder.glob("*.py")]
    table = (folder / "table.rules").read_text("ascii").splitlines()
    stated = sum(bool(line) and line[0] != "#" for line in table)
    assert stated + sum(map(lines_of_code, python)) < MAX_CODE
    assert len(table) + sum(len(text.splitlines()) for text in python) < MAX_LINES


def test_the_checker_needs_no_solver_and_nothing_but_the_standard_library() -> None:
    folder = Path(lictor_ir.certificate.cpc.__file__).parent
    imported = {
        found
        for path in folder.glob("*.py")
        for found in re.findall(r"^(?:from|import) ([\w.]+)", path.read_text("utf-8"), re.M)
    }
    assert {name for name in imported if name.startswith("lictor")} <= {
        "lictor_ir.errors",
        "lictor_ir.certificate.cpc",
        *(f"lictor_ir.certificate.cpc.{path.stem}" for path in folder.glob("*.py")),
    }
    assert {name.split(".")[0] for name in imported} <= {
        *(
            "__future__",
            "collections",
            "dataclasses",
            "fractions",
            "functools",
            "importlib",
            "lictor_ir",
        ),
        *("math", "re", "typing"),
    }


# -- mutants ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_changed_proof_is_refused_or_each_of_its_steps_follows(name: str) -> None:
    script, proof = texts(name)
    with recorded() as steps:
        check(script, proof)
        known = {
            (step.rule, *map(written, (*step.premises, *step.args, step.shown))) for step in steps
        }
    chance = Random(name)
    refused = 0
    for _ in range(60):
        with recorded() as steps:
            if accepted(script, changed_proof(chance, proof)) is None:
                refused += 1
                continue
            for step in steps:
                shape = (step.rule, *map(written, (*step.premises, *step.args, step.shown)))
                if shape not in known:
                    assert follows(step.terms, step.premises, step.shown) is not False, step.rule
    assert refused >= 20


@pytest.mark.parametrize("name", NAMES)
def test_script_and_proof_changed_alike_are_not_accepted_for_what_can_be_true(name: str) -> None:
    script, proof = texts(name)
    chance = Random(name)
    both = set(
        re.findall(r"(?<=[ (])(?:\d+|\"[^\"]*\"|not|and|or|<=|>=|<|>|=|str\.\w+)(?=[ )])", script)
    )
    for old in sorted(both):
        for new in chance.sample(sorted(both | {"0", "1", "7", '"ab"', "<", "<="}), 4):
            pattern = re.compile(rf"(?<=[ (]){re.escape(old)}(?=[ )])")
            other_script, other_proof = pattern.sub(new, script), pattern.sub(new, proof)
            if other_script != script and accepted(other_script, other_proof) is not None:
                solver = z3.Solver()
                solver.set("timeout", 3_000)
                solver.from_string(other_script.replace("(check-sat)", ""))
                assert solver.check() != z3.sat, (old, new)


@pytest.mark.parametrize("name", NAMES)
def test_text_cut_off_anywhere_is_refused(name: str) -> None:
    script, proof = texts(name)
    for end in range(0, len(proof.rstrip()), max(1, len(proof) // 40)):
        with pytest.raises((InvalidProof, UnknownRule)):
            check(script, proof[:end])


def test_errors_are_errors_of_the_library() -> None:
    assert issubclass(InvalidProof, IrError)
    assert issubclass(UnknownRule, IrError)
    assert not issubclass(Refused, IrError)
    assert not issubclass(NotKnown, IrError)
