"""Checking what a bundle carries against the roots in its episode: nothing missing, swapped, added or altered.

Part by part, in the order of the file; what is held at once does not grow with the number of messages.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import ValidationError

from lictor_schema.seals.episode_sources import CONTENTS_FORMAT
from lictor_schema.seals.erasure import Erasure
from lictor_seal.contents.parts import NAMED, Entry, Message, Part, Strands, entries_hash, erased_by
from lictor_seal.errors import BundleError, NoteError, UnknownSignerError
from lictor_seal.note.signed_note import parse_note
from lictor_seal.note.statement import open_statement
from lictor_seal.seal import parse_utc
from lictor_seal.trust import TrustStore

ERASURE: Final = "lictor.erasure.v1"
_MAX_ERASURES: Final = 1000

Visit = Callable[[Message | Entry], None]
"""Takes every message, whole, and every entry that was erased; nothing is proved before all were taken."""


@dataclass(frozen=True, slots=True)
class StrandFound:
    """What a bundle carries of one strand."""

    name: str
    count: int
    erased: int


@dataclass(frozen=True, slots=True)
class ContentsReport:
    """What a bundle carries of its episode's messages."""

    strands: tuple[StrandFound, ...]
    erasures: tuple[Erasure, ...]
    """The first, one for each order."""

    @property
    def erased(self) -> int:
        """How many messages were erased."""
        return sum(each.erased for each in self.strands)

    @property
    def count(self) -> int:
        """How many messages there are, erased ones too."""
        return sum(each.count for each in self.strands)

    def to_json_value(self) -> dict[str, object]:
        """For machines."""
        return {
            "strands": [
                {"name": each.name, "count": each.count, "erased": each.erased}
                for each in self.strands
            ],
            "erasures": [
                {
                    "requestId": each.request_id,
                    "by": each.by,
                    "reason": each.reason,
                    "erasedAt": each.erased_at,
                }
                for each in self.erasures
            ],
        }


def committed_strands(sealed_episode: Mapping[str, object]) -> list[dict[str, Any]] | None:
    """The strands of an episode whose messages a bundle can carry; None for an older episode."""
    sources = sealed_episode.get("sources")
    if not isinstance(sources, dict):
        return None
    members = cast(dict[str, Any], sources)
    if members.get("contents") != CONTENTS_FORMAT:
        return None
    return [dict(each) for each in members.get("strands", ())]


def incomplete_strands(sealed_episode: Mapping[str, object]) -> list[str]:
    """The strands of which not every message was there any more, or could be covered, when the episode was sealed."""
    committed = committed_strands(sealed_episode) or ()
    return [str(each.get("name")) for each in committed if each.get("complete") is not True]


def check_contents(
    sealed_episode: Mapping[str, object],
    parts: Iterable[bytes],
    trust: TrustStore,
    visit: Visit | None = None,
    *,
    origin: str | None = None,
) -> ContentsReport:
    """What the parts carry, if they are exactly the messages of the episode; raises BundleError when they are not.

    Only keys of the log called ``origin`` may say that something was erased. Where a key that did is not in the trust
    store, UnknownSignerError is raised when everything else was looked at and held.
    """
    committed = committed_strands(sealed_episode)
    if committed is None:
        raise BundleError("the episode has no roots that the messages in the file could be under")
    check = _Check(str(sealed_episode.get("episodeId")), committed, trust, visit or _ignore, origin)
    for line in parts:
        check.take(line)
    return check.finish()


def _ignore(_: Message | Entry) -> None:
    pass


class _Check:
    def __init__(
        self,
        episode_id: str,
        committed: list[dict[str, Any]],
        trust: TrustStore,
        visit: Visit,
        origin: str | None,
    ) -> None:
        self._episode_id = episode_id
        self._committed = {str(each.get("name")): each for each in committed}
        self._order = {name: number for number, name in enumerate(self._committed)}
        self._trust = trust
        self._visit = visit
        self._origin = origin
        self._unknown: UnknownSignerError | None = None
        self._strands = Strands()
        self._erased: dict[str, int] = {}
        self._erasures: dict[str, Erasure] = {}
        self._pieces: list[Entry] = []
        self._named: list[str] = []
        self._place = ("", 0, 0)
        self._is_last = self._has_list = False
        self._parts = 0

    def take(self, line: bytes) -> None:
        self._parts += 1
        if self._is_last:
            raise BundleError(f"part {self._parts} follows the last one: it was added")
        part = Part.from_bytes(line)
        if part.episode_id != self._episode_id:
            raise BundleError(f"part {self._parts} is of another episode")
        for statement, entries in erased_by(part):
            self._statement(statement, entries)
        for entry in part.entries:
            self._entry(entry)
        if part.before is not None:
            if list(part.before) != self._named:
                raise BundleError(
                    f"part {self._parts} names other parts before it than there are: some are missing or swapped"
                )
            # Only a list that is full goes on in a later one.
            self._is_last = len(self._named) < NAMED
            self._named = []
        self._has_list = part.before is not None
        self._named.append(part.id)

    def _entry(self, entry: Entry) -> None:
        if entry.strand not in self._committed:
            raise BundleError(f"a message of the strand {entry.strand!r} was added")
        place = (entry.strand, entry.at, entry.piece)
        before = self._place
        if before[0] and (self._order[before[0]], *before[1:]) >= (
            self._order[entry.strand],
            *place[1:],
        ):
            raise BundleError(f"{entry.strand} {entry.at} does not follow {before[0]} {before[1]}")
        self._place = place
        self._strands.add(entry)
        self._whole_so_far(entry)
        self._pieces.append(entry)
        if len(self._pieces) == entry.pieces:
            self._message(self._pieces)
            self._pieces = []

    def _whole_so_far(self, entry: Entry) -> None:
        """Every piece follows the one before it, erased or not."""
        first = self._pieces[0] if self._pieces else entry
        if (entry.piece, entry.place, entry.pieces) != (
            len(self._pieces),
            first.place,
            first.pieces,
        ):
            raise BundleError(f"{first.strand} {first.at} is not whole")

    def _message(self, pieces: list[Entry]) -> None:
        first = pieces[0]
        # An erasure that was interrupted may have left some of its pieces.
        erased = next((each for each in pieces if each.erasure is not None), None)
        if erased is not None:
            self._erased[first.strand] = self._erased.get(first.strand, 0) + 1
            self._visit(erased)
            return
        body = b"".join(each.body for each in pieces)
        self._visit(Message(*first.place, first.stored_us, first.subject, body))

    def _statement(self, statement: str, entries: list[Entry]) -> None:
        """Only what the log's key signed is an erasure: everything else that is missing is missing."""
        try:
            document = parse_note(statement).text.partition("\n")[2]
            told = Erasure.from_json(document.encode())
            at = parse_utc(told.erased_at)
            opened = open_statement(ERASURE, statement.encode(), self._trust, at)
            signed = Erasure.from_json(opened.document.encode())
        except UnknownSignerError as error:
            self._unknown = self._unknown or error
            return
        except (NoteError, ValidationError, ValueError) as error:
            raise BundleError(f"an erasure is not what the log's key signed: {error}") from error
        if self._origin not in (None, opened.signer.name):
            raise BundleError(
                f"an erasure is not what the log's key signed: {opened.signer.name} is a key of another log"
            )
        if (signed.episode_id, signed.count, signed.entries) != (
            self._episode_id,
            len(entries),
            entries_hash(entries),
        ):
            raise BundleError(
                f"the erasure {signed.request_id} is of other messages than those that are missing"
            )
        if len(self._erasures) < _MAX_ERASURES:
            self._erasures.setdefault(signed.request_id, signed)

    def finish(self) -> ContentsReport:
        if not self._has_list:
            raise BundleError("the last part is missing: the file was cut")
        if self._pieces:
            raise BundleError(f"{self._pieces[0].strand} {self._pieces[0].at} is not whole")
        found: list[StrandFound] = []
        for name, strand in self._committed.items():
            count = self._strands.counts.get(name, 0)
            if count != strand.get("count"):
                raise BundleError(
                    f"{name}: the file carries {count} messages, the episode has {strand.get('count')}"
                )
            if self._strands.root(name) != strand.get("root"):
                raise BundleError(
                    f"{name}: what the file carries is not under the episode's root: "
                    "a message was changed, swapped or left out"
                )
            found.append(StrandFound(name, count, self._erased.get(name, 0)))
        if self._unknown is not None:
            raise self._unknown
        return ContentsReport(tuple(found), tuple(self._erasures.values()))
