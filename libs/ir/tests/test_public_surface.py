"""The public names, the schema and the reference page are what they are said to be."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from ir_strategies import documents
from jsonschema import Draft202012Validator

import lictor_ir
from lictor_ir.document import Document
from lictor_ir.json import schema
from lictor_ir.json.contracts import CONTRACT_KEYS
from lictor_ir.json.document import to_json
from lictor_ir.operators import OPERATORS
from lictor_ir.text import keywords, read, write

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "schemas" / "ir" / "effect-ir.schema.json"
PAGE = (ROOT / "docs" / "effect-ir.md").read_text("utf-8")


def imported_for_type_checkers() -> dict[str, str]:
    """Name to module, as the package's own source imports them for type checkers."""
    source = Path(str(lictor_ir.__file__)).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    return {
        alias.name: str(node.module).removeprefix("lictor_ir.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_public_surface_is_exactly_all() -> None:
    assert imported_for_type_checkers() == lictor_ir.HOME_OF
    assert set(lictor_ir.__all__) == set(lictor_ir.HOME_OF)
    assert set(dir(lictor_ir)) == set(lictor_ir.__all__)


@pytest.mark.parametrize("name", lictor_ir.__all__)
def test_every_public_name_can_be_loaded(name: str) -> None:
    assert getattr(lictor_ir, name) is not None


def test_no_public_name_is_also_a_module() -> None:
    modules = {path.stem for path in Path(str(lictor_ir.__file__)).parent.iterdir()}
    assert modules.isdisjoint(lictor_ir.__all__)


def test_documents_are_read_and_evaluated_without_a_solver() -> None:
    said = "import sys, lictor_ir.text, lictor_ir.evaluation, lictor_ir.goals; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", said], check=False).returncode == 0


def test_the_schema_is_fresh() -> None:
    assert SCHEMA.read_text("utf-8") == schema.text(), "run: ./taskw schemas"
    Draft202012Validator.check_schema(schema.schema())


@given(documents())
def test_every_document_fits_the_schema(document: Document) -> None:
    Draft202012Validator(schema.schema()).validate(json.loads(to_json(document)))


def test_the_page_lists_every_operator_as_the_table_says_it() -> None:
    section = PAGE.partition("## Operators")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE)
    assert told == [(name, operator.says) for name, operator in OPERATORS.items()]


def test_the_page_names_every_kind_of_contract() -> None:
    section = PAGE.partition("## Contracts")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(CONTRACT_KEYS)


def test_the_page_lists_the_reserved_words() -> None:
    (told,) = re.findall(r"^Reserved words: (.*)$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", told)) == keywords.KEYWORDS


def test_the_examples_of_the_page_are_documents_as_the_format_writes_them() -> None:
    examples = re.findall(r"^```effect-ir\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        assert write(read(example)) == example
