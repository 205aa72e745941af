"""From a program in commands to its Effect IR document.

The commands are executed symbolically on the machine of the Python front-end: paths, loops, calls, demands and promises
become guards, binders, atoms, obligations and assumptions there, by the same code. Only terms need no translation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeGuard, cast

from lictor_ir.document import Document, ObligationKind, Span
from lictor_ir.errors import IrError
from lictor_ir.terms import (
    FALSE,
    TRUE,
    App,
    Const,
    Matches,
    Term,
    Var,
    and_,
    apply,
    const,
    matches,
    postorder,
    var,
)
from lictor_prove.commands.program import (
    Assert,
    Block,
    CallCommand,
    Command,
    Commands,
    ForCount,
    ForEach,
    Let,
    Stop,
    When,
    WrittenTerm,
)
from lictor_prove.errors import Reason, Rejected
from lictor_prove.python.interpreter.loops import is_entered, symbolic_round
from lictor_prove.python.interpreter.trusted_calls import TrustedCalls
from lictor_prove.python.machine.machine_state import Hooks, Machine
from lictor_prove.python.machine.program_shape import (
    BranchPoint,
    ProgramShape,
    Spot,
    UnreadPromise,
)
from lictor_prove.python.machine.symbolic_values import NONE_VALUE, Sym, SymbolicValue
from lictor_prove.python.predicates import condition, promised
from lictor_prove.python.program.document_assembly import assembled
from lictor_prove.python.refusals import MAX_ITERATIONS, Raises, SubsetRefusal, refuse

MAX_PARTS: Final = 10_000
_FLAT: Final = frozenset({"add", "concat"})
"""Applied to themselves they become one long application: doubled forty times, one of a million millions."""

Names = Mapping[str, Term]
"""What the program's names stand for: terms over inputs, indices and results."""


def lowered(commands: Commands, *, name: str, target: str = "main") -> Document:
    """The document of a program; Rejected when what it does can't be written as one."""
    return lowered_with_shape(commands, name=name, target=target)[0]


def lowered_with_shape(
    commands: Commands, *, name: str, target: str = "main"
) -> tuple[Document, ProgramShape]:
    """The document of a program, and its shape; Rejected when what it does can't be written as a document."""
    lowering = _Lowering(commands)
    try:
        document = lowering.document(name, target)
        return document, ProgramShape(
            frozenset(map(Spot, _sites(commands.body))),
            lowering.branches,
            unread=lowering.unread,
        )
    except SubsetRefusal as refusal:
        raise _rejected(lowering.at, refusal.code, refusal.message, refusal.remedy) from None
    except Raises as problem:
        message = f"{problem.error}: {problem.message}"
        raise _rejected(lowering.at, "error.certain", message, problem.remedy) from None
    except IrError as error:
        remedy = "Use values of the types asked for."
        raise _rejected(lowering.at, "value.term", str(error), remedy) from None
    except (RecursionError, MemoryError):
        message = "the program is nested too deeply to be read"
        raise _rejected(lowering.at, "limits.depth", message, "Nest less.") from None


def _rejected(at: Span | None, code: str, message: str, remedy: str) -> Rejected:
    line, column = (at.line, at.column) if at is not None else (None, None)
    return Rejected(Reason(code, message, remedy, line, column))


def _sites(block: Block) -> Iterator[Span]:
    """Where trusted functions are called."""
    for command in block:
        match command:
            case CallCommand():
                yield command.span
            case When():
                yield from _sites(command.then)
                yield from _sites(command.otherwise)
            case ForEach() | ForCount():
                yield from _sites(command.body)
            case _:
                pass


class _Lowering:
    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self.at: Span | None = None
        # Of the machine's hooks only `span` is asked for: there are no expressions of Python to evaluate.
        self._machine = Machine(cast(Hooks, self))
        self._machine.at = ast.Pass()
        self._machine.taken = {each.name for each in commands.inputs}
        self._trusted = TrustedCalls(condition, promised, [each.name for each in commands.inputs])

    def span(self, node: ast.AST) -> Span | None:
        """Where the machine stands: at a command."""
        del node
        return self.at

    @property
    def branches(self) -> tuple[BranchPoint, ...]:
        """Where the program branches, as far as it was executed."""
        return tuple(self._machine.branches)

    @property
    def unread(self) -> tuple[UnreadPromise, ...]:
        """What is promised to the program, and not said in its document."""
        return tuple(self._trusted.unread)

    def _note_branch(self, condition: Term, *, must_hold: bool = False) -> None:
        self._machine.branch(ast.Pass(), condition, must_hold=must_hold)

    def document(self, name: str, target: str) -> Document:
        """The document of the whole program."""
        commands = self._commands
        if target != "main":
            refuse("target.unknown", f"commands have no {target}", "Leave the target out, or main.")
        self._machine.enter("function")
        self._block(
            commands.body, {each.name: var(each.name, each.type) for each in commands.inputs}
        )
        return assembled(
            self._machine,
            commands.layer,
            name=name,
            target=target,
            source=commands.source,
            inputs=commands.inputs,
            guarantees=commands.guarantees,
            called=self._trusted.used,
            schemas=commands.layer.schemas,
        )

    # -- commands ----------------------------------------------------------------------------------

    def _block(self, block: Block, names: Names) -> None:
        """Execute commands until no path goes on; blocks are not deep, so this may recurse."""
        inside = dict(names)
        for command in block:
            if self._machine.dead:
                return
            self.at = command.span
            self._machine.step()
            self._command(command, inside)

    def _command(self, command: Command, names: dict[str, Term]) -> None:
        machine = self._machine
        match command:
            case Let():
                names[command.name] = self._value(command.value, names)
            case CallCommand():
                self._call(command, names)
            case When():
                holds = self._value(command.condition, names)
                self._note_branch(holds)
                machine.fork(
                    holds,
                    lambda: self._branch(command.then, names),
                    lambda: self._branch(command.otherwise, names),
                )
            case ForEach():
                self._each(self._value(command.over, names), command, names)
            case ForCount():
                self._count(self._value(command.count, names), command, names)
            case Assert():
                self._assert(self._value(command.condition, names), command.span)
            case Stop():
                self._stop()

    def _branch(self, block: Block, names: Names) -> SymbolicValue:
        self._block(block, names)
        return NONE_VALUE

    def _call(self, command: CallCommand, names: dict[str, Term]) -> None:
        given = {name: Sym(self._value(each, names)) for name, each in command.arguments.items()}
        positional = [
            given.pop(parameter.name)
            for parameter in command.function.parameters
            if parameter.positional_only and parameter.name in given
        ]
        value = self._trusted.call(self._machine, command.function, positional, given)
        if command.name is not None:
            assert isinstance(value, Sym)
            names[command.name] = value.term

    def _assert(self, holds: Term, span: Span) -> None:
        machine = self._machine
        text = f"the assertion at line {span.line} holds"
        self._note_branch(holds, must_hold=True)
        machine.require(holds, text, ObligationKind.ASSERTION)
        if holds is FALSE:
            machine.stop()
            return
        narrowed = and_(machine.guard, holds)
        if narrowed is not machine.guard:
            machine.departed += 1
            machine.guard = narrowed

    def _stop(self) -> None:
        machine = self._machine
        if any(target.kind == "symbolic" for target in machine.targets):
            refuse(
                "loop.stop",
                "the program stops inside a loop that runs an unknown number of times",
                "Stop after the loop, or guard the calls in it with `when`.",
            )
        machine.leave_for(machine.targets[0], NONE_VALUE)

    # -- loops -------------------------------------------------------------------------------------

    def _each(self, over: Term, command: ForEach, names: Names) -> None:
        machine = self._machine
        match over:
            case App(op="list"):
                self._known(over.args, command.name, command.body, names, command.span)
            case App(op="ite"):
                choice, then, otherwise = over.args

                def taken(option: Term) -> Callable[[], SymbolicValue]:
                    def run() -> SymbolicValue:
                        self._each(option, command, names)
                        return NONE_VALUE

                    return run

                machine.fork(choice, taken(then), taken(otherwise))
            case _:
                index = machine.fresh_index()
                item = apply("at", over, index)
                self._unknown(index, over, item, command.name, command.body, names)

    def _count(self, count: Term, command: ForCount, names: Names) -> None:
        if not isinstance(count, Const):
            index = self._machine.fresh_index()
            self._unknown(index, count, index, command.name, command.body, names)
            return
        assert isinstance(count.value, int)
        if count.value > MAX_ITERATIONS:
            refuse(
                "limits.iterations",
                f"the loop counts to {count.value}; loops are unrolled up to {MAX_ITERATIONS}",
                "Count less far, or loop over a list that a trusted call returns.",
            )
        rounds = [const(number) for number in range(count.value)]
        self._known(rounds, command.name, command.body, names, command.span)

    def _known(
        self, items: Sequence[Term], name: str, body: Block, names: Names, span: Span
    ) -> None:
        for item in items:
            if self._machine.dead:
                return
            self.at = span
            self._machine.step()
            self._block(body, {**names, name: item})

    def _unknown(
        self, index: Var, over: Term, item: Term, name: str, body: Block, names: Names
    ) -> None:
        def one_round() -> None:
            self._block(body, {**names, name: item})

        self._note_branch(is_entered(over))
        symbolic_round(self._machine, index, over, TRUE, one_round)

    # -- terms -------------------------------------------------------------------------------------

    def _value(self, value: WrittenTerm, names: Names) -> Term:
        """The term over inputs, indices and results; what its operations demand is an obligation here."""
        machine = self._machine
        outer = machine.guard
        for demand in value.demands:
            machine.guard = and_(outer, _over(demand.when, names))
            machine.require(_over(demand.holds, names), demand.text)
            machine.guard = outer
        return _over(value.term, names)


def _over(root: Term, names: Names) -> Term:
    """The term with the program's names replaced, folded where the outcome is known."""
    done: dict[Term, Term] = {}
    for term in postorder(root):
        match term:
            case Var():
                done[term] = names[term.name]
            case App():
                done[term] = _applied(term, [done[arg] for arg in term.args])
            case Matches():
                done[term] = matches(done[term.text], term.regex)
            case _:
                done[term] = term
    return done[root]


def _applied(term: App, args: Sequence[Term]) -> Term:
    if term.op in _FLAT:
        parts = sum(len(each.args) if _is(each, term.op) else 1 for each in args)
        if parts > MAX_PARTS:
            refuse(
                "limits.parts",
                f"a value here is made of more than {MAX_PARTS} parts",
                "Make it shorter, or let a trusted function compute it.",
            )
    return apply(term.op, *args, param=term.param)


def _is(term: Term, op: str) -> TypeGuard[App]:
    return isinstance(term, App) and term.op == op
