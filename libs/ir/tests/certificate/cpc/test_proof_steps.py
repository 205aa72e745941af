"""A solver agrees with every kind of step: those of real proofs, and those that we made up and the checker let pass."""

from __future__ import annotations

from random import Random

import pytest
from cpc_steps import NAMES, Step, follows, steps_of, texts

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.kernel import RULES

A_RULE = 2
"""So many steps of each rule and proof are looked at."""


def few_of_each_rule(steps: list[Step]) -> list[Step]:
    seen: dict[str, int] = {}
    chosen: list[Step] = []
    for step in steps:
        seen[step.rule] = seen.get(step.rule, 0) + 1
        if seen[step.rule] <= A_RULE:
            chosen.append(step)
    return chosen


@pytest.mark.parametrize("name", NAMES)
def test_steps_of_a_real_proof_follow(name: str) -> None:
    for step in few_of_each_rule(steps_of(*texts(name))):
        assert follows(step.terms, step.premises, step.shown) is not False, step.rule


@pytest.mark.parametrize("name", NAMES)
def test_steps_that_are_changed_and_still_accepted_follow(name: str) -> None:
    chance = Random(name)
    steps = steps_of(*texts(name))
    formulas = [premise for step in steps for premise in (*step.premises, step.shown)]
    others = [arg for step in steps for arg in step.args] + formulas
    parts = [part for term in others for part in term.args]
    accepted = 0
    for step in few_of_each_rule(steps):
        for _ in range(12):
            premises, args = list(step.premises), list(step.args)
            if premises and (not args or chance.random() < 0.5):
                premises[chance.randrange(len(premises))] = chance.choice(formulas)
            elif args:
                args[chance.randrange(len(args))] = chance.choice(others + parts)
            try:
                shown = RULES[step.rule](step.terms, premises, args)
            except (Refused, NotKnown):
                continue
            if shown is not step.shown and accepted < 30:
                accepted += 1
                assert follows(step.terms, premises, shown) is not False, step.rule
