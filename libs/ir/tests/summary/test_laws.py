"""Laws of summaries: the same for the same document, different for others, within limits, and true of every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from ir_strategies import (
    CHARACTERS,
    EFFECTS,
    ENUMS,
    EVENTS,
    FLUENTS,
    RESULTS,
    SCHEMAS,
    contracts,
    documents,
    input_values,
    values_of,
)

from lictor_ir.contracts import Comparison, Contract, Empty, leaves
from lictor_ir.document import Atom, Document, Guarantee, Obligation
from lictor_ir.errors import IrError, UnspecifiedError
from lictor_ir.evaluation import Trace, holds, run
from lictor_ir.json.document import from_json, to_json
from lictor_ir.provenance import argument_labels
from lictor_ir.summary import LEAST_LIMIT, LEAST_LINES, LIMIT, LINES, display, summarize
from lictor_ir.summary.call_sentences import call_counts
from lictor_ir.summary.unconstrained import silence
from lictor_ir.terms import App, Const, Term, application, const, not_, postorder
from lictor_ir.text import read, write
from lictor_ir.types import BOOL
from lictor_ir.validation.document import validate
from lictor_ir.values import Value

from .test_summary import OPENINGS

# -- the same for the same -------------------------------------------------------------------------


@given(documents())
def test_both_forms_of_a_document_have_one_summary(document: Document) -> None:
    text = summarize(document).text()
    assert summarize(from_json(to_json(document))).text() == text
    assert summarize(read(write(document))).text() == text


# -- different for others --------------------------------------------------------------------------

OTHERS = {
    "and": "or",
    "or": "and",
    "lt": "le",
    "le": "lt",
    "add": "mul",
    "mul": "add",
    "sub": "add",
    "floordiv": "mod",
    "mod": "floordiv",
    "contains": "startswith",
    "startswith": "endswith",
    "endswith": "contains",
    "neg": "abs",
    "abs": "neg",
    "is_nan": "is_inf",
    "is_inf": "is_nan",
}


def changed(root: Term, at: int, new: Any) -> Term:
    """The term with its part of this number changed in one thing: a constant, an operator, its operands' order."""
    parts = list(postorder(root))
    target = parts[at % len(parts)]
    done: dict[Term, Term] = {}
    for part in parts:
        if part is target:
            done[part] = other_than(part, new)
        elif isinstance(part, App):
            args = [done[each] for each in part.args]
            done[part] = application(part.op, args, part.param, part.type)
        else:
            done[part] = part
    return done[root]


def other_than(part: Term, new: Any) -> Term:
    if isinstance(part, Const) and type(part.value) is type(new):
        return const(new)
    if isinstance(part, App) and part.op in OTHERS:
        return application(OTHERS[part.op], part.args, part.param, part.type)
    if isinstance(part, App) and len(part.args) > 1:
        turned = part.args[::-1]
        if [each.type for each in turned] == [each.type for each in part.args]:
            return application(part.op, turned, part.param, part.type)
    if part.type == BOOL:
        return not_(part)
    return part


@st.composite
def near_documents(draw: st.DrawFn) -> tuple[Document, Document]:
    """A document and one that differs from it in one thing."""
    document = draw(documents())
    at, part = draw(st.integers(0, 30)), draw(st.integers(0, 30))
    new = draw(
        st.one_of(st.text(CHARACTERS, max_size=6), st.integers(-9, 9), st.booleans(), st.floats())
    )
    sections = [name for name in ("atoms", "guarantees", "obligations") if getattr(document, name)]
    section = draw(st.sampled_from(sections))
    stated = list(getattr(document, section))
    at %= len(stated)
    stated[at] = _other(draw, stated[at], part, new, document)
    return document, replace(document, **{section: tuple(stated)})


def _other(draw: st.DrawFn, stated: Any, part: int, new: Any, document: Document) -> Any:
    match stated:
        case Atom():
            if stated.arguments and draw(st.booleans()):
                name = draw(st.sampled_from(sorted(stated.arguments)))
                arguments = {
                    **stated.arguments,
                    name: changed(stated.arguments[name], part, new),
                }
                labels = argument_labels(arguments, [each.name for each in document.inputs])
                return replace(stated, arguments=arguments, labels=labels)
            return replace(stated, guard=changed(stated.guard, part, new))
        case Obligation():
            return replace(stated, formula=changed(stated.formula, part, new))
        case Guarantee():
            return replace(stated, contract=_other_contract(draw, stated.contract, part, new))
        case _:
            raise AssertionError(stated)


def _other_contract(draw: st.DrawFn, contract: Contract, part: int, new: Any) -> Contract:
    comparison = getattr(contract, "comparison", None)
    if comparison is not None and draw(st.booleans()):
        return replace(contract, comparison=draw(st.sampled_from(list(Comparison))))  # pyright: ignore[reportCallIssue]
    for name in ("holds", "key", "of", "bound"):
        term = getattr(contract, name, None)
        if isinstance(term, Term):
            return replace(contract, **{name: changed(term, part, new)})
    relation = getattr(contract, "relation", None)
    if relation is not None and relation.where is not None:
        where = changed(relation.where, part, new)
        return replace(contract, relation=replace(relation, where=where))  # pyright: ignore[reportCallIssue]
    return Empty(relation) if relation is not None else contract


@given(near_documents())
def test_documents_that_differ_in_one_thing_are_told_apart(pair: tuple[Document, Document]) -> None:
    one, other = pair
    try:
        validate(other)
    except IrError:
        assume(False)
    assume(to_json(one) != to_json(other))
    assert summarize(one).content() != summarize(other).content()
    assert summarize(one).content(None, lines=None) != summarize(other).content(None, lines=None)


@given(st.text(CHARACTERS, max_size=90), st.text(CHARACTERS, max_size=90))
def test_strings_and_names_are_never_shown_alike(one: str, other: str) -> None:
    for show in (display.string, display.name):
        told = show(one)
        assert told.isascii()
        assert told.isprintable()
        assert "  " not in told
        assert (show(other) == told) == (one == other)


# -- never too long --------------------------------------------------------------------------------


@given(documents(), st.integers(LEAST_LIMIT, 4_000), st.integers(LEAST_LINES, 60))
def test_a_summary_keeps_its_limits(document: Document, limit: int, lines: int) -> None:
    summary = summarize(document)
    for text, most, most_lines in (
        (summary.text(), LIMIT, LINES),
        (summary.text(limit, lines=lines), limit, lines),
    ):
        assert len(text) <= most
        assert text.count("\n") <= most_lines
        assert text.isascii()
        assert all(line.startswith(OPENINGS) and line.isprintable() for line in text.splitlines())
        assert text.splitlines()[: len(summary.program)] == list(summary.program)


# -- true of every run ----------------------------------------------------------------------------


def run_with(drawn: Document, inputs: Mapping[str, Any], data: st.DataObject) -> Trace:
    def returned(_id: str, _at: tuple[int, ...], effect: str, _args: Mapping[str, Value]) -> Value:
        return data.draw(values_of(RESULTS[effect]))

    try:
        return run(drawn, inputs, returned)
    except UnspecifiedError:
        assume(False)
        raise


def kept(contract: Contract, trace: Trace) -> Iterator[bool]:
    """Whether each part holds, where that is decided."""
    for part in leaves(contract):
        try:
            yield holds(part, trace)
        except UnspecifiedError:
            continue


@given(documents(), input_values(), st.data(), contracts())
def test_one_more_call_of_what_is_free_breaks_no_guarantee(
    drawn: Document, inputs: dict[str, Any], data: st.DataObject, contract: Contract
) -> None:
    """What is told as free is free: calls of it can be added to any run."""
    document = replace(drawn, guarantees=(Guarantee("g", contract),), obligations=())
    free = {name for what, name in silence(document).free if what == "call"}
    trace = run_with(document, inputs, data)
    steps = [step for step in trace.steps if step.effect in free and not step.updates]
    assume(steps)
    again = replace(data.draw(st.sampled_from(steps)), number=len(trace.steps))
    longer = replace(trace, steps=(*trace.steps, again))
    for before, after in zip(kept(contract, trace), kept(contract, longer), strict=False):
        assert after or not before


@given(documents(), input_values(), st.data())
def test_runs_keep_the_numbers_that_are_told(
    drawn: Document, inputs: dict[str, Any], data: st.DataObject
) -> None:
    trace = run_with(drawn, inputs, data)
    happened = Counter(step.effect for step in trace.steps)
    for effect, (least, most) in call_counts(drawn).items():
        assert least <= happened[effect]
        assert most is None or happened[effect] <= most


@given(contracts())
def test_no_part_of_a_conjunction_is_dropped(contract: Contract) -> None:
    document = Document(
        *("p", None, None),
        effects=EFFECTS,
        events=EVENTS,
        schemas=SCHEMAS,
        enums=ENUMS,
        fluents=FLUENTS,
        guarantees=(Guarantee("g", contract),),
    )
    told = summarize(document).guaranteed
    assert len(told) == max(len(list(leaves(contract))), 1)
