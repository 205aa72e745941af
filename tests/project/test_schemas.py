"""What is checked in under schemas/ is what `./taskw schemas` writes: every file of it, and nothing else."""

import shlex
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
TASKS = yaml.safe_load((ROOT / "Taskfile.yml").read_text("utf-8"))
COMMANDS = [
    shlex.split(command.replace("{{.SERVICES}}", TASKS["vars"]["SERVICES"]))
    for command in TASKS["tasks"]["schemas"]["cmds"]
]


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_schemas_are_fresh(tmp_path: Path) -> None:
    for folder in (ROOT / "schemas").iterdir():
        (tmp_path / "schemas" / folder.name).mkdir(parents=True)
    for python, *arguments in COMMANDS:
        assert python == "python"
        subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True)
    written, checked_in = files(tmp_path / "schemas"), files(ROOT / "schemas")
    assert written.keys() == checked_in.keys(), "`./taskw schemas` does not write these files"
    stale = [name for name, data in checked_in.items() if written[name] != data]
    assert not stale, "run ./taskw schemas"
