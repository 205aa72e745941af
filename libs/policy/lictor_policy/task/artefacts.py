"""What evidence points at, known again: the artefact decides what is new, not the id of the item.

An artefact is known by the hash of its content, wherever it lies. Without a hash it is known by its place, and then a
change of its content can't be detected: the same place without a hash, or with the first hash of it, is nothing new.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from posixpath import normpath
from zlib import crc32

from lictor_schema.events.operator_context import EvidenceRef

MAX_MARKS = 256
"""So many marks are kept, those that were met last: an artefact that is shown again and again is not forgotten."""
MAX_REFS = 16
"""So many references of one item are looked at."""

# Before each mark: whether it was first met since the last checkpoint.
_NEW, _OLD = "+", " "
_MARK = 6


class KnownArtefacts:
    """The artefacts that evidence of a task pointed at, as marks in a text."""

    __slots__ = ("marks",)

    def __init__(self, marks: str) -> None:
        self.marks = marks

    def bring_something_new(self, refs: Iterable[EvidenceRef]) -> bool:
        """Whether one of the references points at something not met before; all are known afterwards."""
        # All are looked at first: that one item names an artefact twice makes it no less new.
        found = [_Found(ref) for ref in tuple(refs)[:MAX_REFS]]
        new = [each.is_new(self) for each in found]
        for each, is_new in zip(found, new, strict=True):
            self._meet(each, _NEW if is_new else _OLD)
        return any(new)

    def take_back(self, refs: Iterable[EvidenceRef]) -> None:
        """Forget what was first met since the last checkpoint: shown again, it is new again."""
        for ref in tuple(refs)[:MAX_REFS]:
            found = _Found(ref)
            for mark in filter(None, (found.content, found.hashed, found.unhashed)):
                self.marks = self.marks.replace(_NEW + mark, "")

    def knows(self, mark: str) -> bool:
        """Whether there is such a mark."""
        return _OLD + mark in self.marks or _NEW + mark in self.marks

    def _meet(self, found: "_Found", sign: str) -> None:
        if found.content:
            # From here on a change of the content can be detected.
            self.marks = self.marks.replace(_OLD + found.unhashed, "").replace(
                _NEW + found.unhashed, ""
            )
            self._put(found.content, sign)
            self._put(found.hashed, sign)
        else:
            self._put(found.hashed if self.knows(found.hashed) else found.unhashed, sign)

    def _put(self, mark: str, sign: str) -> None:
        """Put a mark last; one that is new stays so until the next checkpoint."""
        if _NEW + mark in self.marks:
            sign = _NEW
        others = self.marks.replace(_OLD + mark, "").replace(_NEW + mark, "")
        self.marks = (others + sign + mark)[-MAX_MARKS * (1 + _MARK) :]


def all_old(marks: str) -> str:
    """The marks after a checkpoint."""
    return marks.replace(_NEW, _OLD)


class _Found:
    """One reference, as marks: of its content, if that is given, and of its place with a hash or without."""

    __slots__ = ("content", "hashed", "unhashed")

    def __init__(self, ref: EvidenceRef) -> None:
        place = _place(ref)
        self.content = "" if ref.sha256 is None else _mark(f"content {ref.sha256}")
        self.hashed = _mark(f"hashed {place}")
        self.unhashed = _mark(f"unhashed {place}")

    def is_new(self, known: KnownArtefacts) -> bool:
        # A place that was only shown without a hash may have held this very content then.
        other = self.content or self.hashed
        return not known.knows(self.unhashed) and not known.knows(other)


def _place(ref: EvidenceRef) -> str:
    """A place, however it is spelled; an address stays as it is.

    A path or an address is the same place whatever it is called; an id means nothing without its kind.
    """
    told = ref.ref.strip()
    if "://" in told:
        return told
    if "/" in told or "." in told:
        return normpath(told)
    return f"{ref.kind.strip().casefold()} {told}"


def _mark(text: str) -> str:
    number = crc32(text.encode("utf-8", "surrogatepass"))
    return urlsafe_b64encode(number.to_bytes(4, "big"))[:_MARK].decode()
