"""What `lictor seal` says of a file with all its messages, with some erased, and of the seal alone."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from closing_bus import Log
from test_erasures_on_the_bus import TRUST, desk, log, order

__all__ = ["log"]

COMMAND = str(Path(sys.executable).with_name("lictor"))
Lictor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def lictor(tmp_path: Path) -> Lictor:
    (tmp_path / "trust.json").write_bytes(TRUST.to_bytes())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [COMMAND, "seal", *arguments, "--trust", "trust.json"]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return run


async def exported(log: Log, folder: Path) -> list[bytes]:
    """Two files: the whole, and the seal alone."""
    whole = await log.bundle()
    (folder / "whole").write_bytes(whole)
    first = whole.splitlines(keepends=True)[0]
    alone = first.replace(b"lictor-seal-bundle/v2", b"lictor-seal-bundle/v1", 1)
    (folder / "alone").write_bytes(alone)
    return [whole, alone]


async def test_the_seal_alone_is_genuine_and_says_so_in_the_verdict_itself(
    log: Log, lictor: Lictor, tmp_path: Path
) -> None:
    await exported(log, tmp_path)
    alone = lictor("verify", "alone")
    assert alone.returncode == 0, alone.stdout
    assert (
        "ok    alone is genuine, but the seal alone, without its 5 messages: sealed by"
        in alone.stdout
    )
    assert "ok    whole is genuine: sealed by" in lictor("verify", "whole").stdout


async def test_who_demands_a_complete_file_does_not_get_the_seal_alone(
    log: Log, lictor: Lictor, tmp_path: Path
) -> None:
    await exported(log, tmp_path)
    refused = lictor("verify", "alone", "--complete")
    assert refused.returncode == 1
    assert "FAIL  alone is NOT complete: it is the seal alone" in refused.stdout
    assert lictor("verify", "whole", "--complete").returncode == 0
    await desk(log).erase(order(parts=["gates"]))
    await exported(log, tmp_path)
    # An erasure is signed.
    assert lictor("verify", "whole", "--complete").returncode == 0


async def test_an_erased_message_is_not_counted_among_those_in_the_file(
    log: Log, lictor: Lictor, tmp_path: Path
) -> None:
    await desk(log).erase(order(parts=["gates"]))
    await exported(log, tmp_path)
    told = lictor("show", "whole").stdout
    assert "Messages in the file: records 2, proofs 1\n" in told
    assert "Erased: gates, 2 messages (at 1, 2)" in told
    await desk(log).erase(order(2))
    await exported(log, tmp_path)
    assert "Messages in the file: none, all were erased\n" in lictor("show", "whole").stdout
