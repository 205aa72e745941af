"""What is checked in under schemas/ is what the code says now."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SERVICES = yaml.safe_load((ROOT / "Taskfile.yml").read_text())["vars"]["SERVICES"].split()


@pytest.mark.parametrize(
    "command",
    [
        ["lictor_schema.json_schemas", "--check", "schemas/json"],
        ["lictor_bus.service.asyncapi", "--check", "schemas/asyncapi", *SERVICES],
        ["lictor.runtimes.http.openapi", "--check", "schemas/openapi/http.json"],
    ],
    ids=["json", "asyncapi", "openapi"],
)
def test_schemas_are_fresh(command: list[str]):
    checked = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
