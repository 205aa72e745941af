"""From a program's source to its Effect IR document."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from lictor_ir.contracts import AtEnd, leaves, relations
from lictor_ir.document import Document, Effect, Guarantee, Parameter, Schema, Span
from lictor_ir.errors import IrError
from lictor_ir.terms import App, Term, postorder, var
from lictor_ir.types import (
    BOOL,
    FLOAT,
    INT,
    STR,
    ListOf,
    MapOf,
    RowOf,
    Scalar,
    SetOf,
    TupleOf,
    Type,
)
from lictor_prove.errors import Reason, Rejected
from lictor_prove.layer_model import Layer, TrustedFunction
from lictor_prove.python import calls, expressions, names, statements
from lictor_prove.python.guarantees import read_guarantees
from lictor_prove.python.imports import Module
from lictor_prove.python.paths import Frame
from lictor_prove.python.predicates import condition
from lictor_prove.python.refusals import Raises, Refusal, refuse
from lictor_prove.python.scopes import local_names, parameters
from lictor_prove.python.source import Source, parse
from lictor_prove.python.state import Machine
from lictor_prove.python.trusted import TrustedCalls, declared_result
from lictor_prove.python.values import ForeignV, ModuleV, Sym, Value

_INPUTS: Final[Mapping[str, Type]] = {"bool": BOOL, "int": INT, "float": FLOAT, "str": STR}


def read_program(source: str, *, name: str, target: str = "main", layer: Layer) -> Document:
    """The document of a program, or Rejected with the reasons and where they stand."""
    text = Source(source)
    machine: Machine | None = None
    try:
        tree = parse(source)
        program = _Program(text, layer)
        machine = program.machine
        return program.read(tree, name, target)
    except Refusal as refusal:
        node = refusal.node or (machine.at if machine is not None else None)
        raise Rejected(_reason(text, node, refusal.code, refusal.message, refusal.remedy)) from None
    except Raises as problem:
        node = machine.at if machine is not None else None
        raise Rejected(
            _reason(
                text, node, "error.certain", f"{problem.error}: {problem.message}", problem.remedy
            )
        ) from None
    except (RecursionError, MemoryError):
        node = machine.at if machine is not None else None
        raise Rejected(
            _reason(
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
            _reason(text, node, "value.term", str(error), "Use values of the types asked for.")
        ) from None


def _reason(text: Source, node: ast.AST | None, code: str, message: str, remedy: str) -> Reason:
    span = text.span(node) if node is not None else None
    return Reason(
        code,
        message,
        remedy,
        span.line if span is not None else None,
        span.column if span is not None else None,
    )


class _Program:
    """One program, and what its names mean."""

    def __init__(self, source: Source, layer: Layer) -> None:
        self.source = source
        self.module = Module(layer)
        self.machine = Machine(self)
        self._trusted = TrustedCalls(condition, ())

    # -- hooks of the machine ----------------------------------------------------------------------

    def evaluate(self, machine: Machine, node: ast.expr) -> Value:
        return expressions.evaluate(machine, node)

    def run(self, machine: Machine, body: Sequence[ast.stmt]) -> None:
        statements.run(machine, body)

    def call(
        self,
        machine: Machine,
        function: Value,
        args: Sequence[Value],
        keywords: Sequence[tuple[str, Value]],
    ) -> Value:
        return calls.call(machine, function, args, keywords)

    def call_trusted(
        self,
        machine: Machine,
        function: TrustedFunction,
        args: Sequence[Value],
        keywords: Mapping[str, Value],
    ) -> Value:
        return self._trusted.call(machine, function, args, keywords)

    def call_foreign(
        self,
        machine: Machine,
        function: ForeignV,
        args: Sequence[Value],
        keywords: Sequence[tuple[str, Value]],
    ) -> Value:
        del machine, function, args, keywords
        raise AssertionError("programs don't see objects of the layer")

    def lookup(self, machine: Machine, name: str) -> Value:
        return names.lookup(machine, name)

    def attribute(self, machine: Machine, owner: Value, name: str) -> Value:
        del machine
        if isinstance(owner, ModuleV):
            return self.module.attribute(owner, name)
        return names.attribute(owner, name, self.module.schemas)

    def span(self, node: ast.AST) -> Span | None:
        return self.source.span(node)

    # -- reading -----------------------------------------------------------------------------------

    def read(self, tree: ast.Module, name: str, target: str) -> Document:
        machine = self.machine
        main = self.module.read(machine, tree, target)
        guarantees = read_guarantees(self.module, main, self.source)
        inputs = self._inputs(main)
        self._trusted = TrustedCalls(condition, [each.name for each in inputs])
        machine.taken = {each.name for each in inputs}
        frame = Frame(machine.fresh_id(), machine.frames[0], local_names(main))
        machine.frames[frame.id] = frame
        machine.frame = frame
        machine.active.append(main)
        machine.enter("function")
        for each in inputs:
            machine.bind(each.name, Sym(var(each.name, each.type)))
        statements.run(machine, main.body)
        return self._document(name, target, inputs, guarantees)

    def _inputs(self, main: ast.FunctionDef) -> tuple[Parameter, ...]:
        found: list[Parameter] = []
        for argument in parameters(main):
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
            found.append(Parameter(argument.arg, type_))
        if main.args.defaults or any(main.args.kw_defaults):
            refuse(
                "input.default",
                "parameters of the target have no defaults: they may have any value",
                "Leave the default out.",
                main,
            )
        return tuple(found)

    # -- the document ------------------------------------------------------------------------------

    def _document(
        self,
        name: str,
        target: str,
        inputs: tuple[Parameter, ...],
        guarantees: list[Guarantee],
    ) -> Document:
        machine, layer = self.machine, self.module.layer
        functions = dict(self._trusted.used)
        events: dict[str, None] = {}
        fluents: dict[str, None] = {}
        for atom in machine.atoms:
            events.update((each.event, None) for each in atom.events)
            fluents.update((each.fluent, None) for each in atom.updates)
        for guarantee in guarantees:
            for relation in relations(guarantee.contract):
                functions.update(
                    (each, layer.functions[each])
                    for each in relation.effects
                    if each in layer.functions
                )
                events.update((each, None) for each in relation.events)
            fluents.update(
                (leaf.fluent, None)
                for leaf in leaves(guarantee.contract)
                if isinstance(leaf, AtEnd)
            )
        if any(policy.required for policy in layer.policies):
            # What a policy demands is added to the document later, and may speak of any of them.
            functions.update(layer.functions)
            events.update(dict.fromkeys(layer.events))
            fluents.update(dict.fromkeys(layer.fluents))
        effects = tuple(_effect(functions[each]) for each in sorted(functions))
        declared_events = tuple(
            layer.events[each] for each in sorted(events) if each in layer.events
        )
        declared_fluents = tuple(
            layer.fluents[each] for each in sorted(fluents) if each in layer.fluents
        )
        document = Document(
            program=name,
            source_hash=f"sha256:{hashlib.sha256(self.source.text.encode()).hexdigest()}",
            layer_hash=layer.hash,
            target=target,
            effects=effects,
            events=declared_events,
            fluents=declared_fluents,
            inputs=inputs,
            atoms=tuple(machine.atoms),
            assumptions=tuple(machine.assumptions),
            obligations=tuple(machine.obligations),
            guarantees=tuple(guarantees),
        )
        return _with_schemas(document, self.module.schemas)


def _effect(function: TrustedFunction) -> Effect:
    return Effect(
        function.name,
        tuple(Parameter(p.name, p.type) for p in function.parameters if not p.is_schema),
        declared_result(function.result),
        function.markers,
        function.module,
    )


def _with_schemas(document: Document, known: Mapping[str, Schema]) -> Document:
    """The document with every row schema that it speaks of."""
    used: set[str] = set()
    for type_ in _types(document):
        used |= _schemas_of(type_)
    for part in postorder(*dict.fromkeys(_terms(document))):
        if not isinstance(part.type, Scalar):
            used |= _schemas_of(part.type)
        if isinstance(part, App) and part.op in ("from", "not_from", "same_row"):
            used |= {place.rpartition(".")[0] for place in part.param.split(",")}
    return replace(document, schemas=tuple(known[each] for each in sorted(used) if each in known))


def _schemas_of(type_: Type) -> set[str]:
    match type_:
        case RowOf(schema):
            return {schema}
        case ListOf(item) | SetOf(item):
            return _schemas_of(item)
        case TupleOf(items):
            return set[str]().union(*map(_schemas_of, items))
        case MapOf(key, value):
            return _schemas_of(key) | _schemas_of(value)
        case _:
            return set()


def _types(document: Document) -> list[Type]:
    return [
        *(p.type for effect in document.effects for p in effect.parameters),
        *(effect.result for effect in document.effects),
        *(field.type for event in document.events for field in event.fields),
    ]


def _terms(document: Document) -> list[Term]:
    """Every term of the document that rows may stand in."""
    found: list[Term] = []
    for atom in document.atoms:
        found += [atom.guard, *atom.arguments.values(), *(b.over for b in atom.binders)]
    for stated in (*document.assumptions, *document.obligations):
        found += [stated.guard, stated.formula, *(b.over for b in stated.binders)]
    for guarantee in document.guarantees:
        for leaf in leaves(guarantee.contract):
            for relation in relations(leaf):
                found += [relation.where] if relation.where is not None else []
            for part in ("holds", "key", "of", "bound", "first_key", "then_key"):
                term = getattr(leaf, part, None)
                found += [term] if isinstance(term, Term) else []
    return found
