"""What is stored of a fold, under tags: states with their place in the stream, the cursor, and handled messages."""

import struct
from typing import NamedTuple

from lictor_bus.errors import ForgedState
from lictor_bus.fold.state_tags import TAG_BYTES, StateTags

# Of a record, before the state: its tag, then the position and the time until which it is kept (0: for good).
_HEAD = struct.Struct(f">{TAG_BYTES}sQQ")
_PLACE = struct.Struct(">QQ")


class StateRecord(NamedTuple):
    """What is stored of a key."""

    state: bytes
    position: int
    until_us: int | None


class StateRecords:
    """Writes and reads what one partition keeps in Redis: whatever does not fit its tag is a ForgedState."""

    def __init__(self, tags: StateTags, root: str) -> None:
        self._tags = tags
        self._root = root

    def check(self, prefix: str, stream: str, cursor: int) -> bytes:
        """What is stored beside the cursor: the stream it is of, under a tag."""
        told = stream.encode()
        return self._tags.tag(b"cursor", prefix.encode(), b"%d" % cursor, told) + told

    def stream_of(self, prefix: str, cursor: int, check: bytes | None) -> str | None:
        """The stream that a cursor is of; None at the start. ForgedState when we did not set that cursor."""
        if check is None and not cursor:
            return None
        told = (check or b"")[TAG_BYTES:]
        if check is None or not self._tags.fits(
            check[:TAG_BYTES], b"cursor", prefix.encode(), b"%d" % cursor, told
        ):
            raise self._tags.forged(
                f"the cursor of {self._root} is not as it was left: changed in Redis, set with another"
                " LICTOR_STATE_KEY, or by a version that set none"
            )
        return told.decode()

    def record(self, prefix: bytes, key: str, state: bytes, position: int, until_us: int) -> bytes:
        """A state with its place, under a tag."""
        place = _PLACE.pack(position, until_us)
        return self._tags.tag(prefix, key.encode(), place, state) + place + state

    def read(self, prefix: bytes, key: str, raw: bytes, cursor: int) -> StateRecord:
        """A record as it was left at the cursor or before; else ForgedState."""
        if len(raw) >= _HEAD.size:
            tag, position, until = _HEAD.unpack_from(raw)
            state = raw[_HEAD.size :]
            place = raw[TAG_BYTES : _HEAD.size]
            if position <= cursor and self._tags.fits(tag, prefix, key.encode(), place, state):
                return StateRecord(state, position, until or None)
        raise self.not_as_left(key)

    def handled(self, prefix: bytes, key: str, message_id: str, sequence: int) -> str:
        """The sequence under which a message was handled, with its tag."""
        tag = self._tags.tag(
            b"handled", prefix, key.encode(), message_id.encode(), b"%d" % sequence
        )
        return f"{sequence}:{tag.hex()}"

    def sequence_of(self, prefix: bytes, key: str, message_id: str, raw: bytes, cursor: int) -> int:
        """That sequence, if it was left so at the cursor or before."""
        text, _, _ = raw.partition(b":")
        sequence = int(text) if text.isdigit() and len(text) < 20 else cursor + 1
        if sequence > cursor or self.handled(prefix, key, message_id, sequence).encode() != raw:
            raise self.not_as_left(key)
        return sequence

    def not_as_left(self, key: str) -> ForgedState:
        """The error for a key whose record was changed, put back or removed."""
        return self._tags.forged(
            f"the stored state of {key!r} in {self._root} is not as it was left"
        )
