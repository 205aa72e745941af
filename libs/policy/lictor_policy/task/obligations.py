"""What a task owes besides its regular reports, and how often it was told so.

Promised follow-ups, children's results that the operator is to see, and children expected back by a
time. Each is one string in the task's state, because state is decoded for every event and these are
needed for few; of each kind a bounded number is kept, the earliest due first.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lictor_schema.core.time import SECOND_US

MAX_OWED = 64
"""How many of a kind are watched one by one, the earliest due; the others are only counted, and the
operator is told that there are such."""
MAX_PROMISES = 8
MAX_TOLD = 3
"""So often is the operator told that something is overdue; then it has long gone to a human."""
REMIND_US = 5 * 60 * SECOND_US
"""The time between two tellings, and the time a child's result may wait when nobody set one."""
_RARELY_US = 60 * 60 * SECOND_US
_MAX_NAME = 512


class Owed(NamedTuple):
    """One thing owed. Times are microseconds since 1970."""

    next_us: int
    """When it is to be told next; 0 when it was told often enough."""
    due_us: int
    told: int
    since_us: int
    """When it arose, as its runtime tells it."""
    stored_us: int
    """When it arose, as the broker tells it."""
    items: int
    """Evidence items the task had then."""
    failed: bool
    """Whether it is a result that tells of a failure."""
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
        """Something owed from now on; what is already due is told at once."""
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
        """Told once more, and to be told again later unless it was told often enough."""
        told = self.told + 1
        return self._replace(
            told=told,
            next_us=now + REMIND_US if told < MAX_TOLD else 0,
            due_us=self.due_us if due_us is None else min(due_us, self.due_us),
        )

    def untold(self, now: int, until_us: int) -> "Owed":
        """Told, but nobody heard it: told once less, and again at the given time, if there is one.

        Without one it is told again and again, more and more rarely.
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
    """The note that is to be told next, if any is."""
    # What was told often enough stands last.
    return notes[0] if notes and not notes[0].startswith("0 ") else None


def find(notes: tuple[str, ...], name: str) -> Owed | None:
    """What is owed under a name."""
    return next((owed for owed in map(read_owed, notes) if owed.name == name), None)


def without(notes: tuple[str, ...], name: str) -> tuple[str, ...]:
    """All but what is owed under a name."""
    if not notes:
        return notes
    return tuple(note for note in notes if read_owed(note).name != name)


def ordered(owed: Iterable[Owed]) -> tuple[str, ...]:
    """As the state keeps them: what is to be told next stands first."""
    ranked = sorted(owed, key=lambda each: (each.next_us == 0, each.next_us, each.stored_us))
    return tuple(each.note() for each in ranked)


def within(owed: Iterable[Owed], most: int) -> tuple[tuple[str, ...], tuple[Owed, ...]]:
    """So many as are watched one by one, and the others.

    Let go first is what was told often enough, then what is due last: what is due before it must not
    be hidden by things that are due in ten years.
    """
    ranked = sorted(owed, key=lambda each: (each.next_us == 0, each.due_us))
    return ordered(ranked[:most]), tuple(ranked[most:])


def note_shown(run: str, failed: bool) -> str:
    """A run whose result was shown: a digit for whether that told of a failure, then its id."""
    return f"{failed:d}{run}"


def was_shown(notes: tuple[str, ...], run: str, *, failed: bool = False) -> bool:
    """Whether a run's result was shown; of a failure, whether it was shown as one."""
    return note_shown(run, True) in notes or (not failed and note_shown(run, False) in notes)


def put(notes: tuple[str, ...], owed: Owed) -> tuple[str, ...]:
    """With one more, or in the place of what is owed under its name."""
    return ordered((*map(read_owed, without(notes, owed.name)), owed))
