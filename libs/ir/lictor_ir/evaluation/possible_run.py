"""One way in which a run of a document may go, from call to call; it forks where a declared unknown decides.

Documents without unknowns have one way. It can be asked for the next call and be given what that call returned, so a
document can be run beside a program, or against a record of what a program did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from lictor_ir.document import Assumption, Atom, Binder, Document, Fact, FactKind
from lictor_ir.errors import TermError, UnknownError, UnspecifiedError
from lictor_ir.evaluation.contract_monitor import ContractMonitor, UnkeptGuarantee
from lictor_ir.evaluation.known_facts import KnownFacts
from lictor_ir.evaluation.learned_facts import LearnedFacts
from lictor_ir.evaluation.open_conditions import deciding_condition
from lictor_ir.evaluation.partial_values import written_parts
from lictor_ir.evaluation.steps import Step, Trace, each_iteration, iterations, result_of
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.evaluation.value_types import check_value, is_same
from lictor_ir.records import record
from lictor_ir.terms import App, Term, Var, and_, apply, const, eq, implies, result, results
from lictor_ir.types import BOOL, INT, NONE, STR
from lictor_ir.validation.document import validate
from lictor_ir.values import Open, Value

MAX_STEPS: Final = 1_000_000
"""Calls and iterations of one run."""
MAX_SILENT: Final = 1_000
"""Iterations in a row without a call, of a loop whose length is a declared unknown."""
MAX_WAITING: Final = 1_000
"""What is said of unknowns and can't be held yet; what was said before is forgotten."""
_EQUAL: Final = (BOOL, INT, NONE, STR)
"""Types of which equal values are the same."""


Chosen = Callable[[str, tuple[int, ...]], Value]
"""A value for a declared unknown, by its id and iteration."""


@dataclass(frozen=True, slots=True)
class _Loop:
    binder: Binder
    body: tuple[Atom, ...]
    after: int


@dataclass(frozen=True, slots=True)
class _Again:
    loop: _Loop
    start: int


@dataclass(slots=True)
class _Round:
    """The iteration of a loop that a run is in."""

    loop: _Loop
    index: int
    count: int | None
    """How often the loop runs; None while a declared unknown decides."""
    evaluation: Evaluation


@record()
class _Script:
    """What all ways of a document have in common."""

    document: Document
    inputs: Mapping[str, Value]
    code: tuple[Atom | _Loop | _Again, ...]
    results: Mapping[str, Any]
    promises: Mapping[str, Sequence[Assumption]]
    """By the ids of calls."""
    chosen: Chosen | None
    unknowns: frozenset[str]
    known: KnownFacts


class PossibleRun:
    """One way, up to the next call."""

    def __init__(
        self,
        script: _Script,
        facts: LearnedFacts | None,
        returned: dict[tuple[str, tuple[int, ...]], Value],
        steps: list[Step],
        monitor: ContractMonitor | None,
        most: int,
    ) -> None:
        self._script = script
        self._monitor = monitor
        self._facts = facts
        self._returned = returned
        self._steps = steps
        self._outside = Evaluation(Environment(script.inputs, self._result), facts)
        self._rounds: list[_Round] = []
        self._at = 0
        self._most = self._left = most
        self._silent = 0
        self._waiting: list[Term] = []
        """What the document says of unknowns, and calls that have not returned decide."""
        self.pending: Step | None = None
        """The call that comes next; None at the end. To be read after `advance`."""

    @classmethod
    def of(
        cls,
        document: Document,
        inputs: Mapping[str, Value],
        *,
        monitored: bool = False,
        most: int | None = None,
        chosen: Chosen | None = None,
    ) -> PossibleRun:
        """The beginning of every run for these inputs; `monitored`: its guarantees are held; `most`: of its steps.

        `chosen`: what declared unknowns are, where one run is to be imagined; then nothing forks.
        """
        validate(document)
        for parameter in document.inputs:
            if parameter.name not in inputs:
                raise UnspecifiedError(f"the input {parameter.name} is not given")
            what = f"the input {parameter.name}"
            check_value(inputs[parameter.name], parameter.type, document, what)
        results = {effect.name: effect.result for effect in document.effects}
        promises: dict[str, list[Assumption]] = {}
        for promise in document.assumptions:
            promises.setdefault(promise.call, []).append(promise)
        code = tuple(_code(document.atoms, 0, 0))
        unknowns = frozenset(each.id for each in document.unknowns)
        known = KnownFacts(document)
        script = _Script(document, inputs, code, results, promises, chosen, unknowns, known)
        monitor = ContractMonitor(document) if monitored else None
        facts = LearnedFacts() if document.unknowns and chosen is None else None
        made = cls(script, facts, {}, [], monitor, MAX_STEPS if most is None else most)
        if facts is not None and not made._holds_in_round(None):
            raise UnspecifiedError("no value of its unknowns is as the document says")
        return made

    @property
    def steps(self) -> Sequence[Step]:
        """The calls so far, in order; only ever added to."""
        return self._steps

    @property
    def trace(self) -> Trace:
        """What happened so far."""
        script = self._script
        return Trace(
            script.document, script.inputs, tuple(self._steps), self._returned, self._facts
        )

    def advance(self) -> list[PossibleRun] | None:
        """Run on to the next call or the end; or give the ways in which it may go on, where an unknown decides."""
        code = self._script.code
        while self._at < len(code):
            here = code[self._at]
            if isinstance(here, Atom):
                truth = self._evaluation.found(here.guard)
                if truth is True:
                    asked = self._asked_before(*_terms_of(here))
                    if asked is not None:
                        return self._either(asked)
                    self.pending = self._prepared(here)
                    return None
                if isinstance(truth, Open):
                    find = self._deciding if truth.declared else self._asked_before
                    condition = find(here.guard)
                    if condition is None and not truth.declared:
                        raise UnspecifiedError(truth.why)
                    return self._either(here.guard if condition is None else condition)
                self._at += 1
                continue
            ways = self._enter(here) if isinstance(here, _Loop) else self._repeat(here)
            if ways is not None:
                return ways
        self.pending = None
        return None

    def returned(self, value: Value) -> None:
        """Pass on what the pending call returned."""
        call = self.pending
        assert call is not None, "a call is pending"
        atom = call.atom
        declared = self._script.results[atom.effect]
        check_value(value, declared, self._script.document, f"what {atom.id} returned")
        self._returned[atom.id, call.indices] = value
        self._made(replace(call, result=value))

    @property
    def fails(self) -> bool:
        """Whether the pending call fails in this way."""
        return self.pending is not None and self.pending.atom.fails

    def failed(self) -> None:
        """Pass on that the pending call failed."""
        assert self.pending is not None, "a call is pending"
        assert self.fails, "the document goes on after it"
        self._made(self.pending)

    def _made(self, call: Step) -> None:
        self._steps.append(call)
        self._spend(call.atom.id)
        self._at += 1
        self._silent = 0
        self.pending = None

    def broken_promise(self) -> Assumption | None:
        """What the call that returned last promised and did not keep; UnspecifiedError when that is left open.

        To be asked before the run is advanced. What rests on a declared unknown counts as kept.
        """
        for promise, inside in self._promised():
            try:
                if inside.holds(promise.guard) and not inside.holds(promise.formula):
                    return promise
            except UnknownError:
                continue
        return None

    def deciding_promises(self) -> list[PossibleRun] | None:
        """The ways to go on, where an unknown decides whether the call that returned last promised something.

        To be asked before `broken_promise`, of these ways again; None where nothing of it is left open that way.
        """
        for promise, inside in self._promised():
            open_part = promise.formula if inside.found(promise.guard) is True else promise.guard
            asked = deciding_condition(inside, open_part)
            if asked is not None and self._facts is not None:
                return self._either(asked)
        return None

    def _promised(self) -> Iterator[tuple[Assumption, Evaluation]]:
        """What the call that returned last promises, in each iteration of the promises' loops."""
        last = self._steps[-1]
        outside = Evaluation(self._evaluation.environment, self._facts)
        for promise in self._script.promises.get(last.atom.id, ()):
            binders = promise.binders[len(last.atom.binders) :]
            with suppress(UnknownError):
                for inside, _ in each_iteration(binders, outside, promise.guard):
                    yield promise, inside

    def given(self, name: str, value: Value) -> Iterator[PossibleRun]:
        """The ways in which the pending call is given this value there."""
        assert self.pending is not None, "a call is pending"
        expected = self.pending.arguments[name]
        if isinstance(expected, Open):
            for way in self._admitting([(self.pending.atom.arguments[name], value)]):
                yield from way._preparing(self.pending.atom)
        elif is_same(expected, value):
            yield self

    def keeps_facts(self) -> bool:
        """Whether the pending call, or the end, shows nothing that the document says is not so."""
        waiting, self._waiting = self._waiting[-MAX_WAITING:], []
        if not all(map(self._says, waiting)):
            return False
        reads = () if self.pending is None else self._script.known.read_by(self.pending.atom)
        return all(self._holds_where_read(*each) for each in reads)

    def called(self, arguments: Mapping[str, Value]) -> None:
        """The pending call is about to be made, with these arguments."""
        assert self.pending is not None, "a call is pending"
        self.pending = replace(self.pending, arguments=arguments)
        if self._monitor is not None:
            self._monitor.add(self.pending, self._evaluation)

    def unkept(self) -> UnkeptGuarantee | None:
        """The guarantee that the run does not keep, with the pending call; at the end, taken as complete."""
        if self._monitor is None:
            return None
        if self.pending is not None:
            return self._monitor.unkept()
        return self._monitor.unkept_at_end(self.trace)

    # -- loops -----------------------------------------------------------------------------------

    def _enter(self, loop: _Loop) -> list[PossibleRun] | None:
        count = iterations(loop.binder, self._evaluation)
        if isinstance(count, Open):
            if count.declared:
                size = _size(loop.binder)
                none = self._knowing(apply("le", size, const(0)), True)
                none = [way for each in none for way in each._sized(loop, 0, each._evaluation)]
                some = self._knowing(apply("lt", const(0), size), True)
                for way in none:
                    way._at = loop.after
                return [
                    *(way for way in some if way._begin(loop, 0, None)),
                    *(way for way in none if way._comes_to(loop, 0, way._evaluation)),
                ]
            asked = self._asked_before(*_open_body(loop, self._evaluation))
            if asked is not None:
                return self._either(asked)
            _refuse_open_loop(loop.body, self._evaluation)
        if isinstance(count, Open) or count <= 0:
            self._at = loop.after
            return None if self._comes_to(loop, 0, self._evaluation) else []
        return None if self._begin(loop, 0, count) else []

    def _repeat(self, here: _Again) -> list[PossibleRun] | None:
        last = self._rounds[-1]
        following = last.index + 1
        if not self._comes_to(here.loop, following, last.evaluation):
            return []
        if last.count is not None:
            self._rounds.pop()
            if following < last.count:
                return self._going(here.loop, following, last.count, here.start)
            else:
                self._at += 1
            return None
        leaving = self._copy()
        leaving._rounds.pop()
        # Before it learns that this was the last round.
        most = _most(_size(here.loop.binder), leaving._evaluation)
        ways = leaving._sized(here.loop, following, leaving._evaluation)
        for way in ways:
            way._at += 1
        if self._silent < MAX_SILENT and (most is None or following < most):
            on = self._copy()
            on._rounds.pop()
            on._silent += 1
            if on._going(here.loop, following, None, here.start) is None:
                ways.append(on)
        return ways

    def _begin(self, loop: _Loop, index: int, count: int | None) -> bool:
        if not self._comes_to(loop, index, self._evaluation):
            return False
        return self._going(loop, index, count, self._at + 1) is None

    def _going(
        self, loop: _Loop, index: int, count: int | None, start: int
    ) -> list[PossibleRun] | None:
        name = loop.binder.index.name
        self._spend(name)
        self._rounds.append(_Round(loop, index, count, self._evaluation.inside(name, index)))
        self._at = start
        return None if self._holds_in_round(loop.binder.index) else []

    def _comes_to(self, loop: _Loop, index: int, before: Evaluation) -> bool:
        """Note what the facts say a round begins with, or what the last one left; whether that can be.

        `before`: values in the round before it, or around the loop.
        """
        around = tuple(each.index for each in self._rounds if each.loop is not loop)
        for fact in self._script.known.begun(loop.binder.index):
            told = fact.term if index else fact.first
            assert told is not None
            value = before.found(told)
            place = (fact.about, (*around, index))
            if self._facts is None:
                if not isinstance(value, Open):
                    self._returned[place] = value
                continue
            read = result(fact.about, fact.term.type, list(map(const, place[1])))
            if not isinstance(value, Open):
                fits = self._learns(read, value, self._outside)
            else:
                # What it is may be seen later. Of other types, equal values need not be the same.
                fits = told.type not in _EQUAL or self._says(eq(read, before.settled(told)))
            if not fits:
                return False
        return True

    # -- what the document says of its unknowns --------------------------------------------------

    def _says(self, term: Term) -> bool:
        """Whether a formula can hold that is settled; if so, it does from now on."""
        found = self._anew(self._outside).found(term)
        if not isinstance(found, Open):
            return found is True
        if found.declared:
            return self._learns(term, True, self._outside, is_said=True)
        self._waiting.append(term)
        return True

    def _anew(self, evaluation: Evaluation) -> Evaluation:
        """The same values, for terms that may read what has not been returned yet: nobody else may remember that."""
        return Evaluation(evaluation.environment, self._facts)

    def _holds_in_round(self, index: Var | None) -> bool:
        """Whether what holds in each round of a loop can hold in this one; or outside of all loops."""
        for fact in self._script.known.holding(index):
            formula, here = implies(fact.guard, fact.term), self._anew(self._evaluation)
            if self._facts is None:
                if here.is_false(formula):
                    return False
            elif not self._says(here.settled(formula)):
                return False
        return True

    def _holds_where_read(self, number: int, fact: Fact, indices: tuple[Term, ...]) -> bool:
        """The same in the round that a call reads, and that it is another one than others, where a fact says so."""
        assert self._facts is not None, "only a document with unknowns has facts"
        inside = self._anew(self._evaluation)
        places = [inside.found(each) for each in indices]
        if any(type(each) is not int for each in places):
            return True
        running = {each.loop.binder.over: each.index for each in self._rounds}
        conditions: list[Term] = []
        for binder, place in zip(self._script.known.binders(fact), places, strict=True):
            count = iterations(binder, inside)
            if place < 0 or (not isinstance(count, Open) and count <= place):
                return True
            if isinstance(count, Open) and place > running.get(binder.over, -1):
                # Nobody knows yet whether there are so many rounds.
                conditions.append(inside.settled(apply("lt", const(place), _size(binder))))
            inside = inside.inside(binder.index.name, place)
        when = and_(*conditions, inside.settled(fact.guard))
        term = inside.settled(fact.term)
        if fact.kind is FactKind.HOLDS:
            return self._says(implies(when, term))
        group = (number, *places[:-1])
        return self._facts.set_apart(group, places[-1], when, term, self._outside)

    def _sized(self, loop: _Loop, count: int, outside: Evaluation) -> list[PossibleRun]:
        """This way, if the loop can run so often."""
        over = loop.binder.over
        if over.type != INT:
            known = self._learns(apply("len", over), count, outside)
        else:
            # A count below zero is as good as zero.
            known = count == 0 or self._learns(over, count, outside)
        return [self] if known else []

    # -- what a declared unknown decides ---------------------------------------------------------

    def _deciding(self, guard: Term) -> Term | None:
        """A declared truth value that is not known yet: once it is, what is open beside it may not matter."""
        for read in sorted(results(guard), key=lambda each: each.call):
            if read.type == BOOL and read.call in self._script.unknowns:
                found = self._evaluation.found(read)
                if isinstance(found, Open) and found.declared:
                    return read
        return None

    def _asked_before(self, *terms: Term) -> Term | None:
        """A condition that unknowns decide, without which it is left open what these terms are."""
        return deciding_condition(self._evaluation, *terms) if self._facts is not None else None

    def _either(self, condition: Term) -> list[PossibleRun]:
        """The ways in which a condition that nobody knows holds, and in which it does not."""
        return [*self._knowing(condition, True), *self._knowing(condition, False)]

    def _knowing(self, condition: Term, truth: bool) -> list[PossibleRun]:
        way = self._copy()
        return [way] if way._learns(condition, truth, way._evaluation) else []

    def _learns(
        self, term: Term, value: Value, evaluation: Evaluation, *, is_said: bool = False
    ) -> bool:
        """Whether the term can have the value; if so, that is known from now on. `is_said`: the document says so."""
        assert self._facts is not None, (
            "only a document with unknowns leaves something to be learned"
        )
        if not self._facts.learn(term, value, evaluation, is_said=is_said):
            return False
        self._look_again()
        for number, each in enumerate(self._rounds):
            if each.count is None:
                count = iterations(each.loop.binder, self._around(number))
                if isinstance(count, int):
                    if count <= each.index:
                        return False
                    each.count = count
        return True

    def _admitting(self, given: list[tuple[Term, Value]]) -> Iterator[PossibleRun]:
        """The ways in which these terms have these values, one after the other."""
        way = self._copy()
        while given:
            term, value = given.pop()
            found = way._evaluation.found(term)
            if not isinstance(found, Open):
                if not is_same(found, value):
                    return
            elif not found.declared:
                asked = way._asked_before(term)
                for each in () if asked is None else way._either(asked):
                    yield from each._admitting([*given, (term, value)])
                return
            elif isinstance(term, App) and term.op == "ite":
                condition, then, otherwise = term.args
                for truth, branch in ((True, then), (False, otherwise)):
                    for each in way._knowing(condition, truth):
                        yield from each._admitting([*given, (branch, value)])
                return
            elif (parts := written_parts(term, value)) is not None:
                given += parts
            elif not way._admits(term, value):
                return
        yield way

    def _admits(self, term: Term, value: Value) -> bool:
        if isinstance(term, App) and term.op in ("list", "tuple", "row"):
            return False  # another shape than is written there
        try:
            check_value(value, term.type, self._script.document, "it")
        except TermError:
            return False
        return self._learns(term, value, self._evaluation)

    # -- one call --------------------------------------------------------------------------------

    def _preparing(self, atom: Atom) -> Iterator[PossibleRun]:
        """The ways in which nothing that the call is given is left open, with the call pending."""
        asked = self._asked_before(*_terms_of(atom))
        if asked is not None:
            for way in self._either(asked):
                yield from way._preparing(atom)
            return
        try:
            self.pending = self._prepared(atom)
        except UnspecifiedError:
            return
        yield self

    def _prepared(self, atom: Atom) -> Step:
        evaluation = self._evaluation
        return Step(
            len(self._steps),
            atom,
            tuple(each.index for each in self._rounds),
            _values(atom.arguments, evaluation),
            tuple((each.event, _values(each.fields, evaluation)) for each in atom.events),
            tuple(
                (each.fluent, _value(each.key, evaluation), _value(each.value, evaluation))
                for each in atom.updates
            ),
        )

    # -- what it reads ---------------------------------------------------------------------------

    @property
    def _evaluation(self) -> Evaluation:
        return self._rounds[-1].evaluation if self._rounds else self._outside

    def _around(self, number: int) -> Evaluation:
        return self._rounds[number - 1].evaluation if number else self._outside

    def _result(self, call: str, indices: tuple[int, ...]) -> Value | Open:
        script = self._script
        if script.chosen is not None and call in script.unknowns:
            if (call, indices) not in self._returned:
                self._returned[call, indices] = script.chosen(call, indices)
            return self._returned[call, indices]
        return result_of(script.document, self._returned, call, indices)

    def _copy(self) -> PossibleRun:
        facts = None if self._facts is None else self._facts.copy()
        monitor = None if self._monitor is None else self._monitor.copy()
        made = PossibleRun(
            self._script, facts, dict(self._returned), list(self._steps), monitor, self._most
        )
        made._at, made._left, made._silent = self._at, self._left, self._silent
        made._waiting = list(self._waiting)
        made._rounds = [
            _Round(each.loop, each.index, each.count, each.evaluation) for each in self._rounds
        ]
        made._look_again()
        return made

    def _look_again(self) -> None:
        """Evaluate everything anew: more is known than when it was evaluated last."""
        self._outside = Evaluation(self._outside.environment, self._facts)
        for number, each in enumerate(self._rounds):
            name = each.loop.binder.index.name
            each.evaluation = self._around(number).inside(name, each.index)

    def _spend(self, what: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise UnspecifiedError(f"the run is longer than {self._most} steps, at {what}")


def _code(atoms: Sequence[Atom], depth: int, start: int) -> list[Atom | _Loop | _Again]:
    """The atoms as instructions, from this place on; loops can't be deep, so this may recurse."""
    made: list[Atom | _Loop | _Again] = []
    for binder, group in groupby(atoms, lambda atom: _binder_at(atom, depth)):
        body = tuple(group)
        if binder is None:
            made += body
            continue
        first = start + len(made) + 1
        inside = _code(body, depth + 1, first)
        loop = _Loop(binder, body, first + len(inside) + 1)
        made += [loop, *inside, _Again(loop, first)]
    return made


def _size(binder: Binder) -> Term:
    """How often a loop runs, where that is not below zero."""
    return binder.over if binder.over.type == INT else apply("len", binder.over)


def _most(term: Term, evaluation: Evaluation) -> int | None:
    """What an open int can't be above, whatever unknowns are; None where nothing is known."""
    found = evaluation.found(term)
    if isinstance(found, int):
        return found
    match term:
        case App(op="ite", args=(condition, then, otherwise)):
            most = _most(then, evaluation)
            match condition:
                case App(op="lt", args=(one, bound)) if one is then:
                    below = _most(bound, evaluation)
                    least = [each for each in (most, below and below - 1) if each is not None]
                    most = min(least, default=None)
                case _:
                    pass
            other = _most(otherwise, evaluation)
            return None if most is None or other is None else max(most, other)
        case _:
            return None


def _binder_at(atom: Atom, depth: int) -> Binder | None:
    return atom.binders[depth] if depth < len(atom.binders) else None


def _open_body(loop: _Loop, evaluation: Evaluation) -> list[Term]:
    """What is to be known of a loop whose length is left open: how long it is, or that nothing in it happens."""
    guards = [atom.guard for atom in loop.body if not evaluation.is_false(atom.guard)]
    return [loop.binder.over, *guards] if guards else []


def _refuse_open_loop(atoms: Sequence[Atom], evaluation: Evaluation) -> None:
    # A loop over the result of a call that did not happen: nothing in it happens either, as its guards must say.
    for atom in atoms:
        if not evaluation.is_false(atom.guard):
            raise UnspecifiedError(f"{atom.id} stands in a loop whose length is left open")


def _terms_of(atom: Atom) -> Iterator[Term]:
    """What is evaluated when a call is about to be made."""
    yield from atom.arguments.values()
    for event in atom.events:
        yield from event.fields.values()
    for update in atom.updates:
        yield from (update.key, update.value)


def _values(terms: Mapping[str, Term], evaluation: Evaluation) -> dict[str, Any]:
    return {name: _value(term, evaluation) for name, term in terms.items()}


def _value(term: Term, evaluation: Evaluation) -> Any:
    """Its value; Open only where a declared unknown stands."""
    found = evaluation.found(term)
    if isinstance(found, Open) and not found.declared:
        raise UnspecifiedError(found.why)
    return found
