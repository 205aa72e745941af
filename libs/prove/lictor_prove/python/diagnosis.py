"""Every reason why a program is rejected, not only the first.

A program that was rejected is read once more, for nothing but its reasons: what is refused is noted and has a value of
which nothing is known, and whatever is refused only because of such a value is no reason of its own. No document comes
out of it, so nothing that is found here can end in a proof.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

from lictor_ir.document import Parameter
from lictor_ir.errors import IrError
from lictor_ir.terms import var
from lictor_ir.types import ANY, BOOL, NONE
from lictor_prove.errors import Reason
from lictor_prove.layer_model import Layer, TrustedFunction
from lictor_prove.python.interpreter import statements
from lictor_prove.python.interpreter.trusted_calls import declared_result
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    Composite,
    Content,
    InstanceRef,
    Opaque,
    Ref,
    SequenceV,
    SymbolicValue,
    UnionV,
)
from lictor_prove.python.machine.unknown_values import unknown
from lictor_prove.python.program.guarantees import read_guarantee
from lictor_prove.python.program.module_bindings import Module
from lictor_prove.python.reader import ProgramReader, reason_at
from lictor_prove.python.refusals import Raises, SubsetRefusal
from lictor_prove.python.syntax.scopes import parameters, stored_names
from lictor_prove.python.syntax.subset import SUPPORTED, ProgramSource, check_subset
from lictor_prove.python.syntax.walking import nodes_below

MAX_REASONS: Final = 50
MAX_STEPS: Final = 10_000
"""Statements and expressions that are looked at again."""
MAX_VALUE_DEPTH: Final = 4
"""How far items of items are searched for what was refused."""
_FINAL: Final = ("source.", "limits.", "ir.")
"""After these nothing more can be read."""
_BODIES: Final = ("body", "orelse", "finalbody")
_REFUSALS: Final = (SubsetRefusal, Raises, IrError)


def every_reason(first: Reason, source: str, *, target: str, layer: Layer) -> tuple[Reason, ...]:
    """The reason that a program was rejected for, and all others that stand in its way, by line."""
    if first.code.startswith(_FINAL):
        return (first,)
    diagnosis = _Diagnosis(ProgramSource(source), layer)
    # The program is rejected already: reasons that can't be found are not told.
    with suppress(Exception):
        diagnosis.look(ast.parse(source), target)
    found = {(each.line, each.code): each for each in reversed(diagnosis.reasons())}
    found.pop((first.line, first.code), None)
    others = sorted(found.values(), key=lambda each: (each.line or 0, each.column or 0, each.code))
    left_out = len(others) + 1 - MAX_REASONS
    if left_out > 0:
        others = others[: MAX_REASONS - 1]
        others.append(
            Reason(
                "reasons.more",
                f"and {left_out} more",
                "Correct these first, then prove the program again.",
            )
        )
    return (first, *others)


Refused = SubsetRefusal | Raises | IrError


class _Enough(Exception):
    """The program is too large to be looked at whole."""


@dataclass(frozen=True, slots=True, eq=False)
class _Undetermined(Opaque):
    """What was refused."""


_UNDETERMINED: Final = _Undetermined("a value that was refused")


class _ForgivingModule(Module):
    """The module of a program; what it can't bind has a value of which nothing is known."""

    def __init__(self, layer: Layer, noted: Callable[[Refused, ast.AST], None]) -> None:
        super().__init__(layer)
        self._noted = noted

    def _bind(self, node: ast.AST, name: str, value: SymbolicValue) -> None:
        if self.bound.get(name) is _UNDETERMINED:
            del self.bound[name]
        super()._bind(node, name, value)

    def attempt(self, step: Callable[[], None], node: ast.stmt) -> None:
        try:
            step()
        except _REFUSALS as refusal:
            self._noted(refusal, node)
            for name in stored_names([node]):
                self.bound.setdefault(name, _UNDETERMINED)


class _Diagnosis(ProgramReader):
    """Reads a program for its reasons."""

    def __init__(self, source: ProgramSource, layer: Layer) -> None:
        super().__init__(source, layer)
        self._noted: list[Reason] = []
        self._places: set[tuple[int | None, int | None, str]] = set()
        self.module = _ForgivingModule(layer, self._note)
        self._caught: frozenset[str] = frozenset()
        """Names that only what is refused binds."""
        self._seen = 0
        """How often a value was read that was refused before."""
        self._conditions = (var(f"refused {number}", BOOL) for number in count(1))

    def reasons(self) -> Sequence[Reason]:
        """What was found so far."""
        return self._noted

    def look(self, tree: ast.Module, target: str) -> None:
        """Look at the whole program."""
        refused = [node for node in nodes_below(tree) if type(node) not in SUPPORTED]
        self._caught = frozenset(str(getattr(node, "name", "")) for node in refused)
        check_subset(tree, partial(self._note, is_executed=False))
        machine = self.machine
        tree.body = list(_one_name_each(tree.body))
        main = self.module.read(machine, tree, target)
        for decorator in main.decorator_list:
            try:
                read_guarantee(self.module, decorator, self.source)
            except SubsetRefusal as refusal:
                self._note(refusal, decorator)
        inputs: list[Parameter] = []
        for argument in parameters(main):
            try:
                inputs.append(self.input_of(argument))
            except SubsetRefusal as refusal:
                self._note(refusal, argument)
        self.begin(main, inputs)
        for name in {each.arg for each in parameters(main)} - {each.name for each in inputs}:
            machine.bind(name, _UNDETERMINED)
        self.run(machine, main.body)

    # -- hooks of the machine ----------------------------------------------------------------------

    def evaluate(self, machine: Machine, node: ast.expr) -> SymbolicValue:
        if machine.steps > MAX_STEPS:
            raise _Enough
        mark, seen = machine.mark(), self._seen
        try:
            value = super().evaluate(machine, node)
        except _REFUSALS as refusal:
            self._note_own(refusal, seen, machine.at or node)
            machine.go_back(mark)
            value = _UNDETERMINED
        if _is_undetermined(machine, value):
            self._seen += 1
        return value

    def run(self, machine: Machine, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            mark, seen = machine.mark(), self._seen
            try:
                statements.run(machine, [statement])
            except _REFUSALS as refusal:
                self._note_own(refusal, seen, machine.at or statement)
                machine.go_back(mark)
                self._pass_by(machine, statement)

    def call_trusted(
        self,
        machine: Machine,
        function: TrustedFunction,
        args: Sequence[SymbolicValue],
        keywords: Mapping[str, SymbolicValue],
    ) -> SymbolicValue:
        given = (*args, *keywords.values())
        if not any(_is_undetermined(machine, value) for value in given):
            mark = machine.mark()
            try:
                return super().call_trusted(machine, function, args, keywords)
            except _REFUSALS as refusal:
                self._note(refusal, machine.at)
                machine.go_back(mark)
        type_ = declared_result(function.result)
        if type_ == NONE:
            return NONE_VALUE
        return _UNDETERMINED if type_ == ANY else unknown(machine, type_, "refused", ())

    def lookup(self, machine: Machine, name: str) -> SymbolicValue:
        return _UNDETERMINED if name in self._caught else super().lookup(machine, name)

    # -- going on ----------------------------------------------------------------------------------

    def _pass_by(self, machine: Machine, statement: ast.stmt) -> None:
        """Go on after a statement that was refused: it may have done any of what stands in it."""
        for name in stored_names([statement]):
            machine.bind(name, _UNDETERMINED)
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            return
        for body in _bodies(statement):
            self._perhaps(machine, body)

    def _perhaps(self, machine: Machine, body: Sequence[ast.stmt]) -> None:
        # A `break` in a loop that was refused leaves for its end, like all that leaves for nowhere.
        whole = machine.enter("loop")
        turn = machine.enter("round")

        def run() -> SymbolicValue:
            self.run(machine, body)
            return NONE_VALUE

        machine.fork(next(self._conditions), run, lambda: NONE_VALUE)
        machine.close(turn, NONE_VALUE)
        machine.close(whole, NONE_VALUE)

    # -- noting ------------------------------------------------------------------------------------

    def _note_own(self, refusal: Refused, seen: int, node: ast.AST) -> None:
        """Note a reason, unless it is one only because of another."""
        if self._seen == seen:
            self._note(refusal, node)

    def _note(self, refusal: Refused, node: ast.AST | None, *, is_executed: bool = True) -> None:
        if isinstance(refusal, Raises):
            told = ("error.certain", f"{refusal.error}: {refusal.message}", refusal.remedy)
        elif isinstance(refusal, IrError):
            told = ("value.term", str(refusal), "Use values of the types asked for.")
        else:
            if refusal.node is not None:
                node = refusal.node
                if is_executed and type(node) not in SUPPORTED:
                    # Told when the syntax was looked at.
                    return
            told = (refusal.code, refusal.message, refusal.remedy)
        reason = reason_at(self.source, node, *told)
        if reason.code.startswith(_FINAL):
            raise _Enough
        # Whatever else can't be done with a node that is outside the subset is no other reason.
        code = "unsupported" if reason.code.startswith("unsupported.") else reason.code
        place = (reason.line, reason.column, code)
        if place not in self._places:
            self._places.add(place)
            self._noted.append(reason)


def _one_name_each(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Imports of several names as one each: what one of them lacks says nothing of the others."""
    for node in body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield ast.copy_location(ast.ImportFrom(node.module, [alias], node.level), node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield ast.copy_location(ast.Import([alias]), node)
        else:
            yield node


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement."""
    for holder in (
        statement,
        *getattr(statement, "handlers", ()),
        *getattr(statement, "cases", ()),
    ):
        for field in _BODIES:
            body = getattr(holder, field, None)
            if body:
                yield body


def _is_undetermined(machine: Machine, value: SymbolicValue, depth: int = MAX_VALUE_DEPTH) -> bool:
    """Whether the value is what was refused, or holds it."""
    inner: Sequence[SymbolicValue] = ()
    match value:
        case _Undetermined():
            return True
        case Composite(items):
            inner = items
        case InstanceRef():
            inner = [
                each
                for key in value.keys
                if isinstance(each := machine.store.get(key), SymbolicValue)
            ]
        case UnionV(options):
            inner = [option for _, option in options]
        case Ref(id=key):
            content = machine.store.get(key)
            if isinstance(content, Content):
                held = content.held
                inner = (
                    [held.item]
                    if isinstance(held, SequenceV)
                    else [
                        part
                        for entry in held
                        for part in (entry.value, entry.key)
                        if part is not None
                    ]
                )
        case _:
            return False
    return depth > 0 and any(_is_undetermined(machine, each, depth - 1) for each in inner)
