"""Documents that declare values unknown, for tests: what no front-end models yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lictor_ir.document import Document, Unknown
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import Term, result, substitute, var
from lictor_ir.text.document_reader import read

HEAD = """effect-ir v1
program "unknown.py" target main

schema User(email: str, age: int)
trusted users() -> list<row<User>>
trusted words() -> list<str>
trusted ask(what: str) -> int
trusted send(addr: str, msg: str) -> none
trusted note(text: str) -> none
trusted pay(cents: int) -> none
trusted keep(items: list<str>) -> none
trusted mark(pair: tuple<str, int>) -> none
"""


def document(body: str) -> Document:
    """The document with these statements."""
    return read(HEAD + body)


def without_inputs(known: Document) -> Document:
    """The document with every input made a declared unknown: it says less, and every run of it is still a run."""
    unknowns = tuple(
        Unknown(f"u{at}", each.type, f"it was {each.name}")
        for at, each in enumerate(known.inputs, 1)
    )
    values: dict[Term, Term] = {
        var(each.name, each.type): result(unknown.id, unknown.type)
        for each, unknown in zip(known.inputs, unknowns, strict=True)
    }

    def changed(terms: Mapping[str, Term]) -> dict[str, Term]:
        return {name: substitute(term, values) for name, term in terms.items()}

    atoms = [
        replace(
            atom,
            guard=substitute(atom.guard, values),
            arguments=changed(atom.arguments),
            labels=argument_labels(changed(atom.arguments), ()),
            events=tuple(replace(each, fields=changed(each.fields)) for each in atom.events),
            updates=tuple(
                replace(
                    each, key=substitute(each.key, values), value=substitute(each.value, values)
                )
                for each in atom.updates
            ),
        )
        for atom in known.atoms
    ]
    return replace(
        known,
        inputs=(),
        unknowns=unknowns,
        atoms=tuple(atoms),
        assumptions=(),
        obligations=(),
    )
