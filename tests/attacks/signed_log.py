"""A small log with real keys as files, a bundle out of it with its messages, and a signed release of packs."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lictor_schema.decisions.decision import PackStamp
from lictor_schema.packs.release import PackRelease
from lictor_seal import (
    Checkpoint,
    ContentsWriter,
    Edge,
    Frontier,
    Message,
    SealBundle,
    SigningKey,
    TrustStore,
    entry_file,
    extend,
    leaf_data,
    position_line,
    seal_episode,
    sign_checkpoint,
    sign_release,
)

KEY = SigningKey.from_seed("lictor.test/log", bytes(range(32)))
TRUST = TrustStore.of([KEY.verifying_key])
RECEIVED = datetime(2026, 6, 1, tzinfo=UTC)
SEALED_AT = "2026-03-01T12:00:00.000Z"
MESSAGES = (
    Message("records", 4, 1_000, "lictor.dec.allow.t", b'{"decision":"allow"}'),
    Message("records", 9, 2_000, "lictor.dec.block.t", b'{"decision":"block","amount":50}'),
    Message("events", 3, 900, "lictor.ev.0.sdk.t", "Zoë \u2713".encode()),
    Message("events", 8, 1_900, "lictor.ev.0.sdk.t", bytes(range(256))),
)


def leaves_of(count: int, longest: int = 0) -> list[bytes]:
    """Sealed episodes; the last of them with a text of that length."""
    told: list[dict[str, Any]] = [{"episodeId": f"e{number}"} for number in range(count)]
    if told and longest:
        told[-1]["summary"] = "x" * longest
    return [leaf_data(seal_episode(each, sealed_at=SEALED_AT, signer=KEY)) for each in told]


def files_of(leaves: Sequence[bytes]) -> dict[str, bytes]:
    """A log of these leaves as `lictor log export` writes it."""
    frontier, _ = extend(Frontier(), leaves)
    stated = Checkpoint(KEY.name, frontier.size, frontier.root(), (position_line(len(leaves) + 1),))
    edge, completed = Edge().append(leaves)
    entries = (
        entry_file(start // 256, leaves[start : start + 256])
        for start in range(0, len(leaves), 256)
    )
    return {
        **dict(completed),
        **dict(edge.partial_tiles()),
        **dict(entries),
        "checkpoint": sign_checkpoint(stated, KEY).encode(),
    }


def bundle_with_messages() -> bytes:
    """A sealed episode in a log of three, and all that it covers."""
    writer = ContentsWriter("e1", KEY)
    for each in MESSAGES:
        writer.add(each)
    last = writer.finish()
    strands = [
        {"name": name, "count": count, "root": writer.strands.root(name), "complete": True}
        for name, count in writer.strands.counts.items()
    ]
    sources = {"contents": "lictor-episode-part/v1", "strands": strands}
    sealed = [
        seal_episode({"episodeId": f"e{number}", **more}, sealed_at=SEALED_AT, signer=KEY)
        for number, more in enumerate([{}, {"sources": sources}, {}])
    ]
    frontier, proofs = extend(Frontier(), [leaf_data(each) for each in sealed])
    stated = Checkpoint(KEY.name, frontier.size, frontier.root(), (position_line(4),))
    bundle = SealBundle(sealed[1], 1, proofs[1], sign_checkpoint(stated, KEY))
    parts = [*writer.full, last]
    return replace(bundle, with_contents=True).to_bytes() + b"".join(
        part.to_bytes() + b"\n" for part in parts
    )


def signed_release() -> bytes:
    """A release of packs."""
    some_hash = "sha256:" + "a" * 64
    return sign_release(
        PackRelease(
            channel="main",
            number=7,
            bundle_hash=some_hash,
            packs=(PackStamp(pack_id="no-silence", pack_version="1.2", pack_hash=some_hash),),
            released_at="2026-06-01T00:00:00.000Z",
            expires_at="2026-09-01T00:00:00.000Z",
        ),
        KEY,
    ).encode()
