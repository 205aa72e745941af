"""What the checks of a whole log share: what they report, and the leaves they have passed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from lictor_seal import base64_text
from lictor_seal.errors import SealError
from lictor_seal.log.checkpoint import Checkpoint
from lictor_seal.log.merkle import Frontier
from lictor_seal.seal import Seal, parse_utc
from lictor_seal.trust import TrustStore
from lictor_seal.verify import count_witnesses

MAX_FINDINGS: Final = 100

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold: where, and what."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the log is, and everything that does not hold in it."""

    origin: str | None
    size: int
    root: bytes
    checkpoints: int
    hand_overs: int
    witnesses: tuple[str, ...]
    findings: tuple[Finding, ...]
    more_findings: int = 0

    @property
    def ok(self) -> bool:
        """Whether all of it held."""
        return not self.findings

    def to_json_value(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "ok": self.ok,
            "origin": self.origin,
            "size": self.size,
            "root": base64_text.encode(self.root),
            "checkpoints": self.checkpoints,
            "handOvers": self.hand_overs,
            "witnesses": list(self.witnesses),
            "findings": [{"where": each.where, "what": each.what} for each in self.findings],
            "moreFindings": self.more_findings,
        }


@dataclass
class Findings:
    """What does not hold; only so many are kept."""

    kept: list[Finding] = field(default_factory=list[Finding])
    left_out: int = 0

    def add(self, where: str, what: str) -> None:
        """One thing more."""
        if len(self.kept) < MAX_FINDINGS:
            self.kept.append(Finding(where, what))
        else:
            self.left_out += 1


class Leaves:
    """The leaves so far: their tree, the versions of each episode, and whether they pass through the known head."""

    def __init__(self, known: Checkpoint | None, findings: Findings) -> None:
        self.frontier = Frontier()
        self._known = known
        self._findings = findings
        self._versions: dict[str, tuple[int, str]] = {}
        self.sealed_at = _EARLIEST
        """When the youngest of them was sealed."""
        self._compare()

    def add(self, where: str, leaf: bytes, episode: Mapping[str, object]) -> None:
        """One more leaf."""
        self.frontier = self.frontier.append(leaf)
        self._compare()
        try:
            seal = Seal.of(episode)
        except SealError:
            return  # reported by the check of the seal itself
        self.sealed_at = max(self.sealed_at, parse_utc(seal.metadata.sealed_at))
        name, version = str(episode.get("episodeId")), seal.metadata.version
        last, last_hash = self._versions.get(name, (0, None))
        if version <= last:
            self._findings.add(where, f"version {version} of episode {name} is in the log already")
        elif version != last + 1 or seal.metadata.previous_hash != last_hash:
            self._findings.add(
                where, f"version {version} of episode {name} does not follow from version {last}"
            )
        self._versions[name] = (version, seal.hash)

    def finish(self) -> None:
        """The log has ended."""
        if self._known is not None and self.frontier.size < self._known.size:
            self._findings.add(
                "known checkpoint",
                f"the log was cut: it has {self.frontier.size} leaves, {self._known.size} were signed before",
            )

    def refuse_other_log(self, origin: str) -> None:
        """The known head must be of this log."""
        if self._known is not None and self._known.origin != origin:
            self._findings.add(
                "known checkpoint", f"it is of the log {self._known.origin}, this one is {origin}"
            )

    def _compare(self) -> None:
        known = self._known
        if known is None or self.frontier.size != known.size or self.frontier.root() == known.root:
            return
        self._findings.add(
            "known checkpoint",
            f"the first {known.size} leaves are not those that were signed before: the log was rewritten or forked",
        )


def witness_names(note: str | None, trust: TrustStore) -> tuple[str, ...]:
    """The trusted witnesses of a checkpoint, if there is one."""
    if note is None:
        return ()
    try:
        return tuple(each.witness.name for each in count_witnesses(note, trust)[0])
    except SealError:
        return ()
