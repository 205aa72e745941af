"""Lambdas are found by where their code stands, never by guessing."""

import ast
from types import FunctionType

import pytest

from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.function_sources import FunctionSource, Sources

TEXT = """
outer = 5
words = ["é"]
def made(limit):
    def inner(x): return x
    return [
        lambda e: e.a == limit, lambda e: e.a in words, lambda e: True, lambda e: False, lambda e: 2,
        lambda e: e.a and e.b or limit, lambda e: (e.a if e.b else outer), lambda e: "é" not in e.a, lambda e: (
            "é" not in e.a
            and not e.b), lambda e: 30 <= e.a <= limit, lambda e: inner(e.a), lambda e: e.a.startswith("x") == outer,
        lambda e: e, lambda e: [1, 2], lambda e: -1, lambda e: (lambda e: e.a), lambda e: e.a[1:2], lambda f: f.a,
        lambda e: len(e.a) <= limit and ("//" not in e.a or not e.a.endswith("c")), lambda e: "x" "y", lambda e: True and e.a,
        lambda e: e.a or True, lambda e: 1 < 2 and e.a, lambda e: e.a if True else 2, lambda *, e=1: e,
    ]
"""  # noqa: E501


def functions() -> list[FunctionType]:
    scope: dict[str, object] = {}
    exec(compile(TEXT, "layer.py", "exec"), scope)  # noqa: S102 -- as a layer is run
    made = scope["made"]
    assert isinstance(made, FunctionType)
    return made(3)


SOURCES = Sources({"layer.py": FunctionSource("layer.py", TEXT)})


@pytest.mark.parametrize("at", range(len(functions())))
def test_each_lambda_of_a_line_is_told_from_its_neighbours(at: int) -> None:
    written = [
        node
        for statement in ast.walk(ast.parse(TEXT))
        if isinstance(statement, ast.List) and len(statement.elts) > 10
        for node in statement.elts
    ]
    found = SOURCES.predicate(functions()[at])
    assert ast.dump(found.node, include_attributes=True) == ast.dump(
        written[at], include_attributes=True
    )


def test_captured_and_global_names_keep_their_values() -> None:
    found = SOURCES.predicate(functions()[18]).names
    assert (found["limit"], found["len"]) == (3, len)
    assert SOURCES.predicate(functions()[1]).names["words"] == ["é"]
    assert SOURCES.predicate(functions()[11]).names["outer"] == 5
    assert "nothing" not in found


def test_without_columns_two_lambdas_on_a_line_are_refused() -> None:
    def without_columns(function: FunctionType) -> FunctionType:
        code = function.__code__
        lines = compile(ast.parse("\n" * (code.co_firstlineno - 1) + "0"), "layer.py", "exec")
        return FunctionType(
            code.replace(co_linetable=lines.co_linetable),
            function.__globals__,
            function.__name__,
            None,
            function.__closure__,
        )

    with pytest.raises(ProverConfigError, match="a line of its own"):
        SOURCES.predicate(without_columns(functions()[5]))


def test_what_is_no_lambda_is_refused() -> None:
    with pytest.raises(ProverConfigError, match="no lambda"):
        SOURCES.predicate(len)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "f = lambda e: e.a == 'é' and e.b\n",
        "x = 1\r\nf = (lambda e: e.a\r\n   and 'é\f ü' == e.b)\r\n",
        "g = '\x0b\x1c\u2028'; f = lambda e: (1 +\r 2)\n",
        "f = lambda e: '''a\n b'''",
    ],
)
def test_a_lambda_is_shown_as_it_is_written(text: str) -> None:
    source = FunctionSource("layer.py", text)
    lambdas = [each for each in ast.walk(source.tree) if isinstance(each, ast.Lambda)]
    assert lambdas
    for each in lambdas:
        written = ast.get_source_segment(text, each.body)
        assert written is not None
        assert source.body(each) == " ".join(written.split())
