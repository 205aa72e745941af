"""Rules of the certificate checker's kernel, applied to premises and arguments that nobody would write.

Half of the attempts are instances of the table with a premise or argument changed: their terms have no variables, so
evaluating says whether the conclusion is true where the premises are. The others are steps of real proofs, changed
alike: there a solver says whether the conclusion follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from cpc_instances import given, holds, instances, pools, written
from cpc_steps import NAMES, Step, follows, steps_of, texts
from fuzz.tally import Tally, Told, silent

from lictor_ir.certificate.cpc.errors import NotKnown, Refused
from lictor_ir.certificate.cpc.kernel import RULES
from lictor_ir.certificate.cpc.rules import TABLE
from lictor_ir.certificate.cpc.terms import Term, Terms

LINES = [line for lines in TABLE.values() for line in lines]
ASKED = 0.02
"""The part of accepted steps of proofs that a solver is asked about: it takes far longer than the kernel."""


def fuzz(count: int, seed: int, told: Told = silent) -> Tally:
    """Try this many applications."""
    chance, tally = Random(seed), Tally(told)
    while tally.applied < count:
        if chance.random() < 0.5:
            _instance(chance, tally)
        else:
            _step(chance, tally)
    return tally


# -- without variables -----------------------------------------------------------------------------


def _instance(chance: Random, tally: Tally) -> None:
    terms, line = Terms(), chance.choice(LINES)
    pool = [each for sort in pools(terms).values() for each in sort]
    for bound in instances(terms, line, chance, 8):
        try:
            premises = [given(terms, pattern, bound) for pattern in line.premises]
            args = [given(terms, pattern, bound) for pattern in line.args]
        except Refused:
            continue
        tally.begin()
        _change(chance, premises, args, pool)
        rule = chance.choice(list(RULES)) if chance.random() < 0.2 else line.name
        try:
            shown = RULES[rule](terms, premises, args)
        except (Refused, NotKnown):
            tally.refused += 1
            continue
        _judge(tally, terms, rule, premises, shown)


def _judge(tally: Tally, terms: Terms, rule: str, premises: Sequence[Term], shown: Term) -> None:
    try:
        met = all(each.sort == "Bool" and holds(terms, each) is True for each in premises)
        found = holds(terms, shown) if met else None
    except (Refused, NotKnown):
        found = None
    if found is None:
        tally.open += 1
    elif found:
        tally.right += 1
    else:
        tally.wrong.append(f"{rule}: {' '.join(map(written, premises))} |- {written(shown)}")


# -- steps of proofs -------------------------------------------------------------------------------


@cache
def _steps(name: str) -> tuple[list[Step], list[Term], list[Term]]:
    steps = steps_of(*texts(name))
    formulas = [premise for step in steps for premise in (*step.premises, step.shown)]
    others = [arg for step in steps for arg in step.args] + formulas
    return steps, formulas, others + [part for term in others for part in term.args]


def _step(chance: Random, tally: Tally) -> None:
    steps, formulas, others = _steps(chance.choice(NAMES))
    step = chance.choice(steps)
    premises, args = list(step.premises), list(step.args)
    _change(chance, premises, args, others, formulas)
    tally.begin()
    # Work is counted over a whole proof; these are many more steps than one proof has.
    step.terms.spend(-1_000_000)
    try:
        shown = RULES[step.rule](step.terms, premises, args)
    except (Refused, NotKnown):
        tally.refused += 1
        return
    if shown is step.shown or chance.random() > ASKED:
        tally.open += 1
        return
    found = follows(step.terms, premises, shown)
    if found is None:
        tally.open += 1
    elif found:
        tally.right += 1
    else:
        tally.wrong.append(f"{step.rule}: {' '.join(map(written, premises))} |- {written(shown)}")


def _change(
    chance: Random,
    premises: list[Term],
    args: list[Term],
    others: Sequence[Term],
    formulas: Sequence[Term] | None = None,
) -> None:
    """One premise or argument becomes another, is left out, or stands twice; or nothing happens."""
    changed = premises if premises and (not args or chance.random() < 0.5) else args
    pool = formulas if formulas and changed is premises else others
    if not changed or chance.random() < 0.3:
        return
    at = chance.randrange(len(changed))
    match chance.randrange(6):
        case 0:
            del changed[at]
        case 1:
            changed.append(changed[at])
        case _:
            changed[at] = chance.choice(pool)
