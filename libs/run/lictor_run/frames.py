"""What a run's child and its parent say to each other: a length of four bytes, then JSON.

The child says, and the parent acknowledges what the child must wait for. JSON and nothing else: a process that runs
somebody's code is not handed anything to unpickle, and hands over nothing either.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

HEADER: Final = struct.Struct(">I")
MAX_FRAME: Final = 8 * 1024 * 1024

Said = Mapping[str, Any]


def packed(message: Said) -> bytes:
    """A message as it goes over the wire."""
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
    if len(body) > MAX_FRAME:
        raise ValueError(f"a message has {len(body)} bytes; at most {MAX_FRAME} are sent")
    return HEADER.pack(len(body)) + body


def unpacked(body: bytes) -> dict[str, Any]:
    """The message of a frame's body."""
    message = json.loads(body)
    if not isinstance(message, dict):
        raise TypeError("a frame holds an object")
    return message  # pyright: ignore[reportUnknownVariableType] -- JSON's keys are strings


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    body = stream.read(size)
    return None if len(body) < size else unpacked(body)


def write_frame(stream: BinaryIO, message: Said) -> None:
    """Send a message."""
    stream.write(packed(message))
    stream.flush()
