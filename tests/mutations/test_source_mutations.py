"""The mutation tool changes what it says, and nothing that no test should hold."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from run import nearest_first, sample
from source_mutations import mutated, mutations_of

ROOT = Path(__file__).parents[2]


def all_mutants(body: str) -> list[tuple[str, str]]:
    """Each mutation of a function's only statement: the operator, and what the statement becomes."""
    source = f"def f(a, b):\n    {body}"
    mutants = [(each.operator, mutated(source, each.number)) for each in mutations_of(source)]
    return [(operator, text.split("\n    ", 1)[1]) for operator, text in mutants]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = a < b", [("boundary", "a = a <= b"), ("comparison", "a = a >= b")]),
        ("a = a is b", [("comparison", "a = a is not b")]),
        ("a = a not in b", [("comparison", "a = a in b")]),
        (
            "a = a == b != a",
            [("comparison", "a = a != b != a"), ("comparison", "a = a == b == a")],
        ),
        ("a = a and b", [("and-or", "a = a or b")]),
        ("a = a or b", [("and-or", "a = a and b")]),
        ("a = not b", [("not", "a = b")]),
        ("a = True", [("constant", "a = False")]),
        ("a = 7", [("constant", "a = 8"), ("constant", "a = 6")]),
        ("return a", [("return", "return None")]),
        ("raise ValueError(7)", [("raise", "pass")]),
        ("a = a if b else f", [("branches", "a = f if b else a")]),
        (
            "if a:\n        f()\n    else:\n        b()",
            [("branches", "if a:\n        b()\n    else:\n        f()")],
        ),
    ],
)
def test_every_operator_changes_the_code_as_it_says(
    body: str, expected: list[tuple[str, str]]
) -> None:
    assert all_mutants(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "'''Not 1 but 2.'''",
        "a = f'{b + 1}'",
        "a: Literal[1]",
        "log.warning('more than', 1)",
        "return None",
        "raise NotImplementedError",
        "raise AssertionError(a == b)",
    ],
)
def test_what_no_test_should_hold_is_not_mutated(body: str) -> None:
    assert all_mutants(body) == []


def test_code_outside_of_functions_is_not_mutated() -> None:
    assert mutations_of("LIMIT = 7\nif LIMIT > 3:\n    LIMIT = 8\n") == []


def test_every_mutant_of_a_real_module_compiles_and_differs() -> None:
    source = (ROOT / "libs/seal/lictor_seal/log/merkle.py").read_text("utf-8")
    found = mutations_of(source)
    assert len(found) > 50
    texts = [mutated(source, each.number) for each in found]
    for text in texts:
        compile(text, "merkle.py", "exec")
    assert ast.unparse(ast.parse(source)) not in texts
    assert len(set(texts)) == len(texts)


def test_the_sample_is_told_by_its_seed_and_has_as_many_of_each_package() -> None:
    drawn = sample(["seal", "guard"], 10, 41)
    assert drawn == sample(["seal", "guard"], 10, 41)
    assert drawn != sample(["seal", "guard"], 10, 42)
    assert [each.package for each in drawn] == ["seal", "guard"] * 5


def test_the_tests_that_mirror_a_module_come_before_those_that_import_it() -> None:
    tests, close = nearest_first("seal", Path("libs/seal/lictor_seal/log/merkle.py"))
    assert tests[0] == "libs/seal/tests/log/test_merkle.py"
    assert 0 < close < len(tests)
