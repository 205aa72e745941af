"""The models and the checked-in schema files are what they are said to be."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from jsonschema import Draft202012Validator

import lictor_schema
from lictor_schema import json_schemas
from lictor_schema.core.base_model import Model
from lictor_schema.sessions.feedback import Feedback

SCHEMAS = Path(__file__).parents[3] / "schemas" / "json"


def test_a_plugin_may_still_import_feedback_from_the_package_and_is_warned() -> None:
    with pytest.warns(DeprecationWarning, match=r"lictor_guard\.api"):
        assert lictor_schema.Feedback is Feedback
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = lictor_schema.Nonsense


def test_asking_for_a_gate_does_not_load_the_events() -> None:
    program = (
        "import sys; from lictor_schema.gates.gate import GateAnswer;"
        "raise SystemExit('lictor_schema.events.event' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_checked_in_schemas_are_current() -> None:
    assert json_schemas.differences(SCHEMAS) == ()


@pytest.mark.parametrize("name", json_schemas.json_schemas())
def test_each_file_is_a_json_schema_with_an_identity(name: str) -> None:
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:lictor:schema:{name.removesuffix(json_schemas.SUFFIX)}:v1"
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
    for module in walk_packages(lictor_schema.__path__, "lictor_schema."):
        import_module(module.name)
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
    assert json_schemas.main([str(tmp_path)]) == 0
    assert json_schemas.main(["--check", str(tmp_path)]) == 0
    (tmp_path / "decision.schema.json").write_text("{}")
    (tmp_path / "dte.schema.json").unlink()
    (tmp_path / "rumour.schema.json").write_text("{}")
    assert json_schemas.main(["--check", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    for line in ("stale: decision", "missing: dte", "extra: rumour"):
        assert f"{line}.schema.json\n" in told
    assert json_schemas.main([str(tmp_path)]) == 0
    assert json_schemas.main(["--check", str(tmp_path)]) == 0
