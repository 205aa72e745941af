"""Programs in commands do what the same programs in Python do: one verdict, one document, one trace of calls."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from commands_runs import run_commands
from concrete_runs import Run, compiled, run
from differential import QUICK, desk
from paired_programs import PAIRS, Pair
from predicted_traces import Predictor, alike

from lictor_ir.document import Document, ObligationKind
from lictor_ir.text import write
from lictor_prove.commands import read_commands
from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import document_of, prove

SEEDS = range(40)
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)


@pytest.fixture(scope="module")
def layer() -> Layer:
    return desk()


def in_python(pair: Pair, layer: Layer) -> Document:
    return document_of(pair.python_source(), name="p", layer=layer)


def in_commands(pair: Pair, layer: Layer) -> Document:
    return document_of(pair.commands_source(), name="p", layer=layer, language="commands")


def without_places(document: Document) -> str:
    """The document without what depends on where things stand in the text."""
    plain = replace(
        document,
        source_hash=None,
        atoms=tuple(replace(each, span=None) for each in document.atoms),
        obligations=tuple(replace(each, span=None) for each in document.obligations),
        guarantees=tuple(replace(each, span=None) for each in document.guarantees),
    )
    text = re.sub(r"at line \d+", "at line n", write(plain))
    indices = list(dict.fromkeys(re.findall(r"\bi\d+\b", text)))
    return re.sub(r"\bi\d+\b", lambda found: f"i_{indices.index(found.group())}", text)


@each_pair
def test_both_have_the_verdict_that_is_expected(pair: Pair, layer: Layer) -> None:
    python = prove(pair.python_source(), name="p", layer=layer, settings=QUICK)
    commands = prove(
        pair.commands_source(), name="p", layer=layer, language="commands", settings=QUICK
    )
    assert (str(python.verdict), str(commands.verdict)) == (pair.verdict, pair.verdict)
    assert [(each.name, each.verdict, each.strength) for each in python.guarantees] == [
        (each.name, each.verdict, each.strength) for each in commands.guarantees
    ]


@each_pair
def test_both_have_the_same_document(pair: Pair, layer: Layer) -> None:
    python, commands = in_python(pair, layer), in_commands(pair, layer)
    same = without_places(python) == without_places(commands)
    assert same == pair.same_document, f"{write(python)}\n{write(commands)}"


@each_pair
def test_both_make_the_same_calls(pair: Pair, layer: Layer) -> None:
    code = compiled(re.sub(r"(?m)^(import|from|@).*$", "", pair.python_source()))
    commands = read_commands(pair.commands_source(), layer=layer)
    document = in_commands(pair, layer)
    traces: set[str] = set()
    for seed in SEEDS:
        python, other = run(code, seed), run_commands(commands, seed)
        assert alike_runs(python, other), f"{python}\n{other}"
        Predictor(other).follow(document)
        traces.add(repr(python.calls))
    # A pair that never does anything else says little.
    assert len(traces) > 1 or not document.inputs


def alike_runs(one: Run, other: Run) -> bool:
    """Whether two runs can't be told apart by their inputs, their calls, and whether they failed."""
    return (
        all(map(alike, one.inputs.values(), other.inputs.values()))
        and (one.raised is None) == (other.raised is None)
        and [call.effect for call in one.calls] == [call.effect for call in other.calls]
        and all(
            first.arguments.keys() == second.arguments.keys()
            and all(
                alike(first.arguments[name], second.arguments[name]) for name in first.arguments
            )
            for first, second in zip(one.calls, other.calls, strict=True)
        )
    )


def test_a_run_that_fails_breaks_an_obligation(layer: Layer) -> None:
    for pair in PAIRS:
        commands = read_commands(pair.commands_source(), layer=layer)
        document = in_commands(pair, layer)
        for seed in SEEDS:
            done = run_commands(commands, seed)
            predictor = Predictor(done)
            predictor.follow(document)
            broken = predictor.broken(document, ObligationKind.NO_ERROR, ObligationKind.ASSERTION)
            assert bool(broken) == (done.raised is not None), f"{pair.name}: {done}"
