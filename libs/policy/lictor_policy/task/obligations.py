"""Obligations of a task besides its regular reports, and how often each was reported overdue.

Promised follow-ups, children's results that the operator is to see, and children expected back by a
time. Each is one string in the task's state, because state is decoded for every event and these are
needed for few; of each kind a bounded number is kept, the earliest due first.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lictor_schema.core.time import SECOND_US

MAX_OWED = 64
"""How many of a kind are watched one by one, the earliest due; the others are only counted, and the
operator is notified that there are such."""
MAX_PROMISES = 8
MAX_TOLD = 3
"""So often is the operator notified that something is overdue; by then it was escalated long ago."""
REMIND_US = 5 * 60 * SECOND_US
"""The time between two tellings, and the time a child's result may wait when nobody set one."""
_RARELY_US = 60 * 60 * SECOND_US
_MAX_NAME = 512


class Owed(NamedTuple):
    """One obligation. Times are microseconds since 1970."""

    next_us: int
    """When it is to be reported next; 0 when it was reported often enough."""
    due_us: int
    told: int
    since_us: int
    """When it arose, by the time of its runtime."""
    stored_us: int
    """When it arose, by the time of the broker."""
    items: int
    """Evidence items the task had then."""
    failed: bool
    """Whether it is a result that reports a failure."""
    after: int
    """How many reports the operator had seen when it arose."""
    name: str
    """The child's run, or what was promised."""
    detail: str = ""
    """The key of the child's session."""

    @classmethod
    def new(
        cls,
        name: str,
        due_us: int,
        now: int,
        *,
        since_us: int | None = None,
        items: int = 0,
        failed: bool = False,
        after: int = 0,
        detail: str = "",
    ) -> "Owed":
        """A new obligation; one that is already due is reported at once."""
        name = name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
        since = now if since_us is None else since_us
        return cls(max(due_us, now), due_us, 0, since, now, items, failed, after, name, detail)

    def note(self) -> str:
        """As it stands in the state."""
        return (
            f"{self.next_us} {self.due_us} {self.told} {self.since_us} {self.stored_us}"
            f" {self.items} {self.failed:d} {self.after} {len(self.name)} {self.name}{self.detail}"
        )

    def told_at(self, now: int, due_us: int | None = None) -> "Owed":
        """Reported once more, and again later unless it was reported often enough."""
        told = self.told + 1
        return self._replace(
            told=told,
            next_us=now + REMIND_US if told < MAX_TOLD else 0,
            due_us=self.due_us if due_us is None else min(due_us, self.due_us),
        )

    def untold(self, now: int, until_us: int) -> "Owed":
        """Reported, but nobody was notified: the report does not count, and is repeated at the given time, if any.

        Without one it is repeated, more and more rarely.
        """
        later = now + min(max(now - self.due_us, REMIND_US), _RARELY_US)
        return self._replace(told=self.told - 1, next_us=until_us or later)


def read_owed(note: str) -> Owed:
    """What `Owed.note` wrote."""
    *numbers, failed, after, length, text = note.split(" ", 9)
    next_us, due_us, told, since_us, stored_us, items = map(int, numbers)
    name = text[: int(length)]
    detail = text[int(length) :]
    return Owed(
        next_us, due_us, told, since_us, stored_us, items, failed == "1", int(after), name, detail
    )


def awaited(notes: tuple[str, ...]) -> str | None:
    """The note that is to be reported next, if any."""
    # What was reported often enough comes last.
    return notes[0] if notes and not notes[0].startswith("0 ") else None


def find(notes: tuple[str, ...], name: str) -> Owed | None:
    """The obligation of a name."""
    return next((owed for owed in map(read_owed, notes) if owed.name == name), None)


def without(notes: tuple[str, ...], name: str) -> tuple[str, ...]:
    """All but the obligation of a name."""
    if not notes:
        return notes
    return tuple(note for note in notes if read_owed(note).name != name)


def ordered(owed: Iterable[Owed]) -> tuple[str, ...]:
    """As the state keeps them: what is to be reported next comes first."""
    ranked = sorted(owed, key=lambda each: (each.next_us == 0, each.next_us, each.stored_us))
    return tuple(each.note() for each in ranked)


def within(owed: Iterable[Owed], most: int) -> tuple[tuple[str, ...], tuple[Owed, ...]]:
    """So many as are watched one by one, and the others.

    First to go is what was reported often enough, then what is due last: what is due before it must not
    be hidden by things that are due in ten years.
    """
    ranked = sorted(owed, key=lambda each: (each.next_us == 0, each.due_us))
    return ordered(ranked[:most]), tuple(ranked[most:])


def note_shown(run: str, failed: bool) -> str:
    """A run whose result was shown: a digit for whether that reported a failure, then its id."""
    return f"{failed:d}{run}"


def was_shown(notes: tuple[str, ...], run: str, *, failed: bool = False) -> bool:
    """Whether a run's result was shown; of a failure, whether it was shown as one."""
    return note_shown(run, True) in notes or (not failed and note_shown(run, False) in notes)


def put(notes: tuple[str, ...], owed: Owed) -> tuple[str, ...]:
    """With one more, or in place of the obligation of its name."""
    return ordered((*map(read_owed, without(notes, owed.name)), owed))
