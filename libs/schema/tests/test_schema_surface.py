"""The public names and the checked-in schema files are what they are said to be."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import lictor_schema
from lictor_schema import export
from lictor_schema.homes import HOME_OF
from lictor_schema.model import Model

SCHEMAS = Path(__file__).parents[3] / "schemas" / "json"


def imported_for_type_checkers() -> dict[str, str]:
    """Name to module, as the package's own source imports them for type checkers."""
    source = Path(str(lictor_schema.__file__)).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    return {
        alias.name: str(node.module).removeprefix("lictor_schema.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_public_surface_is_exactly_all() -> None:
    assert imported_for_type_checkers() == HOME_OF
    assert set(lictor_schema.__all__) == set(HOME_OF)
    assert set(dir(lictor_schema)) == set(lictor_schema.__all__)


@pytest.mark.parametrize("name", lictor_schema.__all__)
def test_every_public_name_can_be_loaded(name: str) -> None:
    assert getattr(lictor_schema, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = lictor_schema.Nonsense  # pyright: ignore[reportAttributeAccessIssue]  -- the point here


def test_asking_for_a_gate_does_not_load_the_events() -> None:
    program = (
        "import sys; from lictor_schema import GateAnswer;"
        "raise SystemExit('lictor_schema.events' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_checked_in_schemas_are_current() -> None:
    assert export.differences(SCHEMAS) == ()


@pytest.mark.parametrize("name", export.json_schemas())
def test_each_file_is_a_json_schema_with_an_identity(name: str) -> None:
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:lictor:schema:{name.removesuffix(export.SUFFIX)}:v1"
    assert schema["title"]


def test_every_field_of_every_exported_model_is_described() -> None:
    undescribed = [
        f"{model.__name__}.{name}"
        for model in reachable_models()
        for name, field in model.model_fields.items()
        if not field.description
    ]
    assert undescribed == []


def test_every_exported_model_is_closed_frozen_and_strict() -> None:
    for model in reachable_models():
        settings = model.model_config
        assert settings.get("extra") == "forbid", model
        assert settings.get("frozen"), model
        assert settings.get("strict"), model


def reachable_models() -> set[type[Model]]:
    """Every canonical model class."""
    for home in set(HOME_OF.values()):
        __import__(f"lictor_schema.{home}")
    found: set[type[Model]] = set()
    waiting = [Model]
    while waiting:
        for model in waiting.pop().__subclasses__():
            if model.__module__.startswith("lictor_schema") and model not in found:
                found.add(model)
                waiting.append(model)
    return found


def test_check_names_what_is_stale_missing_and_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export.main([str(tmp_path)]) == 0
    assert export.main(["--check", str(tmp_path)]) == 0
    (tmp_path / "decision.schema.json").write_text("{}")
    (tmp_path / "dte.schema.json").unlink()
    (tmp_path / "rumour.schema.json").write_text("{}")
    assert export.main(["--check", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    for line in ("stale: decision", "missing: dte", "extra: rumour"):
        assert f"{line}.schema.json\n" in told
    assert export.main([str(tmp_path)]) == 0
    assert export.main(["--check", str(tmp_path)]) == 0
