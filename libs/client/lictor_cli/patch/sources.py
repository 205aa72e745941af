"""Where `lictor patch` finds patches, and what its commands share."""

import json
from argparse import ArgumentParser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.id_prefixes import PATCH, whole_id
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.logs.entry_logs import all_entries, patch_log
from lictor_bus.names import subjects
from lictor_bus.names.streams import PATCHES
from lictor_contracts.patch.life import Patch, folded
from lictor_schema.contracts.patch import PatchEntry


def patch_argument(parser: ArgumentParser) -> None:
    """The patch's id."""
    parser.add_argument(
        "patch", metavar="PATCH_ID", help="its id in `lictor patch list`, or its first characters"
    )


@asynccontextmanager
async def patches_at(url: str | None) -> AsyncGenerator[Client, None]:
    """A connection to a broker that has patches."""
    async with streams_at(url, "patch") as client:
        await extent(client, PATCHES)
        yield client


async def find_patch(client: Client, given: str) -> tuple[Patch, list[PatchEntry]]:
    """A patch and its entries; its first characters name it where they are enough."""
    patch_id = await whole_id(client, PATCH, given)
    entries = [entry for _, entry in (await patch_log(client, patch_id)).entries]
    patch = folded(entries)
    if patch is None:
        raise LictorError(f"there is nothing about patch {patch_id} that can be read.")
    return patch, entries


async def all_patches(client: Client) -> list[tuple[Patch, list[PatchEntry]]]:
    """Every patch with its entries, in the order they began."""
    logs: dict[str, list[PatchEntry]] = {}
    async for _, entry in all_entries(client, PATCHES, subjects.PATCH.any, PatchEntry.from_json):
        logs.setdefault(entry.patch_id, []).append(entry)
    found = ((folded(entries), entries) for entries in logs.values())
    return [(patch, entries) for patch, entries in found if patch is not None]


def patch_as_json(patch: Patch) -> dict[str, Any]:
    """For `--json`."""
    return {
        "patch_id": patch.patch_id,
        "state": patch.state.value,
        "began_at": patch.began_at,
        "changed_at": patch.changed_at,
        "needs_human": patch.needs_human,
        "approvers": list(patch.approvers),
        "proposal_hash": patch.proposal_hash,
        "request": _value(patch.request),
        "proposal": _value(patch.proposal),
        "applied": _value(patch.applied),
        "reason": patch.reason,
    }


def _value(model: Any) -> Any:
    return None if model is None else json.loads(model.to_json())
