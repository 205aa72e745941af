"""Generated programs, run as the runner runs them, make exactly the calls that their documents say, one by one.

150 programs here, always the same; more with `./taskw properties`.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from concrete_runs import Answers, UserRow
from differential import LAYERS, source_of
from generated_programs import programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lictor_prove.errors import Rejected
from lictor_prove.layers.files import read_files
from lictor_prove.layers.load import LivingLayer, load_living
from lictor_prove.python import read_program
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.written_values import ValueReader, written
from lictor_run.errors import RunStopped
from lictor_run.lockstep import Lockstep, ir_value
from lictor_run.sandbox import World, compiled

PROGRAMS = 150
TOO_MANY = "too many ways to follow"
_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, NameError, AttributeError)


@pytest.fixture(scope="module")
def desk() -> LivingLayer:
    return load_living(read_files([LAYERS / "tools" / "desk" / "trusted"], [LAYERS]))


def _follow(living: LivingLayer, program: str, seed: int) -> str:
    """What became of one program; RunStopped when it parts from its document."""
    source = source_of(program, [])
    try:
        document = read_program(source, name="generated.py", layer=living.layer)
    except Rejected:
        return "rejected"
    if document.inputs:
        return "takes inputs"
    answers = Answers(random.Random(seed))
    reader = ValueReader(living.rows)
    lockstep = Lockstep(document)
    made: Counter[str] = Counter()

    def call(effect: str, given_: Mapping[str, Any]) -> Any:
        lockstep.expect(effect, {name: ir_value(value) for name, value in given_.items()})
        made[effect] += 1
        # Rows are made anew, as the layer's own.
        result = reader.read(written(answers.give(effect)))
        lockstep.returned(result)
        return result

    try:
        world = World(outline_of(living.layer), living.rows, call)
        world.run(compiled(ast.parse(source), "generated.py"))["main"]()
    except _ERRORS:
        return "raised"
    except RunStopped as stopped:
        if TOO_MANY not in stopped.message:
            raise
        return TOO_MANY
    lockstep.complete()
    return "followed" if made else "made no call"


@pytest.mark.hypothesis
@pytest.mark.timeout(0)
def test_runs_make_the_calls_that_their_documents_say(desk: LivingLayer) -> None:
    count = max(PROGRAMS, settings.default.max_examples if settings.default else 0)
    tally: Counter[str] = Counter()

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=count == PROGRAMS,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(programs(), st.integers(0, 10_000))
    def follow(program: str, seed: int) -> None:
        try:
            tally[_follow(desk, program, seed)] += 1
        except RunStopped as stopped:
            raise AssertionError(f"{stopped.code}: {stopped.message}") from None

    follow()
    # A test in which next to no program is followed says nothing.
    assert tally["followed"] >= count * 0.2, dict(tally)
    # Such a run is stopped, as it must be; but most runs are to be made.
    assert tally[TOO_MANY] <= count * 0.03, dict(tally)
    assert UserRow.__lictor_schema__ in desk.rows


DECIDED_BEFORE_CALLS = {
    "a condition over an unknown text that is always true": """
def main() -> None:
    for row in names():
        if row.split(" ")[0].endswith(""):
            break
        if number() == rate():
            if is_allowed("a"):
                break
    log("done")
""",
    "a call in a condition of a loop behind unknown numbers": """
def main() -> None:
    n = 0
    for user in everybody():
        if n > 2:
            break
        if user.active:
            break
        while is_allowed("a"):
            n += user.active
            if number() > 0:
                break
""",
}


@pytest.mark.parametrize("program", DECIDED_BEFORE_CALLS.values(), ids=list(DECIDED_BEFORE_CALLS))
def test_runs_in_which_a_condition_ends_a_loop_before_its_calls_are_followed(
    desk: LivingLayer, program: str
) -> None:
    assert {_follow(desk, program, seed) for seed in range(20)} == {"followed"}
