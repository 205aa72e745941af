"""Where the accounts are that a command is about, and how the server gets to know of a change."""

import asyncio
from argparse import ArgumentParser
from pathlib import Path

from lictor.errors import LictorError
from lictor.installation.directories import data_directory, packs_directory
from lictor.installation.endpoints import find_running
from lictor_bus.errors import BusError
from lictor_bus.wire.connection import connect_nats
from lictor_local.accounts import AccountsFolder

RELOAD = "Have the server read it with SIGHUP; under Compose: docker compose kill -s HUP nats"
_WITHIN_S = 15.0
_LOOK_S = 0.1


def folder_argument(parser: ArgumentParser) -> None:
    """The option that names the folder."""
    parser.add_argument(
        "--dir",
        metavar="DIR",
        type=Path,
        help="the folder of accounts (default: that of `lictor up --secured` here)",
    )


def accounts_folder(given: Path | None) -> AccountsFolder:
    """The folder that was named, or that of this directory's data."""
    if given is not None:
        return AccountsFolder(given)
    if (running := find_running()) and running.credentials is not None:
        return AccountsFolder(Path(running.credentials).parent)
    try:
        return AccountsFolder(data_directory(packs_directory()) / "accounts")
    except LictorError:
        return AccountsFolder(data_directory() / "accounts")


def runs_here(folder: AccountsFolder) -> bool:
    """Whether a `lictor up` runs with these accounts: it has its server read them again by itself."""
    running = find_running()
    return (
        running is not None
        and running.credentials is not None
        and Path(running.credentials).resolve() == folder.credentials.resolve()
    )


async def server_knows(url: str, *, permitted: bool) -> None:
    """Wait until the server permits this address, or does not any more."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            # Nothing tells when a server has read its configuration.
            while await _is_permitted(url) != permitted:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        raise LictorError(
            "the accounts are written, but the server has not taken them; see its log, and `lictor doctor`."
        ) from None


async def _is_permitted(url: str) -> bool:
    try:
        client = await connect_nats(url, name="lictor-account")
    except BusError:
        return False
    await client.close()
    return True
