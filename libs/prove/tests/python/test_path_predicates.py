"""The path predicates of layers, read by the prover, say what they say when Python runs them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lictor_layer
from libs.prove.tests.python_front_end import predicate
from lictor_ir.evaluation import Environment, value
from lictor_ir.terms import Term, const, substitute, var
from lictor_ir.types import STR
from lictor_prove.python.predicates import predicate_term

PREDICATES: tuple[Callable[[str], bool], ...] = (
    lictor_layer.has_no_parent_segments,
    lictor_layer.has_plain_segments,
    lictor_layer.is_plain_path,
    lictor_layer.is_single_path_component,
    lictor_layer.url_has_no_parent_segments,
)
TEXT = var("text", STR)


def read(function: Callable[[str], bool]) -> Term:
    return predicate_term(predicate("lambda text: f(text)", f=function), {"text": TEXT})


TERMS = {function.__name__: read(function) for function in PREDICATES}


@pytest.mark.parametrize("function", PREDICATES, ids=lambda each: each.__name__)
@given(
    text=st.text(alphabet="a./\\:%25ceEfF?#; \t\n\0\x01\uff0e\u2025uU08bBC", max_size=12)
    | st.text(max_size=8)
)
@example(text="")
@example(text="/..\x1f")
@example(text="/%ef%bc%8e")
@example(text="..\n")
@example(text="a\n")
def test_what_is_proved_is_what_runs(function: Callable[[str], bool], text: str) -> None:
    if any(ord(char) > 0x2FF00 or 0xD800 <= ord(char) < 0xE000 for char in text):
        return
    held = function(text)
    term = substitute(TERMS[function.__name__], {TEXT: const(text)})
    assert value(term, Environment()) is held
    assert read_of_literal(function, text) is held


def read_of_literal(function: Callable[[str], bool], text: str) -> object:
    """The same where the text is written out, and the prover computes instead of asking."""
    term = predicate_term(predicate(f"lambda: f({text!r})", f=function), {})
    return value(term, Environment())
