"""Documents that somebody hands in, held to a trusted layer.

A document says what happens and what is promised about it. What a trusted call demands and promises is not the
author's to say: all of that is taken from the layer anew, whatever the document holds, and the rest must be declared
as the layer declares it. Facts about unknowns, which nobody could check, are refused. So a proof about a document
rests on the layer alone, as one about a program does. It says nothing about any program, only about what the document
itself says.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from itertools import count

from lictor_ir.document import Assumption, Atom, Document, Guarantee, Obligation, ObligationKind
from lictor_ir.errors import DocumentError, FormError, IrError
from lictor_ir.json.document import document_terms, from_json
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import TRUE, Term, Var, const, result, var, variables
from lictor_ir.text import read, write_contract
from lictor_ir.types import INT, NONE
from lictor_ir.validation.document import validate
from lictor_prove.certificate.kept_proof import KeptCertificate
from lictor_prove.coverage.required_contracts import with_required, with_row_identity
from lictor_prove.errors import ProveError, Reason, Rejected
from lictor_prove.layer_model import Layer, Predicate, TrustedFunction
from lictor_prove.layers.signature import signature_of
from lictor_prove.proof.prover import prove_document
from lictor_prove.proof.result import OnProgress, Proof, rejected
from lictor_prove.proof.settings import DEFAULT, ProofSettings
from lictor_prove.python.interpreter.trusted_calls import (
    assumed,
    declared_effect,
    parameter_names,
    performed,
    updated,
)
from lictor_prove.python.machine.program_shape import UnreadPromise
from lictor_prove.python.machine.symbolic_values import Sym
from lictor_prove.python.predicates import predicate_term, promised
from lictor_prove.python.refusals import SubsetRefusal


def read_document(data: bytes) -> Document:
    """A document from its JSON or its text form; IrError when it is neither."""
    if data.lstrip()[:1] == b"{":
        return from_json(data)
    try:
        return read(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FormError(
            f"the document is no UTF-8 text: byte {error.start} can't be read"
        ) from None


def prove_bound(
    document: Document,
    layer: Layer,
    settings: ProofSettings = DEFAULT,
    *,
    progress: OnProgress | None = None,
    kept: KeptCertificate | None = None,
) -> Proof:
    """The verdict about a document that somebody hands in, under a layer and its required contracts."""
    try:
        _refuse_facts(document)
        bound, unread = _bound(document, layer)
    except Rejected as refused:
        return rejected(*refused.reasons, layer_hash=layer.hash)
    called = {atom.effect for atom in bound.atoms}
    used = [policy for policy in layer.policies if called & set(policy.when_used)]
    whole = with_row_identity(with_required(bound, layer, used))
    signature = signature_of(layer, whole)
    proof = prove_document(
        whole, settings, progress=progress, signature=signature, kept=kept, unread=unread
    )
    return dataclasses.replace(proof, layer_hash=layer.hash)


def prove_alone(
    document: Document,
    settings: ProofSettings = DEFAULT,
    *,
    progress: OnProgress | None = None,
    kept: KeptCertificate | None = None,
) -> Proof:
    """The verdict about a document without any layer: what its calls demand and promise is its own word."""
    try:
        _refuse_facts(document)
    except Rejected as refused:
        return rejected(*refused.reasons)
    # It may name a layer. Nobody looked at that here, so nothing is said about it.
    proof = prove_document(document, settings, progress=progress, kept=kept)
    return dataclasses.replace(proof, layer_hash=None)


def bound_to(document: Document, layer: Layer) -> Document:
    """The document with what the layer says about its calls; Rejected when it does not fit the layer."""
    return _bound(document, layer)[0]


def _bound(document: Document, layer: Layer) -> tuple[Document, list[UnreadPromise]]:
    try:
        validate(document)
    except DocumentError as error:
        raise _refused(str(error)) from None
    if document.layer_hash not in (None, layer.hash):
        raise _refused(f"layer_hash: it was made for the layer {document.layer_hash}")
    _compare_declarations(document, layer)
    atoms: list[Atom] = []
    promises: list[Assumption | UnreadPromise] = []
    fresh = _fresh_indices(document)
    demands: list[Obligation] = []
    for at, atom in enumerate(document.atoms):
        function = layer.functions[atom.effect]
        try:
            atoms.append(_atom(atom, function, document))
            demands += _demands(atom, function)
            promises += _promises(atom, function, fresh)
        except (IrError, ProveError, SubsetRefusal) as error:
            raise _refused(f"atoms[{at}]: {error}") from None
    # A name could say anything: a contract of a document is named by what it says. The layer adds what it requires.
    stated = [
        Guarantee(write_contract(document, each.contract), each.contract, span=each.span)
        for each in document.guarantees
        if not each.required_by
    ]
    own = [each for each in document.obligations if each.kind is not ObligationKind.PRECONDITION]
    made = dataclasses.replace(
        document,
        layer_hash=layer.hash,
        atoms=tuple(atoms),
        assumptions=tuple(each for each in promises if isinstance(each, Assumption)),
        obligations=(*demands, *own),
        guarantees=tuple(stated),
    )
    return made, [each for each in promises if isinstance(each, UnreadPromise)]


def _refuse_facts(document: Document) -> None:
    """A fact may say anything, also that no run exists: only a front-end is believed, about what it read."""
    if document.facts:
        raise Rejected(
            Reason(
                "ir.facts",
                "facts: what a document says of its unknowns besides their types can't be checked without the program",
                "hand in the program, or leave the facts out",
            )
        )


def _refused(message: str) -> Rejected:
    return Rejected(Reason("ir.layer", message, "write the document as the layer declares it"))


def _compare_declarations(document: Document, layer: Layer) -> None:
    for at, effect in enumerate(document.effects):
        function = layer.functions.get(effect.name)
        if function is None:
            raise _refused(f"effects[{at}]: {effect.name} is no trusted function of the layer")
        if any(parameter.is_schema for parameter in function.parameters):
            raise _refused(
                f"effects[{at}]: {effect.name} takes a row class, which no document can pass"
            )
        if dataclasses.replace(declared_effect(function), module=effect.module) != effect:
            raise _refused(f"effects[{at}]: {effect.name} is declared otherwise in the layer")
    for kind, ours, theirs in (
        ("events", document.events, layer.events),
        ("fluents", document.fluents, layer.fluents),
        ("schemas", document.schemas, layer.schemas),
    ):
        for at, each in enumerate(ours):
            if theirs.get(each.name) != each:
                raise _refused(f"{kind}[{at}]: {each.name} is not what the layer declares")


def _atom(atom: Atom, function: TrustedFunction, document: Document) -> Atom:
    known = {parameter.name for parameter in function.parameters}
    needed = {parameter.name for parameter in function.parameters if not parameter.has_default}
    if not needed <= set(atom.arguments) <= known:
        raise ProveError(f"{function.name} takes other arguments than these")
    inputs = [each.name for each in document.inputs]
    return dataclasses.replace(
        atom,
        events=performed(function, atom.arguments),
        updates=updated(function, atom.arguments),
        labels=argument_labels(atom.arguments, inputs),
    )


def _demands(atom: Atom, function: TrustedFunction) -> Iterator[Obligation]:
    for predicate in function.requires:
        formula = predicate_term(predicate, _given(predicate, atom.arguments))
        if formula is not TRUE:
            yield Obligation(
                ObligationKind.PRECONDITION,
                formula,
                f"{function.name}: {predicate.text}",
                atom.guard,
                atom.binders,
                atom.id,
                atom.span,
            )


def _promises(
    atom: Atom, function: TrustedFunction, fresh: Callable[[], Var]
) -> Iterator[Assumption | UnreadPromise]:
    if function.result is None or function.result == NONE:
        return
    returned = result(atom.id, function.result, [binder.index for binder in atom.binders])
    for predicate in function.ensures:
        names = parameter_names(predicate)
        told: dict[str, Term] = {**atom.arguments, "result": returned}
        if len(names) == 1:
            told = {names[0]: returned}
        given = {name: Sym(term) for name, term in _given(predicate, told).items()}
        try:
            found = promised(predicate, given)
        except ProveError as error:
            # A promise that can't be read is one that nobody relies on.
            yield UnreadPromise(atom.id, function.name, predicate.text, str(error))
            continue
        if found.unused:
            yield UnreadPromise(atom.id, function.name, predicate.text, found.unused)
        yield from assumed(
            atom.id, found.clauses, atom.guard, atom.binders, predicate.text, fresh=fresh
        )


def _fresh_indices(document: Document) -> Callable[[], Var]:
    """Indices that no variable of the document is called."""
    taken = {each.name for each in variables(*document_terms(document))}
    taken |= {each.name for each in document.inputs}
    names = (name for number in count(1) if (name := f"i{number}") not in taken)
    return lambda: var(next(names), INT)


def _given(predicate: Predicate, arguments: Mapping[str, Term]) -> Mapping[str, Term]:
    """The arguments, and the predicate's own literal defaults for those that the call leaves out."""
    taken = predicate.node.args
    positional = [*taken.posonlyargs, *taken.args]
    defaults = [None] * (len(positional) - len(taken.defaults)) + list(taken.defaults)
    told = dict(arguments)
    for argument, default in [
        *zip(positional, defaults, strict=True),
        *zip(taken.kwonlyargs, taken.kw_defaults, strict=True),
    ]:
        if argument.arg not in told and isinstance(default, ast.Constant):
            value = default.value
            if value is None or isinstance(value, bool | int | float | str):
                told[argument.arg] = const(value)
    return told
