"""What a certificate rests on and does not show, for people: every promise of every trusted call, and the layer's word;
and what the front-end read of values that nobody models.

A promise is said twice: in the words of the layer, and as the formula that was relied on, since words may say anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lictor_ir.certificate.format import Certificate
from lictor_ir.document import Assumption, Document, Fact
from lictor_ir.goals import Strength, Witness
from lictor_ir.terms import TRUE, Term
from lictor_ir.text.term_writer import TermText


def premises_json(
    document: Document, certificate: Certificate, strengths: tuple[Strength, ...]
) -> dict[str, Any]:
    """All of it, as JSON has it."""
    witnesses = dict(certificate.witnesses)
    atoms = {atom.id: atom for atom in document.atoms}
    return {
        "layer_hash": certificate.layer_hash,
        "trusted": sorted({atom.effect for atom in document.atoms}),
        "promises": [
            _promise(document, each, atoms[each.call].effect, witnesses.get(each.call))
            for each in document.assumptions
        ],
        "facts": [_fact(document, each) for each in document.facts],
        "if_the_run_completes": [
            guarantee.name
            for guarantee, strength in zip(document.guarantees, strengths, strict=True)
            if strength is Strength.ON_COMPLETION
        ],
    }


def premise_lines(told: dict[str, Any]) -> Iterator[str]:
    """The same in sentences; names and texts are as somebody wrote them."""
    trusted = ", ".join(told["trusted"]) or "none"
    if told["layer_hash"] is None:
        yield f"no layer: that its trusted functions do what the Effect IR says of them: {trusted}"
    else:
        yield f"the layer {told['layer_hash']}"
        yield f"that its trusted functions do what it declares of them, and nothing else: {trusted}"
    for each in told["promises"]:
        line = "" if each["line"] is None else f", line {each['line']}"
        yield f"that {each['effect']} ({each['call']}{line}) keeps its promise: {each['says'] or 'a postcondition'}"
        when = "" if each["when"] is None else f", when {each['when']}"
        yield f"    {each['formula']}{when}"
        if each["witness"] is not None:
            yield f"    which it can always keep: by returning {each['witness']}"
    for each in told["facts"]:
        about = f"{each['about']} ({each['what']})" if each["what"] else each["about"]
        yield f"that the front-end read this right of the unknown {about}:"
        first = "" if each["first"] is None else f"first {each['first']}, then "
        when = "" if each["when"] is None else f", when {each['when']}"
        yield f"    {first}{each['kind']} {each['term']}{when}"
    yield (
        "that a trusted call that fails ends the run, unless the Effect IR goes on after it,"
        " and has done nothing that the layer does not declare"
    )
    for name in told["if_the_run_completes"]:
        yield f"that the run completes, for {name}"


def _promise(
    document: Document, promise: Assumption, effect: str, witness: Witness | None
) -> dict[str, Any]:
    span = next(atom.span for atom in document.atoms if atom.id == promise.call)
    return {
        "call": promise.call,
        "effect": effect,
        "line": None if span is None else span.line,
        "says": promise.text,
        "formula": _text(document, promise.formula),
        "when": None if promise.guard is TRUE else _text(document, promise.guard),
        "witness": None if witness is None else _returned(document, witness),
    }


def _fact(document: Document, fact: Fact) -> dict[str, Any]:
    unknown = next(each for each in document.unknowns if each.id == fact.about)
    return {
        "about": fact.about,
        "what": unknown.text,
        "kind": fact.kind.value,
        "term": _text(document, fact.term),
        "first": None if fact.first is None else _text(document, fact.first),
        "when": None if fact.guard is TRUE else _text(document, fact.guard),
    }


def _returned(document: Document, witness: Witness) -> str:
    value = _text(document, witness.value)
    if witness.length is None:
        return value
    return f"a list of {_text(document, witness.length)} items, each {value}"


def _text(document: Document, term: Term) -> str:
    declared = {effect.name: effect.result for effect in document.effects}
    types = {atom.id: declared[atom.effect] for atom in document.atoms}
    writer = TermText([term], {**types, **{each.id: each.type for each in document.unknowns}})
    lets = writer.lets(term)
    return "; ".join([*lets, writer.text(term)])
