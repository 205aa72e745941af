"""Connecting to the NATS server that was found, and what to do when it does not answer."""

from pathlib import Path

from nats.aio.client import Client

from lictor.errors import LictorError, Unreachable
from lictor.installation.directories import data_directory, packs_directory
from lictor.installation.endpoints import FoundAddress, in_use
from lictor_bus.errors import BrokerUnreachable
from lictor_bus.wire.connection import connect_nats


async def reach(found: FoundAddress, name: str, timeout_s: float = 3.0) -> Client:
    """A connection; raises Unreachable with advice that fits where the address came from."""
    try:
        return await connect_nats(found.now, name=name, timeout_s=timeout_s)
    except BrokerUnreachable as error:
        what = str(error).partition(";")[0]
        raise Unreachable(_advised(found, what)) from None


def _advised(found: FoundAddress, what: str) -> str:
    if found.source == "given":
        return f"{what}; start that server, or name another one."
    if found.source.startswith("LICTOR_"):
        return f"{what}; start that server, or unset {found.source} and run `lictor up` for the built-in one."
    if (folder := _starting()) is not None:
        state = f"`lictor up` in {folder} is starting or stopping"
        return f"{state}: {what}; try again in a moment, or see `lictor doctor`."
    if found.source == "the default":
        what = f"no `lictor up` runs in {Path.cwd()} or above it, and {what}"
    return f"{what}; run `lictor up`, or name a server in LICTOR_NATS_URL."


def _starting() -> Path | None:
    """The data directory of a `lictor up` that does not tell its address yet, or any more."""
    try:
        folder = data_directory(packs_directory())
    except LictorError:
        folder = data_directory()
    return folder if in_use(folder) else None
