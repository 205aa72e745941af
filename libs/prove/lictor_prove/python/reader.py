"""From a program's source to its Effect IR document."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lictor_ir.document import Document, Parameter, Span
from lictor_ir.errors import IrError
from lictor_ir.terms import var
from lictor_ir.types import BOOL, FLOAT, INT, STR, Type
from lictor_prove.errors import Reason, Rejected
from lictor_prove.layer_model import Layer, TrustedFunction
from lictor_prove.python.interpreter import name_lookup
from lictor_prove.python.interpreter.hooks import InterpreterHooks
from lictor_prove.python.interpreter.trusted_calls import TrustedCalls
from lictor_prove.python.machine.control_paths import Frame
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.program_shape import ProgramShape, Spot, Via
from lictor_prove.python.machine.symbolic_values import (
    ForeignV,
    ModuleV,
    Sym,
    SymbolicValue,
)
from lictor_prove.python.predicates import condition, promised
from lictor_prove.python.program.call_sites import CallSites
from lictor_prove.python.program.document_assembly import assembled
from lictor_prove.python.program.guarantees import read_guarantees
from lictor_prove.python.program.module_bindings import Module
from lictor_prove.python.refusals import Raises, SubsetRefusal, refuse
from lictor_prove.python.syntax.scopes import local_names, parameters
from lictor_prove.python.syntax.subset import ProgramSource, parse
from lictor_schema.proofs.input_limits import MAX_INPUT_NAME, MAX_INPUTS

_INPUTS: Final[Mapping[str, Type]] = {"bool": BOOL, "int": INT, "float": FLOAT, "str": STR}


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """The text of a program in the subset, and its syntax tree: parsed once, for all who look at the program."""

    source: ProgramSource
    tree: ast.Module


def parse_program(source: str) -> ParsedProgram:
    """The syntax tree of a program, or Rejected when it is no program in the subset."""
    text = ProgramSource(source)
    try:
        return ParsedProgram(text, parse(source))
    except SubsetRefusal as refusal:
        reason = reason_at(text, refusal.node, refusal.code, refusal.message, refusal.remedy)
        raise Rejected(reason) from None


def read_program(source: str, *, name: str, target: str = "main", layer: Layer) -> Document:
    """The document of a program, or Rejected with the reasons and where they stand."""
    return read_parsed(parse_program(source), name=name, target=target, layer=layer)[0]


def read_parsed(
    parsed: ParsedProgram, *, name: str, target: str = "main", layer: Layer
) -> tuple[Document, ProgramShape]:
    """The document of a program that is parsed already, and its shape; or Rejected with the reasons and where they
    stand."""
    text = parsed.source
    machine: Machine | None = None
    try:
        program = ProgramReader(text, layer)
        machine = program.machine
        document = program.read(parsed.tree, name, target)
        return document, program.shape(parsed.tree)
    except SubsetRefusal as refusal:
        node = refusal.node or (machine.at if machine is not None else None)
        raise Rejected(
            reason_at(text, node, refusal.code, refusal.message, refusal.remedy)
        ) from None
    except Raises as problem:
        node = machine.at if machine is not None else None
        raise Rejected(
            reason_at(
                text, node, "error.certain", f"{problem.error}: {problem.message}", problem.remedy
            )
        ) from None
    except (RecursionError, MemoryError):
        node = machine.at if machine is not None else None
        raise Rejected(
            reason_at(
                text,
                node,
                "limits.depth",
                "the program is nested too deeply to be read",
                "Give parts of it names, and nest fewer calls.",
            )
        ) from None
    except IrError as error:
        node = machine.at if machine is not None else None
        raise Rejected(
            reason_at(text, node, "value.term", str(error), "Use values of the types asked for.")
        ) from None


def reason_at(
    text: ProgramSource, node: ast.AST | None, code: str, message: str, remedy: str
) -> Reason:
    """A reason, and where it stands."""
    span = text.span(node) if node is not None else None
    return Reason(
        code,
        message,
        remedy,
        span.line if span is not None else None,
        span.column if span is not None else None,
    )


class ProgramReader(InterpreterHooks):
    """One program, and what its names mean."""

    def __init__(self, source: ProgramSource, layer: Layer) -> None:
        self.source = source
        self.module = Module(layer)
        self.machine = Machine(self, declares_unknowns=True)
        self._trusted = TrustedCalls(condition, promised, ())
        self._evaluated: set[tuple[ast.Call, Via]] = set()
        """The calls that some path leads to, and how."""

    # -- hooks of the machine ----------------------------------------------------------------------

    def evaluate(self, machine: Machine, node: ast.expr) -> SymbolicValue:
        if isinstance(node, ast.Call) and not machine.dead:
            self._evaluated.add((node, machine.via))
        return super().evaluate(machine, node)

    def call_trusted(
        self,
        machine: Machine,
        function: TrustedFunction,
        args: Sequence[SymbolicValue],
        keywords: Mapping[str, SymbolicValue],
    ) -> SymbolicValue:
        return self._trusted.call(machine, function, args, keywords)

    def call_foreign(
        self,
        machine: Machine,
        function: ForeignV,
        args: Sequence[SymbolicValue],
        keywords: Sequence[tuple[str, SymbolicValue]],
    ) -> SymbolicValue:
        del machine, function, args, keywords
        raise AssertionError("programs don't see objects of the layer")

    def lookup(self, machine: Machine, name: str) -> SymbolicValue:
        return name_lookup.lookup(machine, name)

    def attribute(self, machine: Machine, owner: SymbolicValue, name: str) -> SymbolicValue:
        if isinstance(owner, ModuleV):
            return self.module.attribute(owner, name)
        return name_lookup.attribute(machine, owner, name, self.module.schemas)

    def span(self, node: ast.AST) -> Span | None:
        return self.source.span(node)

    # -- reading -----------------------------------------------------------------------------------

    def read(self, tree: ast.Module, name: str, target: str) -> Document:
        machine = self.machine
        main = self.module.read(machine, tree, target)
        guarantees = read_guarantees(self.module, main, self.source)
        inputs = self._inputs(main)
        self.begin(main, inputs)
        self.run(machine, main.body)
        return assembled(
            machine,
            self.module.layer,
            name=name,
            target=target,
            source=self.source.text,
            inputs=inputs,
            guarantees=guarantees,
            called=self._trusted.used,
            schemas=self.module.schemas,
        )

    def begin(self, main: ast.FunctionDef, inputs: Sequence[Parameter]) -> None:
        """Enter the target with its inputs."""
        machine = self.machine
        self._trusted = TrustedCalls(condition, promised, [each.name for each in inputs])
        machine.inputs = frozenset(each.name for each in inputs)
        machine.taken = set(machine.inputs)
        frame = Frame(machine.fresh_id(), machine.frames[0], local_names(main))
        machine.frames[frame.id] = frame
        machine.frame = frame
        machine.active.append(main)
        machine.enter("function")
        for each in inputs:
            machine.bind(each.name, Sym(var(each.name, each.type)))

    def shape(self, tree: ast.Module) -> ProgramShape:
        """Where the program that was read calls and branches."""
        machine = self.machine
        sites = CallSites(tree, self._meaning, self.module.layer)
        written = (
            (self.source.span(node), via)
            for node, inside in sites.calls()
            # Of a helper that no path leads into, it stands there once.
            for via in machine.entered.get(inside, ((),))
            if sites.names_trusted(node.func)
            # Where a path leads, it is known what is called.
            or ((node, via) not in self._evaluated and sites.may_hold_trusted(node.func))
        )
        # A trusted function may be called by a name that the program gave it.
        found = ((atom.span, machine.via_of[atom.id]) for atom in machine.atoms)
        spots = frozenset(Spot(span, via) for span, via in (*written, *found) if span is not None)
        raising = (machine.span_of.get(each.id) for each in machine.unknowns if each.may_raise)
        failing = (atom.span for atom in machine.atoms if atom.fails)
        return ProgramShape(
            spots,
            tuple(machine.branches),
            machine.via_of,
            tuple(span for span in (*raising, *failing, *machine.early_ends) if span is not None),
            tuple(self._trusted.unread),
            tuple(sorted(machine.handled)),
        )

    def _meaning(self, node: ast.expr) -> SymbolicValue | None:
        try:
            return self.module.resolve(node)
        except SubsetRefusal:
            return None

    def _inputs(self, main: ast.FunctionDef) -> tuple[Parameter, ...]:
        arguments = parameters(main)
        found = tuple(map(self.input_of, arguments))
        if len(found) > MAX_INPUTS:
            refuse(
                "limits.parameters",
                f"the target has {len(found)} parameters; values can be given to {MAX_INPUTS}",
                "Read some of the values with a trusted function.",
                arguments[MAX_INPUTS],
            )
        if main.args.defaults or any(main.args.kw_defaults):
            refuse(
                "input.default",
                "parameters of the target have no defaults: they may have any value",
                "Leave the default out.",
                main,
            )
        return found

    def input_of(self, argument: ast.arg) -> Parameter:
        """A parameter of the target."""
        annotation = argument.annotation
        type_ = (
            _INPUTS.get(annotation.id)
            if isinstance(annotation, ast.Name) and annotation.id not in self.module.bound
            else _INPUTS.get(str(annotation.value))
            if isinstance(annotation, ast.Constant)
            else None
        )
        if type_ is None:
            refuse(
                "input.type",
                f"the parameter {argument.arg} must be annotated bool, int, float or str",
                "Annotate it, or read the value with a trusted function.",
                argument,
            )
        if len(argument.arg) > MAX_INPUT_NAME:
            refuse(
                "limits.name",
                f"the parameter {argument.arg[:40]}… has a name of {len(argument.arg)} characters; a name has at most"
                f" {MAX_INPUT_NAME}",
                "Give it a shorter name.",
                argument,
            )
        return Parameter(argument.arg, type_)
