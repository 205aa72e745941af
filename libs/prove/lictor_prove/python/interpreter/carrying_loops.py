"""Loops that run an unknown number of times.

The body is executed once, for an index that stands for all rounds after which the loop goes on. What one round leaves
for the next is found by executing it again until nothing new is left (`loop_summaries`). A round in which the loop is
left by `break` or `return` comes after them, once: an unknown number says after how many.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lictor_ir.document import Binder, Fact, FactKind
from lictor_ir.provenance import made_of
from lictor_ir.terms import (
    FALSE,
    TRUE,
    Term,
    Var,
    and_,
    apply,
    const,
    ite,
    not_,
    or_,
    results,
    substitute,
    var,
)
from lictor_ir.types import BOOL, INT
from lictor_prove.python.machine.control_paths import Key, Store, Target, beyond
from lictor_prove.python.machine.loop_summaries import LoopState, Summary
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    UNBOUND,
    Content,
    DataClass,
    InstanceRef,
    Ref,
    SequenceV,
    SymbolicValue,
    count,
)
from lictor_prove.python.machine.unknown_sequences import bounded
from lictor_prove.python.machine.unknown_values import is_made, unknown, within
from lictor_prove.python.operations.comparisons import truth
from lictor_prove.python.operations.iterables import UnknownItems
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.scopes import leaves_by, returns

ZERO: Final = const(0)
MAX_PASSES: Final = 8
EXACT_PASSES: Final = 1
"""From then on, what a pass leaves that none did before is any value of its type: else it may grow for ever."""
MAX_NESTED: Final = 12


@dataclass(frozen=True, slots=True)
class Rounds:
    """After how many rounds a loop ends."""

    number: Term
    is_left: Term = FALSE
    """Whether it ends before the end of its list."""
    place: Term = ZERO
    """If so, the index of the item at which it does."""


@dataclass(frozen=True, slots=True)
class ListLoop:
    """`for … in …`, over a list of unknown length."""

    node: ast.For
    how: UnknownItems
    begin: Callable[[SymbolicValue], None]

    @property
    def most(self) -> Term | None:
        """How many rounds there are at most."""
        return count(SequenceV(self.how.over, _NO_INDEX, NONE_VALUE, TRUE))

    def keeps_all(self, index: Var) -> bool:
        """Whether every item makes a round."""
        return self.how.item(index)[1] is TRUE

    def round(self, machine: Machine, index: Term) -> Term:
        """One round, at an index; what its beginning shows."""
        item, keep = self.how.item(index)

        def run() -> SymbolicValue:
            self.begin(item)
            machine.hooks.run(machine, self.node.body)
            return NONE_VALUE

        machine.fork(keep, run, lambda: NONE_VALUE)
        return TRUE

    def last(self, machine: Machine, done: Rounds) -> None:
        """After so many rounds: the one in which the loop is left, or its end."""
        if not is_left(machine, self.node):
            machine.hooks.run(machine, self.node.orelse)
            return
        left, place = done.is_left, done.place

        def leave() -> SymbolicValue:
            item, keep = self.how.item(place)
            machine.suppose(keep)
            _last_round(machine, self.node.body, lambda: self.begin(item))
            return NONE_VALUE

        _ended(machine, left, leave, self.node.orelse)

    def flowing(self, machine: Machine, index: Var) -> list[Term]:
        """What decides how many rounds there are."""
        del machine
        return [self.how.over, self.how.item(index)[1]]


@dataclass(frozen=True, slots=True)
class ConditionLoop:
    """`while …`."""

    node: ast.While

    @property
    def most(self) -> Term | None:
        """How many rounds there are at most: nobody knows."""
        return None

    def keeps_all(self, index: Var) -> bool:
        """Whether every index makes a round."""
        del index
        return True

    def round(self, machine: Machine, index: Term) -> Term:
        """One round; what its beginning shows."""
        del index
        condition = self._test(machine)
        machine.targets[-1].tests.append(condition)
        machine.suppose(condition)
        if not machine.dead:
            machine.hooks.run(machine, self.node.body)
        return condition

    def last(self, machine: Machine, done: Rounds) -> None:
        """After so many rounds: the one in which the loop is left, or its end."""
        del done
        condition = self._test(machine)
        if not is_left(machine, self.node):
            machine.suppose(not_(condition))
            machine.hooks.run(machine, self.node.orelse)
            return

        def leave() -> SymbolicValue:
            _last_round(machine, self.node.body, lambda: None)
            return NONE_VALUE

        _ended(machine, condition, leave, self.node.orelse)

    def _test(self, machine: Machine) -> Term:
        machine.at = self.node.test
        condition = truth(machine, machine.evaluate(self.node.test))
        machine.branch(self.node.test, condition)
        return condition

    def flowing(self, machine: Machine, index: Var) -> list[Term]:
        """What decides how many rounds there are: conditions, which are noted as they are met."""
        del machine, index
        return []


_NO_INDEX: Final = var("?", INT)


def is_left(machine: Machine, node: ast.For | ast.While) -> bool:
    """Whether the loop has a `break` or `return`, or an error may leave it that is handled outside."""
    return leaves_by(node.body, ast.Break) or returns(node.body) or node in machine.left_by_error


def _last_round(machine: Machine, body: Sequence[ast.stmt], begin: Callable[[], None]) -> None:
    """The round in which the loop is left: paths that come to its end are not taken."""

    def run() -> None:
        target = machine.enter("last")
        begin()
        machine.hooks.run(machine, body)
        machine.stop()
        machine.close(target, NONE_VALUE)

    mark, base = machine.mark(), machine.store
    made = _made_so_far(machine)
    tried = machine.store = Store(base)
    run()
    left = [
        guard
        for target, (exits, dropped, *_) in zip(machine.targets, mark.left, strict=True)
        for guard in (*(each.guard for each in target.exits[exits:]), *target.dropped[dropped:])
    ]
    leaves = or_(*(beyond(guard, mark.guard) for guard in left))
    # A condition that was known before the round does not rest on what is called in it.
    if leaves is TRUE or _is_new(leaves, made):
        # Nothing is to be supposed, so the round stands as it was tried.
        base.written.update(tried.written)
        machine.store = base
        return
    machine.go_back(mark)
    machine.suppose(leaves)
    if not machine.dead:
        run()


def _made_so_far(machine: Machine) -> tuple[int, int]:
    return len(machine.atoms), len(machine.unknowns)


def _is_new(condition: Term, made: tuple[int, int]) -> bool:
    """Whether it reads what came after so many calls and unknowns."""
    calls, unknowns = made
    return any(
        int(read.call[1:]) > (calls if read.call.startswith("c") else unknowns)
        for read in results(condition)
    )


def _ended(
    machine: Machine,
    is_left: Term,
    leave: Callable[[], SymbolicValue],
    orelse: Sequence[ast.stmt],
) -> None:
    whole = machine.enter("loop")

    def otherwise() -> SymbolicValue:
        # The rounds are over: a `break` in `else` is one of the loop around.
        whole.kind = "else"
        machine.hooks.run(machine, orelse)
        return NONE_VALUE

    machine.fork(is_left, leave, otherwise)
    machine.close(whole, NONE_VALUE)


def run_carrying(machine: Machine, loop: ListLoop | ConditionLoop) -> None:
    """Execute the loop."""
    if len(machine.binders) >= MAX_NESTED:
        refuse("limits.loops", "loops are nested too deeply", "Nest fewer loops.")
    node = loop.node
    base, index = machine.fresh_id(), machine.fresh_index()
    machine.left_by_error.discard(node)
    counted = is_left(machine, node) or loop.most is None
    leaving = frozenset[str]()
    summaries: dict[Key, Summary] = {}
    pools: dict[str, Ref] = {}
    instances: dict[DataClass, InstanceRef] = {}
    for number in range(MAX_PASSES):
        mark = machine.mark()
        machine.at = node
        if counted:
            rounds = _rounds(machine, loop, leaving)
            over = rounds.number
        else:
            assert isinstance(loop, ListLoop)
            assert loop.most is not None
            rounds, over = Rounds(loop.most), loop.how.over
        state = LoopState(
            index,
            rounds.number,
            loop.keeps_all(index),
            node.lineno,
            base,
            machine,
            summaries,
            pools,
            instances,
        )
        known = node in machine.left_by_error
        left, found = _pass(machine, loop, state, over)
        if not known and node in machine.left_by_error:
            machine.go_back(mark)
            counted = True
            continue
        _unchanged(loop, left)
        new = _summaries(state, left, found)
        if not machine.binders:
            found = frozenset(_made(machine, found))
            new = {
                k: replace(each, labels=frozenset(_made(machine, each.labels)))
                for k, each in new.items()
            }
        is_stable = found == leaving and {k: each.key for k, each in new.items()} == {
            k: each.key for k, each in summaries.items()
        }
        if is_stable:
            break
        machine.go_back(mark)
        if number >= EXACT_PASSES:
            new = {key: each.widened(summaries.get(key)) for key, each in new.items()}
        leaving, summaries = found, new
    else:
        refuse(
            "loop.carried",
            "what this loop carries from round to round can't be told",
            "Carry less: assign names in the same round before they are read.",
            node,
        )
    machine.at = node
    if not machine.binders:
        machine.unknowns[:] = [
            replace(
                each,
                labels=tuple(_made(machine, each.labels)),
                carried=tuple(_made(machine, each.carried)),
            )
            for each in machine.unknowns
        ]
    state.note_followed(left)
    _note_rounds(machine, rounds, state)
    exact = state.collected(left, rounds.number)
    for key, value in state.written(machine, rounds.number, exact).items():
        machine.store.written[key] = value
    loop.last(machine, rounds)


def _made(machine: Machine, labels: Iterable[str]) -> list[str]:
    """Without those of calls that only an earlier pass made, as for each item of a container that was known then."""
    return [each for each in labels if is_made(machine, each)]


def _rounds(machine: Machine, loop: ListLoop | ConditionLoop, leaving: frozenset[str]) -> Rounds:
    why = f"after how many rounds the loop in line {loop.node.lineno} ends"
    most = loop.most
    flowing = () if most is None else (most,)
    number = unknown(machine, INT, why, flowing, labels=leaving).term
    if most is None:
        return Rounds(bounded(number, None))
    why = f"whether the loop in line {loop.node.lineno} is left before its end"
    left = and_(
        apply("lt", const(0), most), unknown(machine, BOOL, why, flowing, labels=leaving).term
    )
    place = within(number, most)
    return Rounds(ite(left, place, most), left, place)


def _pass(
    machine: Machine, loop: ListLoop | ConditionLoop, state: LoopState, over: Term
) -> tuple[dict[Key, SymbolicValue | Content], frozenset[str]]:
    """One execution of the body: what it leaves where, and what decides that the loop is left."""
    outer, guard, binders, departed = (
        machine.store,
        machine.guard,
        machine.binders,
        machine.departed,
    )
    scratch = machine.store = Store(outer)
    machine.binders = (*binders, Binder(state.index, over))
    scratch.written.update(state.start(machine))
    node = loop.node
    may_leave = is_left(machine, node)
    mark, made = machine.mark(), _made_so_far(machine)
    above = machine.store = Store(scratch)
    target, state.going = _round(machine, loop, state)
    leaving: tuple[str, ...] = ()
    if may_leave:
        # While what the round computed is there: afterwards other things have its names.
        leaving = made_of(target.dropped, machine.inputs, machine.unknowns)
        leaves = or_(*(beyond(each, mark.guard) for each in target.dropped))
        if leaves is not FALSE and not _is_new(leaves, made):
            # It is known when the round begins: go on only where the round does not leave the loop.
            machine.go_back(mark)
            above = machine.store = Store(scratch)
            state.supposed = not_(leaves)
            machine.suppose(state.supposed)
            known = beyond(machine.guard, guard)
            target, going = _round(machine, loop, state)
            state.going = and_(known, going)
    conditions = [*target.dropped, *target.tests, *loop.flowing(machine, state.index)]
    machine.close(target, NONE_VALUE)
    scratch.written.update(above.written)
    found = frozenset({*leaving, *made_of(conditions, machine.inputs, machine.unknowns)})
    machine.store, machine.guard, machine.binders, machine.departed = (
        outer,
        guard,
        binders,
        departed,
    )
    return scratch.written, found


def _round(
    machine: Machine, loop: ListLoop | ConditionLoop, state: LoopState
) -> tuple[Target, Term]:
    """One round after which the loop goes on, to be closed; what its beginning shows."""
    target = machine.enter("going")
    target.loop = loop.node
    return target, loop.round(machine, state.index)


def _note_rounds(machine: Machine, rounds: Rounds, state: LoopState) -> None:
    """Note that the last round after which the loop went on did not leave it: so a counter bounds the rounds."""
    going, number = state.supposed, rounds.number
    made = [each for each in results(number) if each.call.startswith("u")]
    if (
        machine.dead
        or going is TRUE
        or not made
        or any(state.index in each.indices for each in results(going))
    ):
        return
    last = substitute(going, {state.index: apply("sub", number, const(1))})
    about = max(made, key=lambda each: int(each.call[1:])).call
    machine.facts.append(Fact(about, FactKind.HOLDS, or_(apply("le", number, const(0)), last)))


def _summaries(
    state: LoopState, left: dict[Key, SymbolicValue | Content], labels: frozenset[str]
) -> dict[Key, Summary]:
    found: dict[Key, Summary] = {}
    store, state.made = state.machine.store, left
    many = {ref.id for ref in state.pools.values()}
    for key, value in left.items():
        before = store.get(key)
        if isinstance(key, int):
            if before is not None and key not in many:
                found[key] = state.summary(key, before, [value], labels)
        elif key[0] <= state.base:
            found[key] = state.summary(key, UNBOUND if before is None else before, [value], labels)
    return {**found, **state.pooled(labels)}


def _unchanged(loop: ListLoop | ConditionLoop, left: dict[Key, SymbolicValue | Content]) -> None:
    """Refuse a loop that changes what it runs over."""
    for key, content in loop.how.watched if isinstance(loop, ListLoop) else ():
        if left.get(key, content) is not content:
            refuse(
                "loop.mutation",
                "the loop changes what it runs over",
                "Loop over a copy: `for x in list(xs)`.",
                loop.node,
            )
