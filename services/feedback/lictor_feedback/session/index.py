"""An index of a session's facts under one tag: none of them can be changed, put back or removed unnoticed.

Every fact has an entry, of its name and its value, in one of a few buckets; the digests of all buckets and the cursor
are under one tag (`lictor_bus.fold.state_tags`). A question loads the tag and the buckets of the facts that it needs; a
commit replaces those of the facts that it changes. What this can't show is that all of it is an older state: that is
for whoever knows how far the session was.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from lictor_bus.fold.state_tags import TAG_BYTES, StateTags

TAG = "@tag"
# Enough for a check in a session of 100 000 facts to cost little more than in one of ten.
_BUCKETS = 256
_DIGEST_BYTES = 8
_NAME_BYTES = 8
_ENTRY_BYTES = _NAME_BYTES + TAG_BYTES
_NO_DIGEST = bytes(_DIGEST_BYTES)
_FIELDS = tuple(f"@b{number}" for number in range(_BUCKETS))
_NAMES_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class FactIndex:
    """The index of a session at a cursor, as far as it was loaded."""

    digests: bytes
    buckets: Mapping[int, bytes]


EMPTY = FactIndex(_NO_DIGEST * _BUCKETS, dict.fromkeys(range(_BUCKETS), b""))


class FactIndexes:
    """Reads and writes the indexes of all sessions."""

    def __init__(self, tags: StateTags) -> None:
        self._tags = tags
        self._place = lru_cache(_NAMES_REMEMBERED)(self._place_of)

    def fields(self, names: Iterable[str]) -> list[str]:
        """The fields to load beside the facts of these names."""
        return [TAG, *(_FIELDS[number] for number in {self._place(name)[0] for name in names})]

    def read(self, key: str, cursor: int, found: Mapping[str, bytes | None]) -> FactIndex | None:
        """The index in these fields; None when it is not as it was left."""
        raw = found.get(TAG) or b""
        tag, digests = raw[:TAG_BYTES], raw[TAG_BYTES:]
        if len(digests) != len(EMPTY.digests) or tag != self._tag(key, cursor, digests):
            return None
        buckets = {
            number: found[field] or b"" for number, field in enumerate(_FIELDS) if field in found
        }
        for number, bucket in buckets.items():
            if self._digest(key, number, bucket) != _nth(digests, number):
                return None
        return FactIndex(digests, buckets)

    def covers(self, index: FactIndex, names: Iterable[str]) -> bool:
        """Whether the buckets of these facts were loaded."""
        return all(self._place(name)[0] in index.buckets for name in names)

    def holds(self, index: FactIndex, key: str, facts: Mapping[str, bytes | None]) -> bool:
        """Whether these are the session's facts; None where it has none."""
        for name, value in facts.items():
            number, short = self._place(name)
            at = _find(index.buckets[number], short)
            if value is None:
                if at is not None:
                    return False
            elif at is None or index.buckets[number][at:][:_ENTRY_BYTES] != short + self._fact(
                key, name, value
            ):
                return False
        return True

    def holds_all(
        self, key: str, cursor: int, tag: bytes | None, facts: Mapping[str, bytes]
    ) -> bool:
        """Whether these are all facts of the session."""
        whole, _ = self.changed(EMPTY, key, cursor, facts)
        return tag == self._tag(key, cursor, whole.digests) + whole.digests

    def changed(
        self, index: FactIndex, key: str, cursor: int, changes: Mapping[str, bytes | None]
    ) -> tuple[FactIndex, dict[str, bytes | None]]:
        """The index at the next cursor, and the fields to store; None removes one."""
        entries: dict[int, dict[bytes, bytes]] = {}
        for name, value in changes.items():
            number, short = self._place(name)
            if number not in entries:
                entries[number] = _entries(index.buckets[number])
            if value is None:
                entries[number].pop(short, None)
            else:
                entries[number][short] = self._fact(key, name, value)
        digests, buckets = bytearray(index.digests), dict(index.buckets)
        fields: dict[str, bytes | None] = {}
        for number, each in entries.items():
            buckets[number] = b"".join(short + each[short] for short in sorted(each))
            fields[_FIELDS[number]] = buckets[number] or None
            start = number * _DIGEST_BYTES
            digests[start : start + _DIGEST_BYTES] = self._digest(key, number, buckets[number])
        told = bytes(digests)
        fields[TAG] = self._tag(key, cursor, told) + told
        return FactIndex(told, buckets), fields

    def kept_tag(self, key: str, sequence: int, state: Mapping[str, bytes]) -> bytes:
        """The tag of a whole state as of a snapshot's entry."""
        parts = [part for name in sorted(state) for part in (_bytes(name), state[name])]
        return self._tags.tag(b"kept", key.encode(), b"%d" % sequence, *parts)

    def _place_of(self, name: str) -> tuple[int, bytes]:
        """The bucket of a name, and what stands for it there."""
        tag = self._tags.tag(b"name", _bytes(name))
        return tag[-1] % _BUCKETS, tag[:_NAME_BYTES]

    def _fact(self, key: str, name: str, value: bytes) -> bytes:
        return self._tags.tag(b"fact", key.encode(), _bytes(name), value)

    def _digest(self, key: str, number: int, bucket: bytes) -> bytes:
        if not bucket:
            return _NO_DIGEST
        return self._tags.tag(b"bucket", key.encode(), b"%d" % number, bucket)[:_DIGEST_BYTES]

    def _tag(self, key: str, cursor: int, digests: bytes) -> bytes:
        return self._tags.tag(b"facts", key.encode(), b"%d" % cursor, digests)


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _nth(digests: bytes, number: int) -> bytes:
    return digests[number * _DIGEST_BYTES :][:_DIGEST_BYTES]


def _find(bucket: bytes, short: bytes) -> int | None:
    """Where in a bucket the entry of a name begins."""
    at = bucket.find(short)
    while at >= 0 and at % _ENTRY_BYTES:
        at = bucket.find(short, at + 1)
    return at if at >= 0 else None


def _entries(bucket: bytes) -> dict[bytes, bytes]:
    return {
        bucket[at : at + _NAME_BYTES]: bucket[at + _NAME_BYTES : at + _ENTRY_BYTES]
        for at in range(0, len(bucket), _ENTRY_BYTES)
    }
