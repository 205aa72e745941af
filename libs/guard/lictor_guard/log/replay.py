"""Folding a whole log in memory: when the stored fold is lost, or a snapshot's state is asked for."""

from collections.abc import Mapping

from lictor_guard.errors import SessionStateError
from lictor_guard.facts.fact import Changes, Fact, Facts
from lictor_guard.facts.state_document import state_of
from lictor_guard.log.fold import Folder
from lictor_schema.sessions.session_log import AnySessionEntry, StateKept, StateReset, StateRestored


class Replay:
    """Folds entries one after the other, and keeps a copy of the state at each snapshot on the way."""

    def __init__(self, folder: Folder, facts: Mapping[str, Fact] | None = None) -> None:
        self.facts: dict[str, Fact] = dict(facts or {})
        """Every fact there is now, by full name."""
        self._folder = folder
        self._kept: dict[int, dict[str, Fact]] = {}

    def add(self, sequence: int, entry: AnySessionEntry) -> Changes:
        """Fold one entry; SessionStateError when it names a snapshot from before the first entry given."""
        changes = self._changes(sequence, entry)
        for name, fact in changes.items():
            if fact is None:
                self.facts.pop(name, None)
            else:
                self.facts[name] = fact
        if isinstance(entry, StateKept):
            self._kept[sequence] = state_of(self.facts)
        return changes

    def state_at(self, sequence: int) -> Mapping[str, Fact]:
        """The state as of a snapshot's entry; SessionStateError when that was not among the entries given."""
        try:
            return self._kept[sequence]
        except KeyError:
            raise SessionStateError(
                f"no snapshot at sequence {sequence} in what was folded; fold the log from its begin"
            ) from None

    def _changes(self, sequence: int, entry: AnySessionEntry) -> Changes:
        if isinstance(entry, StateReset | StateRestored):
            asked = entry.to_sequence if isinstance(entry, StateRestored) else None
            kept: Mapping[str, Fact] = {} if asked is None else self.state_at(asked)
            return self._folder.fold_whole(entry, self.facts, kept)
        names = self._folder.names(entry)
        return self._folder.fold(
            entry, sequence, Facts({name: self.facts.get(name) for name in names})
        )
