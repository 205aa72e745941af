"""Generated programs in commands do what their documents say, and nothing that was proved about them is broken.

250 programs here, always the same; more with `./taskw properties`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from commands_runs import run_commands
from concrete_runs import Run
from differential import Differential, FalseProof, Missed, desk
from generated_commands import commands
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from predicted_traces import Mismatch
from stated_contracts import Stated

from lictor_ir.document import Atom, Document
from lictor_ir.terms import TRUE
from lictor_prove.commands import lowered, lowering, read_commands
from lictor_prove.layer_model import Layer
from lictor_prove.python.interpreter import trusted_calls
from lictor_prove.python.machine.machine_state import Machine

PROGRAMS = 250
MOST_REJECTED = 0.05
LEAST_PROVED = 0.02


class CommandsDifferential(Differential):
    """The same check for programs in commands."""

    def runs(self, program: str, seeds: Sequence[int]) -> list[Run]:
        read = read_commands(self.source(program, ()), layer=self.layer)
        return [run_commands(read, seed) for seed in seeds]

    def source(self, program: str, guarantees: Sequence[Stated]) -> str:
        inputs, _, body = program.partition("---")
        # Guarantees are stated as Python writes literals.
        told = [re.sub("'([^']*)'", r'"\1"', f"guarantee {each.text}") for each in guarantees]
        return "\n".join(["lictor-commands v1", inputs, *told, body])

    def read(self, source: str) -> Document:
        read = read_commands(source, layer=self.layer)
        return lowered(read, name="generated")


@pytest.fixture(scope="module")
def layer() -> Layer:
    return desk()


def check_many(layer: Layer, count: int, *, fixed: bool, smallest: bool = True) -> Differential:
    """Generates and checks programs; raises for one that fails, made as small as it can be."""
    differential = CommandsDifferential(layer)

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=fixed,
        database=None,
        phases=(Phase.generate, Phase.shrink) if smallest else (Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(
        commands(),
        st.integers(0, 20),
        st.sampled_from((1, 2, 4, 5, 8)),
        st.sampled_from((0, 0, 0, 1, -1)),
        st.integers(0, 10_000),
    )
    def check(program: str, first: int, step: int, slack: int, seed: int) -> None:
        differential.check(program, first, step, slack, seed)

    check()
    return differential


@pytest.mark.hypothesis
@pytest.mark.timeout(0)
def test_documents_of_commands_predict_runs_and_proofs_hold(layer: Layer) -> None:
    count = max(PROGRAMS, settings.default.max_examples if settings.default else 0)
    differential = check_many(layer, count, fixed=count == PROGRAMS)
    tally: Counter[str] = differential.tally
    told = f"{dict(tally)}; rejected for {differential.reasons.most_common()}"
    assert tally["programs"] >= PROGRAMS * 0.9, told
    assert tally["rejected"] <= tally["programs"] * MOST_REJECTED, told
    assert tally["proved"] >= tally["programs"] * LEAST_PROVED, told
    assert tally["refuted"] >= tally["programs"] * LEAST_PROVED, told
    # What the document obliges is what is tested in a run, so an obligation fails exactly when a run does.
    assert not tally["needless obligations"], told


# -- the check itself is checked: a slip put in on purpose is found ---------------------------------


def found_by_checking(layer: Layer) -> str:
    """What the check says about the front-end as it is now; empty when it finds nothing."""
    try:
        check_many(layer, 150, fixed=True, smallest=False)
    except (Mismatch, FalseProof, Missed) as slip:
        return type(slip).__name__
    return ""


def test_call_without_its_guard_is_noticed(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    def unguarded(*given: Any) -> Atom:
        return replace(Atom(*given), guard=TRUE)

    monkeypatch.setattr(trusted_calls, "Atom", unguarded)
    assert found_by_checking(layer) == "Mismatch"


def test_demand_that_is_not_obliged_is_noticed(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "require", lambda *_: None)
    assert found_by_checking(layer) == "Missed"


def test_loop_in_another_order_is_noticed(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    in_order = lowering._Lowering._known

    def backwards(machine: Any, items: Sequence[Any], *rest: Any) -> None:
        in_order(machine, items[::-1], *rest)

    monkeypatch.setattr(lowering._Lowering, "_known", backwards)
    assert found_by_checking(layer) == "Mismatch"
