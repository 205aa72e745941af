"""`lictor seal export`: a sealed episode as one file."""

import asyncio
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lictor.errors import NotInTime
from lictor.installation.atomic_files import replacing
from lictor.installation.endpoints import nats_url
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    command_line,
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
)
from lictor_cli.seal.sources import trust_file_for
from lictor_seal import SealBundle

if TYPE_CHECKING:
    from lictor.governor import Governor

HELP = "Write a bundle to a file."
_LOOK_S = 1.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "episode", metavar="EPISODE", nargs="?", help="the episode's id, or its first characters"
    )
    which.add_argument("--task", metavar="TASK", help="the task that the episode covers")
    parser.add_argument(
        "--version",
        metavar="N",
        type=int,
        help="which version of the episode (default: the newest)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: stdout)")
    parser.add_argument(
        "--seal-only",
        action="store_true",
        help="without the messages that the episode covers, which runtimes may not read",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        default=5.0,
        help="how long to wait for the seal (default: 5)",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Wait for the seal, and write it."""
    from lictor.governor_connection import connect
    from lictor.history.id_prefixes import EPISODE, TASK, id_at

    quiet_logs()
    async with connect(nats_url(options.url), reads_all=True, timeout_s=3.0) as governor:
        if options.task is not None:
            task = await id_at(options.url, TASK, options.task)
            bundle = await governor.sealed(task, timeout_s=options.wait)
        else:
            episode = await id_at(options.url, EPISODE, options.episode)
            bundle = await _of_episode(governor, episode, options.wait)
        if options.version is not None:
            bundle = await governor.sealed_version(_episode_in(bundle), options.version)
        lines = _alone(bundle) if options.seal_only else governor.bundle_lines(bundle)
        if options.output is None:
            await _write(lines, sys.stdout.buffer)
            return OK
        path = Path(options.output)
        with replacing(path) as file:
            size = await _write(lines, file)
    if options.json:
        say_json({"file": str(path), "bytes": size})
    else:
        say(f"wrote {path} ({size} bytes)")
        trust = trust_file_for(bundle) or "KEYFILE"
        verify = command_line("seal", "verify", path, "--trust", trust)
        say(f"verify it anywhere with: {verify}")
    return OK


async def _alone(bundle: bytes) -> AsyncIterator[bytes]:
    yield bundle


async def _write(lines: AsyncIterator[bytes], file: BinaryIO) -> int:
    size = 0
    async for line in lines:
        size += file.write(line)
    file.flush()
    return size


def _episode_in(bundle: bytes) -> str:
    return str(SealBundle.from_bytes(bundle).sealed_episode.get("episodeId"))


async def _of_episode(governor: "Governor", episode: str, timeout_s: float) -> bytes:
    try:
        return await governor.sealed_episode(episode, timeout_s=timeout_s)
    except NotInTime:
        if not await _is_task(governor, episode):
            raise
    name = printable(episode)
    raise NotInTime(f"{name} is a task, not an episode; use `--task {shlex.quote(name)}`")


async def _is_task(governor: "Governor", task_id: str) -> bool:
    try:
        async with asyncio.timeout(_LOOK_S):
            async with aclosing(governor.decisions(task_id, since_start=True)) as records:
                await anext(records)
    except TimeoutError:
        return False
    return True
