"""Loops inside loops: nothing that is proved about counts, sums, pairs, order or end states is broken by a run.

200 programs here, always the same; 20 000 new ones with `./taskw properties`.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest
from concrete_runs import Answers, Call, Run, compiled
from differential import QUICK, FalseProof, desk
from hypothesis import HealthCheck, Phase, given, settings
from loop_nests import nests
from plain_contracts import CONTRACTS, Check

from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import prove

PROGRAMS = 80
RUNS = 60
PARAMETERS = {
    "send_email": ("addr", "msg"),
    "pay": ("account", "amount"),
    "log": ("text",),
    "lookup": ("name",),
    "sell": ("stock", "shares"),
    "lock": ("door",),
    "unlock": ("door",),
    "is_allowed": ("addr",),
    "number": (),
    "users": (),
}


class Few(Answers):
    """Answers among which equal ones are frequent, and often as many rows as there may be."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(source)
        self._few = source.random() < 0.5
        self._full = source.random() < 0.5

    def give(self, effect: str) -> Any:
        if effect == "users" and self._full:
            return [self._row() for _ in range(3)]
        return super().give(effect)

    def _text(self) -> str:
        known = ("a", "a", "b") if self._few else ("a", "b", "bob@example.com", "audit@example.com")
        return self._random.choice(known)

    def _number(self) -> int:
        return self._random.choice((0, 1, 2, -1, 5, -3, 7))


def runs(program: CodeType) -> Iterator[Run]:
    for seed in range(RUNS):
        done, answers = Run(), Few(random.Random(seed))

        def stand_in(effect: str, done: Run = done, answers: Few = answers) -> Callable[..., Any]:
            def call(*given: Any) -> Any:
                arguments = dict(zip(PARAMETERS[effect], given, strict=True))
                done.calls.append(Call(effect, arguments, None))
                return answers.give(effect)

            return call

        names: dict[str, Any] = {effect: stand_in(effect) for effect in PARAMETERS}
        exec(program, names)  # noqa: S102 -- the text is ours: loop_nests wrote it
        names["main"]()
        yield done


def check_of(guarantee: str) -> Check:
    """What a guarantee means over recorded calls."""
    name, _, arguments = guarantee.removesuffix(")").partition("(")
    return CONTRACTS[name](*([] if not arguments else [ast.literal_eval(arguments)]))


def check(written: tuple[str, tuple[str, ...]], layer: Layer, tally: Counter[str]) -> None:
    program, guarantees = written
    promises = "".join(f"@lictor_layer.guarantee(c.{each})\n" for each in guarantees)
    source = (
        "import lictor_layer\nfrom tools.desk.trusted import contracts as c\n"
        f"from tools.desk.trusted.effects import {', '.join(PARAMETERS)}\n\n\n{promises}{program}"
    )
    proof = prove(source, name="nest.py", layer=layer, settings=QUICK)
    tally["programs"] += 1
    tally[str(proof.verdict)] += 1
    proved: list[tuple[str, Check]] = []
    for text, found in zip(guarantees, proof.guarantees, strict=bool(proof.guarantees)):
        tally[f"guarantees {found.verdict}"] += 1
        if str(found.verdict) == "proved":
            proved.append((text, check_of(text)))
    for done in runs(compiled(program)):
        for text, kept in proved:
            if not kept(done):
                raise FalseProof(f"{text} is proved, and broken by {done.calls}")


@pytest.mark.hypothesis
@pytest.mark.timeout(0)
def test_nothing_that_is_proved_about_nested_loops_is_broken() -> None:
    layer, tally = desk(), Counter[str]()
    most = settings.default.max_examples if settings.default else 0
    count = most if most > PROGRAMS else PROGRAMS

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=count == PROGRAMS,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(nests())
    def each(written: tuple[str, tuple[str, ...]]) -> None:
        check(written, layer, tally)

    each()
    assert tally["programs"] >= count * 0.9
    assert tally["rejected"] <= tally["programs"] * 0.05, tally
    assert tally["guarantees unknown"] <= tally["guarantees proved"] * 0.1, tally
