"""A sealed episode as one file that tells everything: its seal, and below it every message that it covers."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import cast

from nats.aio.client import Client

from lictor_bus.logs.episode_contents import parts_of
from lictor_seal import SealBundle, committed_strands, is_part, last_part_id


async def bundle_lines(client: Client, bundle: bytes) -> AsyncIterator[bytes]:
    """The lines of the file, from the seal bundle as the log holds it; of an older episode that is all there is.

    The messages are read from CONTENTS, which runtimes may not. What was erased of them is not among them.
    """
    seal = SealBundle.from_bytes(bundle)
    episode = seal.sealed_episode
    if committed_strands(episode) is None:
        yield bundle
        return
    yield replace(seal, with_contents=True).to_bytes()
    last = last_part_id(cast(dict[str, object], episode["sources"]))
    async for stored in parts_of(client, str(episode["episodeId"]), last, is_part):
        yield stored.body + b"\n"
