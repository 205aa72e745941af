"""What `lictor` says when it can't: one sentence on stderr, the right exit code, no traceback."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from lictor_local.embedded_servers import Endpoints
from lictor_seal import TrustStore

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
COMMAND = Path(sys.executable).with_name("lictor")
NOBODY = "nats://127.0.0.1:9"


def sentence(outcome: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr."""
    assert outcome.stderr.startswith("lictor: "), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.stderr.count("\n") == 1, outcome.stderr
    return outcome.stderr.strip()


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A loopback port that another socket listens on."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        yield holder.getsockname()[1]


@pytest.fixture
async def old_nats() -> AsyncIterator[str]:
    """Something that says it is NATS 2.11."""
    info = {"server_id": "x", "version": "2.12.3", "max_payload": 1048576, "headers": True}

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"INFO " + json.dumps(info).encode() + b"\r\n")
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_without_a_command_the_usage_goes_to_stderr(cli: Cli) -> None:
    outcome = await cli()
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("usage: lictor COMMAND")


async def test_the_help_names_every_command_and_exit_code(cli: Cli) -> None:
    outcome = await cli("--help")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    for name in ("up", "demo", "publish", "watch", "seal", "dead", "pack", "doctor", "130", "  3 "):
        assert f"  {name.strip()}" in outcome.stdout


async def test_the_version_is_told(cli: Cli) -> None:
    assert (await cli("--version")).stdout == "lictor 0.1.0\n"


async def test_a_misspelt_command_gets_a_hint(cli: Cli) -> None:
    outcome = await cli("wach")
    assert outcome.returncode == 2
    assert sentence(outcome) == "lictor: there is no command 'wach'; did you mean `lictor watch`?"


@pytest.mark.parametrize(
    "arguments",
    [
        ("watch", "--count", "0"),
        ("watch", "--no-such-option"),
        ("up", "--nats-port", "65536"),
        ("seal",),
        ("seal", "verify", "file"),
        ("seal", "export"),
        ("dead", "show", "-1"),
        ("dead", "replay"),
        ("dead", "replay", "1", "--all"),
        ("dead", "replay", "1", "--service", "x"),
    ],
)
async def test_wrong_usage_is_exit_code_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = await cli(*arguments)
    assert outcome.returncode == 2
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize(
    "arguments",
    [("watch",), ("publish",), ("seal", "export", "--task", "t"), ("dead", "list")],
)
async def test_an_unreachable_broker_is_exit_code_3(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = await cli(*arguments, "--url", NOBODY, stdin="{}")
    assert outcome.returncode == 3
    assert sentence(outcome).startswith(f"lictor: NATS does not answer at {NOBODY}")


async def test_a_broker_older_than_2_14_is_refused(cli: Cli, old_nats: str) -> None:
    outcome = await cli("watch", LICTOR_NATS_URL=old_nats)
    assert outcome.returncode == 1
    assert sentence(outcome).startswith("lictor: NATS server 2.12.3 is too old: Lictor needs 2.14")


async def test_up_on_a_broker_older_than_2_14_is_refused(cli: Cli, old_nats: str) -> None:
    outcome = await cli("up", LICTOR_NATS_URL=old_nats)
    assert outcome.returncode == 1
    assert sentence(outcome).startswith("lictor: NATS server 2.12.3 is too old")


@pytest.mark.parametrize("command", ["up", "demo"])
async def test_a_taken_port_is_named(cli: Cli, taken_port: int, command: str) -> None:
    outcome = await cli(command, "--nats-port", str(taken_port))
    assert outcome.returncode == 1
    assert f"Port {taken_port} on 127.0.0.1 is taken" in sentence(outcome)


async def test_a_data_directory_that_can_not_be_written_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = await cli("up", "--data-dir", "file/data")
    assert outcome.returncode == 1
    assert f"The data directory {tmp_path / 'file' / 'data'} is not writable" in sentence(outcome)


async def test_a_file_as_data_directory_is_named_as_such(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = await cli("up", "--data-dir", "file")
    assert outcome.returncode == 1
    assert f"{tmp_path / 'file'} is a file, not a directory" in sentence(outcome)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("doctor >&-", ""),
        ("doctor <&- >&- 2>&-", ""),
        ("publish <&-", "lictor: there is nothing to publish: the input is empty.\n"),
        ("--help >&-", ""),
    ],
)
def test_closed_streams_are_no_error(
    tmp_path: Path, environment: dict[str, str], command: str, said: str
) -> None:
    outcome = subprocess.run(
        ["/bin/sh", "-c", f"{shlex.quote(str(COMMAND))} {command}"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environment, "LICTOR_NATS_URL": NOBODY},
        timeout=90,
        check=False,
    )
    assert outcome.returncode == (0 if "help" in command else 1)
    assert outcome.stderr == said


async def test_what_is_no_bundle_fails_with_one_line_and_the_verdict(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "trust.json").write_bytes(TrustStore.of([]).to_bytes())
    outcome = await cli("seal", "verify", "-", "--trust", "trust.json", stdin="no bundle")
    assert outcome.returncode == 1
    first, verdict = outcome.stdout.splitlines()
    assert first.startswith("FAIL  bundle ")
    assert verdict == "FAIL  - is NOT what was sealed: bundle"


@pytest.mark.parametrize("server", ["NATS", "REDIS"])
async def test_a_missing_binary_is_named(cli: Cli, tmp_path: Path, server: str) -> None:
    variable = f"LICTOR_{server}_SERVER"
    outcome = await cli("up", **{variable: str(tmp_path / "absent")})
    assert outcome.returncode == 1
    assert f"{variable} names {tmp_path / 'absent'}" in sentence(outcome)


async def test_packs_to_publish_that_are_missing_are_named(cli: Cli, tmp_path: Path) -> None:
    outcome = await cli("pack", "publish", "--key", "key.pem", LICTOR_PACKS="")
    assert outcome.returncode == 1
    assert f"No policy-packs directory was found in {tmp_path}" in sentence(outcome)


async def test_a_service_that_can_not_start_is_named_with_the_end_of_its_log(
    cli: Cli, tmp_path: Path
) -> None:
    pack = tmp_path / "packs" / "broken" / "policy.yaml"
    pack.parent.mkdir(parents=True)
    pack.write_text("not: a pack")
    outcome = await cli("up", LICTOR_PACKS=str(tmp_path / "packs"))
    assert outcome.returncode == 1
    assert "lictor: policy-evaluator ended at start with exit code 1" in outcome.stderr
    assert str(pack) in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not (tmp_path / ".lictor" / "endpoints.json").exists()


async def test_a_trust_file_without_the_key_is_refused(cli: Cli, tmp_path: Path) -> None:
    keys = tmp_path / ".lictor" / "keys"
    keys.mkdir(parents=True)
    (keys / "trust.json").write_text('{"format": "lictor-trust-store/v1", "keys": []}')
    outcome = await cli("up")
    assert outcome.returncode == 1
    assert f"The trust file {keys / 'trust.json'} does not hold the key" in sentence(outcome)


async def test_an_absent_file_is_named(cli: Cli, clean_infra: Endpoints) -> None:
    outcome = await cli("publish", "absent.json", "--url", clean_infra.nats_url)
    assert outcome.returncode == 1
    assert sentence(outcome) == "lictor: absent.json: No such file or directory."


async def test_nothing_to_publish_is_a_sentence(cli: Cli, clean_infra: Endpoints) -> None:
    outcome = await cli("publish", "--url", clean_infra.nats_url, stdin=" \n")
    assert outcome.returncode == 1
    assert sentence(outcome) == "lictor: there is nothing to publish: the input is empty."


async def test_an_absent_trust_file_is_named(cli: Cli) -> None:
    outcome = await cli("seal", "verify", "x", "--trust", "absent.json")
    assert outcome.returncode == 1
    assert "there is no trust store absent.json" in sentence(outcome)


async def test_dead_letters_before_any_service_ran_are_a_sentence(
    cli: Cli, clean_infra: Endpoints
) -> None:
    outcome = await cli("dead", "list", "--url", clean_infra.nats_url)
    assert outcome.returncode == 1
    assert "no service has run here" in sentence(outcome)


async def test_the_traceback_shows_when_asked_for(cli: Cli) -> None:
    outcome = await cli("publish", "absent.json", LICTOR_DEBUG="1")
    assert "Traceback" in outcome.stderr
