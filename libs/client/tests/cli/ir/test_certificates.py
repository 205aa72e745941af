"""`lictor prove --certificate` and `lictor ir check`: from a program to a file that stands by itself, and back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[5] / "examples"
PROVED = EXAMPLES / "programs/newsletter.py"
REFUTED = EXAMPLES / "programs/newsletter_with_a_copy.py"
LAYERS = ("--import-root", EXAMPLES / "layers")


@pytest.fixture
async def certificate(cli, tmp_path: Path) -> Path:
    """The certificate of the example that is proved."""
    told = await cli("prove", "--json", *LAYERS, PROVED, "--certificate", tmp_path / "certs")
    assert told.returncode == 0, told.stderr
    report = json.loads(told.stdout)
    proof = report["proof"]
    assert (proof["certificate_level"], report["certificate"]["missing"]) == ("c", None)
    file = Path(report["certificate"]["file"])
    assert proof["certificate_hash"].removeprefix("sha256:")[:12] in file.name
    return file


async def test_what_is_proved_is_written_down_and_nothing_else_is(cli, tmp_path: Path) -> None:
    told = await cli("prove", *LAYERS, PROVED, REFUTED, "--certificate", tmp_path / "certs")
    assert told.returncode == 1
    (file,) = (tmp_path / "certs").iterdir()
    assert told.stdout.count("certificate  level") == 1
    assert f"certificate  level c: {file}" in told.stdout


async def test_a_certificate_is_checked_and_compared_with_its_program(
    cli, certificate: Path
) -> None:
    told = await cli("ir", "check", certificate, "--program", PROVED, *LAYERS)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.startswith("valid")
    assert told.stdout.splitlines()[-1].startswith("same")
    told = await cli("ir", "check", "--json", certificate, "--program", REFUTED, *LAYERS)
    assert told.returncode == 1
    checked, compared = map(json.loads, told.stdout.splitlines())
    assert checked["valid"]
    assert not compared["same"]
    assert "another Effect IR" in compared["reason"]


async def test_another_function_of_the_program_is_not_the_one_that_is_called(
    cli, tmp_path: Path
) -> None:
    program = tmp_path / "two.py"
    program.write_text(
        "from tools.mail.trusted.effects import send_mail\n\n"
        'def main() -> None:\n    send_mail("all@example.com", "all", "hello")\n\n'
        "def harmless() -> None:\n    pass\n",
        "utf-8",
    )
    told = await cli(
        *("prove", "--json", *LAYERS, program, "--target", "harmless"),
        *("--certificate", tmp_path / "certs"),
    )
    assert told.returncode == 0, told.stdout
    (file,) = (tmp_path / "certs").iterdir()
    told = await cli("ir", "check", file, "--program", program, *LAYERS)
    assert told.returncode == 1
    assert "target   harmless" in told.stdout
    assert "its function harmless, not main" in told.stdout.splitlines()[-1]
    told = await cli("ir", "check", file, "--program", program, *LAYERS, "--target", "harmless")
    assert told.returncode == 0, told.stdout


async def test_another_layer_is_another_meaning(cli, certificate: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "layers", tmp_path / "layers")
    contracts = next((tmp_path / "layers").rglob("contracts.py"))
    contracts.write_text(contracts.read_text("utf-8") + "\n# changed\n", "utf-8")
    told = await cli(
        "ir", "check", certificate, "--program", PROVED, "--import-root", tmp_path / "layers"
    )
    assert told.returncode == 1
    assert told.stdout.splitlines()[-1].startswith("different")


def _changed(certificate: Path) -> Path:
    data = bytearray(certificate.read_bytes())
    data[len(data) // 2] ^= 1
    path = certificate.with_name("changed.json")
    path.write_bytes(data)
    return path


async def test_what_is_changed_missing_or_no_certificate_is_told_apart(
    cli, certificate: Path, tmp_path: Path
) -> None:
    changed = _changed(certificate)
    told = await cli("ir", "check", changed)
    assert (told.returncode, told.stdout.split()[0]) == (1, "refused")
    told = await cli("ir", "check", PROVED, tmp_path / "none.json", certificate)
    assert told.returncode == 2
    words = [line.split()[0] for line in told.stdout.splitlines() if not line.startswith(" ")]
    assert words == ["unreadable", "unreadable", "valid"]
    assert f"{tmp_path / 'none.json'}: No such file or directory\n" in told.stdout
    assert "Traceback" not in told.stderr


async def test_what_does_not_go_together_is_said(cli, tmp_path: Path) -> None:
    told = await cli("prove", PROVED, "--submit", "--task", "t", "--certificate", tmp_path)
    assert told.returncode == 1
    assert "lictor ir fetch" in told.stderr
    told = await cli("ir", "check", "a", "b", "--program", PROVED)
    assert told.returncode == 1
    assert "one file" in told.stderr
    told = await cli("ir", "fetch", "not a hash")
    assert told.returncode == 1
    assert "no hash" in told.stderr
