"""The package as it is installed from a wheel, away from the source tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the content of the wheel lies."""
    built, place = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built],
        cwd=ROOT / "libs" / "client",
        check=True,
        capture_output=True,
    )
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def test_the_packs_in_the_wheel_are_those_of_the_source_tree(installed: Path) -> None:
    def files(folder: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    packs = files(installed / "lictor" / "policy_packs")
    assert packs == files(ROOT / "policy-packs")
    assert len([name for name in packs if name.endswith("/policy.yaml")]) == 4


def test_the_demo_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
    outcome = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            "import sys; from lictor_cli.main import main; sys.exit(main())",
            "demo",
            "--json",
        ],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    told = json.loads(outcome.stdout)
    assert told["ok"]
    assert told["data_dir"] == str(tmp_path / ".lictor" / "demo-1")
