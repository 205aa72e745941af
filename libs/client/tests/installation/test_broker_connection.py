"""What a client is told when NATS does not answer: what to do, by where the address came from."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from lictor.errors import Unreachable
from lictor.installation.broker_connection import reach
from lictor.installation.endpoints import FoundAddress

NOBODY = "nats://127.0.0.1:9"
EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".lictor").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def told(source: str) -> str:
    with pytest.raises(Unreachable) as raised:
        await reach(FoundAddress(NOBODY, source), "test")
    assert NOBODY in str(raised.value)
    return str(raised.value)


async def test_where_nothing_runs_it_is_said_how_to_start_it(here: Path) -> None:
    text = await told("the default")
    assert text.startswith(f"no `lictor up` runs in {here} or above it")
    assert "; run `lictor up`" in text
    assert "unset" not in text


@pytest.mark.parametrize("source", ["the default", "`lictor up` in .lictor"])
async def test_while_it_starts_or_stops_it_is_said_to_wait(here: Path, source: str) -> None:
    with (here / ".lictor" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = await told(source)
    assert text.startswith(f"`lictor up` in {here / '.lictor'} is starting or stopping")
    assert "try again in a moment" in text


async def test_only_a_variable_that_is_set_is_advised_to_be_unset() -> None:
    assert "unset LICTOR_NATS_URL" in await told("LICTOR_NATS_URL")
    assert "unset" not in await told("given")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_without_a_broker_says_one_sentence(
    example: Path, environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, example],
        env={**environment, "LICTOR_NATS_URL": NOBODY},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"lictor: NATS does not answer at {NOBODY}")
    assert done.stderr.count("\n") == 1
