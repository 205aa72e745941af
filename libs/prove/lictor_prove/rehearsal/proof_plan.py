"""A proof with the runs that have to be rehearsed of it; without them it is one that is not rehearsed."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from lictor_prove.commands import Commands, without_guarantees
from lictor_prove.layer_model import Layer
from lictor_prove.proof.result import Proof, Rehearsal
from lictor_prove.proof.settings import Executable, ProofSettings
from lictor_prove.python import ParsedProgram
from lictor_prove.python.syntax.walking import nodes_below
from lictor_prove.rehearsal.orders import Json, StageOrder
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.rehearsal.plan import literals_of, planned
from lictor_schema.proofs.proof import ProofVerdict

if TYPE_CHECKING:
    from lictor_prove.proof.prover import ReadProgram


def with_plan(
    proof: Proof,
    program: ReadProgram,
    *,
    source: str,
    name: str,
    target: str,
    language: Executable,
    layer: Layer,
    settings: ProofSettings,
    seed: str,
) -> Proof:
    """A proof of a program with its plan, or with why there is none.

    What is undecided gets one, too: runs in which a counterexample is looked for.
    """
    is_proved = proof.verdict is ProofVerdict.PROVED
    if not settings.rehearsal_ms:
        return _without_plan(proof, "it was not asked for")
    if not seed:
        return _without_plan(proof, "no seed was drawn for its runs")
    parsed = program.parsed
    try:
        if isinstance(parsed, ParsedProgram):
            outline = _imported(_OUTLINES.of(layer), parsed.tree)
        else:
            source, outline = without_guarantees(parsed), _called(_OUTLINES.of(layer), parsed)
        plan = planned(
            program.document,
            program.shape,
            StageOrder(language, source, name, target, outline, ()),
            settings,
            seed=seed,
            literals=literals_of(parsed.tree) if isinstance(parsed, ParsedProgram) else (),
            solved_ms=proof.timings.solve_ms,
            is_proved=is_proved,
        )
    except Exception as error:  # noqa: BLE001 -- what is proved is proved, also where nothing can be planned
        why = f"no runs could be planned: {type(error).__name__}: {error}"
        return _without_plan(proof, why)
    return replace(proof, plan=plan, timings=replace(proof.timings, rehearse_ms=plan.ms))


def _without_plan(proof: Proof, why: str) -> Proof:
    if proof.verdict is not ProofVerdict.PROVED:
        return proof
    return replace(proof, rehearsal=Rehearsal(refused=why))


def _imported(outline: Json, tree: ast.Module) -> Json:
    """What of a layer a program names: a stage makes no more of what it imports, and no other module is there."""
    named: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            named.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named.add(node.module)
            named.update(f"{node.module}.{each.name}" for each in node.names)
    words = _words(tree)
    modules = {
        name: {each: told for each, told in held.items() if each in words}
        for name, held in outline["modules"].items()
        if name in named
    }
    members = [member for held in modules.values() for member in held.values()]
    effects = {member["effect"] for member in members if "effect" in member}
    enums = {member["member"][0] for member in members if "member" in member}
    return {
        **outline,
        "modules": modules,
        "effects": {name: told for name, told in outline["effects"].items() if name in effects},
        "enums": {name: told for name, told in outline["enums"].items() if name in enums},
    }


def _words(tree: ast.Module) -> set[str]:
    """Every word by which a program may reach a member of a module: in the subset, there is no other way to one."""
    words: set[str] = set()
    for node in nodes_below(tree):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.alias):
            words.update(node.name.split("."))
    return words


def _called(outline: Json, commands: Commands) -> Json:
    """What of a layer a program in commands calls."""
    effects = outline["effects"]
    called = {name: told for name, told in effects.items() if name in commands.called}
    return {**outline, "modules": {}, "effects": called, "enums": {}}


class _Outlines:
    """The outline of the layer that was asked for last: most who prove have one."""

    def __init__(self) -> None:
        self._last: tuple[Layer, Json] | None = None

    def of(self, layer: Layer) -> Json:
        """The outline."""
        # One name for both: another thread may ask for another layer meanwhile.
        last = self._last
        if last is None or last[0] is not layer:
            last = self._last = (layer, outline_of(layer))
        return last[1]


_OUTLINES = _Outlines()
