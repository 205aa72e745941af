"""`lictor up`: everything on this machine, until Ctrl-C."""

import asyncio
import os
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from nats.errors import Error as NatsError

from lictor.errors import LictorError
from lictor.fast.broker_address import credential_file
from lictor.history.stream_contents import streams_at
from lictor.installation.directories import agents_directory, data_directory, packs_directory
from lictor.installation.endpoints import Running, find_running
from lictor_bus.errors import BusError
from lictor_bus.names.roles import OPERATORS
from lictor_bus.wire.address import shown
from lictor_cli.main import INTERRUPTED, OK, USAGE
from lictor_cli.output.interruption import ending_by_signal
from lictor_cli.output.stack_progress import StackProgress
from lictor_cli.output.terminal import (
    common_arguments,
    port_number,
    quiet_logs,
    say,
    say_json,
    warn,
)
from lictor_local.service_process import SERVICES
from lictor_local.stack import DEFAULT_LOG_ORIGIN, Stack, StackSettings

HELP = """\
Run NATS, Redis and all services until Ctrl-C, then stop them in order and keep the data.

NATS and Redis run embedded, on loopback, unless LICTOR_NATS_URL or LICTOR_REDIS_URL name others.
Policy packs come from LICTOR_PACKS, or from `policy-packs` in the nearest directory upwards, or are
those that come with Lictor; agent definitions come from LICTOR_AGENTS, or from `agents` in the nearest
directory upwards that has some.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    stack_arguments(parser)
    parser.add_argument(
        "--secured",
        action="store_true",
        help="give NATS accounts: a password for each service and for operators, an account for each runtime",
    )
    parser.add_argument(
        "--runtime",
        metavar="NAME",
        action="append",
        default=[],
        help="with --secured: a runtime that gets an account (`lictor account add` does it later)",
    )
    common_arguments(parser, connects=False)


def stack_arguments(parser: ArgumentParser) -> None:
    """The options of commands that run everything."""
    parser.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="where data is kept (default: .lictor)"
    )
    parser.add_argument(
        "--nats-port",
        metavar="PORT",
        type=port_number,
        default=0,
        help="the port of the embedded NATS (default: the one it had last, or any free one)",
    )
    parser.add_argument(
        "--http",
        metavar="PORT",
        type=port_number,
        nargs="?",
        const=0,
        help="let the services answer HTTP (/health, /metrics) on consecutive ports from this one"
        " (without PORT: those they had last, or any free ones)",
    )


def stack_settings(options: Namespace, data_dir: Path, packs: Path) -> StackSettings:
    """What the options and the environment ask for."""
    seal_key = os.environ.get("LICTOR_SEAL_KEY")
    return StackSettings(
        data_dir=data_dir,
        packs=packs,
        agents=agents_directory(),
        nats_url=os.environ.get("LICTOR_NATS_URL"),
        redis_url=os.environ.get("LICTOR_REDIS_URL"),
        nats_port=options.nats_port,
        http_port=_first_of(SERVICES, options.http),
        seal_key=Path(seal_key) if seal_key else None,
        log_origin=os.environ.get("LICTOR_LOG_ORIGIN") or DEFAULT_LOG_ORIGIN,
    )


def _first_of(names: Collection[str], first: int | None) -> int | None:
    if first is not None and first + len(names) > 65_536:
        raise LictorError(f"{len(names)} ports from {first} on are wanted; choose a lower one.")
    return first


async def run(options: Namespace) -> int:
    """Run until a signal."""
    quiet_logs()
    if options.runtime and not options.secured:
        warn("--runtime is for --secured: without accounts every runtime may connect.")
        return USAGE
    packs = packs_directory()
    settings = replace(
        stack_settings(options, options.data_dir or data_directory(packs), packs),
        secured=options.secured,
        runtimes=tuple(options.runtime),
    )
    ready = False
    try:
        with ending_by_signal(), StackProgress(as_json=options.json) as progress:
            async with Stack(settings, progress.tell) as stack:
                progress.done()
                await _say_where(stack, as_json=options.json)
                ready = True
                await stack.tend()
    except asyncio.CancelledError:
        return OK if ready else INTERRUPTED
    return OK


async def _say_where(stack: Stack, *, as_json: bool) -> None:
    running = stack.running
    if as_json:
        told = running.shown().to_json_value()
        say_json({"what": "up", **told, "services": stack.services})
        return
    definitions = await _definitions(running)
    say()
    say("Lictor is up. Ctrl-C stops it; the data stays.")
    for name, value in (
        ("NATS", running.shown().nats_url),
        ("Redis", running.shown().redis_url),
        ("credentials", running.credentials or "none (without --secured nobody needs any)"),
        ("packs", running.packs),
        ("agents", running.agents or "no directory found"),
        ("definitions", definitions),
        ("layers", running.layers or "none (LICTOR_LAYERS is not set)"),
        ("approvers", running.approvers or "none (LICTOR_APPROVERS is not set)"),
        ("data", running.data_dir),
        ("logs", running.logs),
        ("trust file", running.trust_file),
        *running.http.items(),
    ):
        say(f"  {name:<16}  {value}")
    say(how_to_reach(running))


async def _definitions(running: Running) -> str:
    """The definitions that are stored; what can't be read now is no reason to stop."""
    # After the options are read: it takes longer to load than `--help` may.
    from lictor.history.stored_definitions import stored_names

    try:
        async with streams_at(running.nats_url_of(OPERATORS), "up") as client:
            return ", ".join(await stored_names(client)) or "none stored"
    except (LictorError, BusError, NatsError) as error:
        return f"they can't be read: {error}"


def how_to_reach(running: Running) -> str:
    """What other commands need to find it; nothing where they look in its data directory anyway."""
    if find_running() == running:
        return (
            "From this directory or below: `lictor watch`, `lictor publish FILE`, `lictor doctor`."
        )
    addresses = {"LICTOR_NATS_URL": running.nats_url, "LICTOR_REDIS_URL": running.redis_url}
    if running.credentials is not None:
        addresses = {"LICTOR_NATS_URL_FILE": credential_file(running.credentials, OPERATORS)}
        hidden = ""
    else:
        hidden = ", with user and password" * any(shown(url) != url for url in addresses.values())
        addresses = {name: shown(url) for name, url in addresses.items()}
    words = " ".join(f"{name}={shlex.quote(url)}" for name, url in addresses.items())
    return f"Elsewhere{hidden}: export {words}"
