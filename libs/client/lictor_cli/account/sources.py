"""Where the accounts are that a command is about, and how the server gets to know of a change."""

import asyncio
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from pathlib import Path

from lictor.errors import LictorError
from lictor.installation.directories import data_directory, packs_directory
from lictor.installation.endpoints import find_running
from lictor_local.accounts import AccountsFolder

RELOAD = "Have the server read it with SIGHUP; under Compose: docker compose kill -s HUP nats"
RELOAD_TWICE = f"{RELOAD}\nRun it twice: the server uses what crosses into a new account from its next reload on."
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


async def until_server(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the running server has read the accounts, by what it does."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            # Nothing tells when a server has read its configuration.
            while not await is_so():  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
    except (OSError, TimeoutError):
        raise LictorError(
            "the accounts are written, but the server has not taken them; see its log, and `lictor doctor`."
        ) from None
