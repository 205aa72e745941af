"""What the runner holds before each call agrees with what is proved: random documents, contracts and runs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from libs.prove.tests.random_documents import Writer, concrete
from lictor_ir.contracts import Comparison, Contract, Count, Sum, leaves
from lictor_ir.document import Guarantee
from lictor_ir.evaluation import Trace, holds, run
from lictor_ir.evaluation.contract_monitor import ContractMonitor, stays_broken
from lictor_ir.goals import Strength, stated_goals
from lictor_ir.goals.builder import Builder


def _first_broken(leaf: Contract, trace: Trace) -> int | None:
    calls = len(trace.steps)
    lengths = range(min(1, calls), calls + 1)
    return next((each for each in lengths if not holds(leaf, trace.prefix(each))), None)


def _not_more(leaf: Contract) -> Contract | None:
    """Of `exactly so much`, that it is not more: no later call mends that."""
    if isinstance(leaf, Count | Sum) and leaf.comparison is Comparison.EXACTLY:
        return replace(leaf, comparison=Comparison.AT_MOST)
    return None


def test_a_guarantee_is_broken_with_the_first_call_after_which_it_does_not_hold() -> None:
    tally: Counter[str] = Counter()
    for seed in range(300):
        document = Writer(seed).document()
        random_ = random.Random(seed)
        for leaf in (leaf for each in document.guarantees for leaf in leaves(each.contract)):
            monitor = ContractMonitor(replace(document, guarantees=(Guarantee("g", leaf),)))
            kind = type(leaf).__name__
            for _ in range(5):
                trace = run(document, *concrete(random_))
                broken = monitor.broken_by(trace)
                told = None if broken is None else broken[1]
                if stays_broken(leaf, document):
                    assert told == _first_broken(leaf, trace)
                    tally[f"{kind} {'kept' if told is None else 'broken'}"] += 1
                else:
                    at_end = None if holds(leaf, trace) else len(trace.steps)
                    too_much = _not_more(leaf)
                    early = None
                    if too_much is not None and stays_broken(too_much, document):
                        early = _first_broken(too_much, trace)
                    assert told == (at_end if early is None else early)
    for kind in ("All", "Empty", "Distinct", "Count", "Sum", "Before", "NeverAfter"):
        assert tally[f"{kind} kept"] > 10, tally
        assert tally[f"{kind} broken"] > 10, tally


def test_whatever_is_proved_of_every_prefix_is_held_before_each_call() -> None:
    held: Counter[bool] = Counter()
    for seed in range(300):
        document = Writer(seed).document()
        for guarantee in document.guarantees:
            for leaf in leaves(guarantee.contract):
                stated = replace(
                    document, obligations=(), guarantees=(replace(guarantee, contract=leaf),)
                )
                (goal,) = stated_goals(Builder(stated))
                is_held = stays_broken(leaf, document)
                assert is_held or goal.strength is Strength.ON_COMPLETION
                held[is_held] += 1
    assert min(held.values()) > 100
