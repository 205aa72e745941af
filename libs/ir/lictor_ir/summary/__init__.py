"""What a program may do and what is guaranteed about it, in plain words, from its Effect IR alone.

    print(summarize(document).text())

The same document gives the same text, byte for byte; documents that differ in what they mean to a reader give different
texts, also where the text had to be shortened. It tells what the document says, and proves nothing: whether the
guarantees hold is for a proof of the same document, which the last line names. Whoever has that proof says so, and the
text tells of what is proved that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lictor_ir.contracts import Anything, leaves
from lictor_ir.document import Document
from lictor_ir.goals.goal import Strength
from lictor_ir.json.document import document_hash
from lictor_ir.summary import display
from lictor_ir.summary.call_sentences import CallSentences
from lictor_ir.summary.contract_sentences import Promises
from lictor_ir.summary.layout import Room, Section, SummaryEntry, fitted
from lictor_ir.summary.unconstrained import Unconstrained, silence
from lictor_ir.validation.document import validate

__all__ = ["LEAST_LIMIT", "LEAST_LINES", "LIMIT", "LINES", "Promise", "Summary", "summarize"]

LIMIT: Final = 2_000
LINES: Final = 30
LEAST_LIMIT: Final = 1_100
LEAST_LINES: Final = 8
"""What the text needs even when everything is only counted."""

_MAX_HEAD: Final = 100
_ENDLESS: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class Promise:
    """One part of a guarantee."""

    text: str
    strength: Strength
    """For which runs it is surely promised."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A document in sentences, part by part."""

    ir_hash: str
    program: tuple[str, ...]
    """Which program it is, and what it is given."""
    unconstrained: tuple[str, ...]
    """What no guarantee limits; told first."""
    may_do: tuple[SummaryEntry, ...]
    """Every call, in order."""
    how_often: tuple[SummaryEntry, ...]
    """Each kind of call, and how often it may happen."""
    guaranteed: tuple[Promise, ...]
    relies_on: tuple[SummaryEntry, ...]
    """What trusted calls promise."""
    stops_unless: tuple[SummaryEntry, ...]
    """What must hold besides: what calls demand, what would raise, what is asserted."""
    unknown: tuple[SummaryEntry, ...] = ()
    """Values that nobody models."""
    is_proved: bool = False
    """Whether all of this was proved."""
    is_rehearsed: bool = False
    """Whether what is proved was compared with Python; whoever knows that it was says so."""

    def text(self, limit: int | None = LIMIT, *, lines: int | None = LINES) -> str:
        """The text, of at most so many characters and lines; None for all of it. ValueError when that is too few."""
        return "\n".join([*self.content(limit, lines=lines), self._fingerprint]) + "\n"

    @property
    def _fingerprint(self) -> str:
        return f"IR {self.ir_hash.removeprefix('sha256:')[: display.DIGEST_LENGTH]}"

    def content(self, limit: int | None = LIMIT, *, lines: int | None = LINES) -> list[str]:
        """The lines of the text without the last one, which names the document."""
        if limit is not None and limit < LEAST_LIMIT:
            raise ValueError(f"the limit is {limit}; a summary needs {LEAST_LIMIT} characters")
        if lines is not None and lines < LEAST_LINES:
            raise ValueError(f"the limit is {lines} lines; a summary needs {LEAST_LINES}")
        room = None
        if limit is not None or lines is not None:
            room = Room((limit or _ENDLESS) - len(self._fingerprint) - 1, (lines or _ENDLESS) - 1)
        return fitted([*self.program, *self.unconstrained], self._sections(), (), room)

    @property
    def _proved(self) -> str:
        if not self.is_proved:
            return "if proved"
        return "proved" if self.is_rehearsed else "proved, not rehearsed"

    def _sections(self) -> list[Section]:
        def promised(strength: Strength) -> tuple[SummaryEntry, ...]:
            return tuple(
                SummaryEntry(each.text) for each in self.guaranteed if each.strength == strength
            )

        return [
            Section("MAY DO, in this order, and nothing else:", self.may_do, "call"),
            Section("HOW OFTEN, or less if the run ends early:", self.how_often, "kind of call"),
            Section(
                f"GUARANTEES, {self._proved}, however early the run ends:",
                promised(Strength.EVERY_PREFIX),
                "guarantee",
            ),
            Section(
                f"GUARANTEES, {self._proved}, for runs that complete:",
                promised(Strength.ON_COMPLETION),
                "guarantee",
            ),
            Section("NOBODY KNOWS these values:", self.unknown, "unknown value"),
            Section("RELIES ON promises of trusted calls:", self.relies_on, "promise"),
            Section(
                "STOPS UNLESS, and each of these is proved to hold:"
                if self.is_proved
                else "STOPS UNLESS, and this must be proved too:",
                self.stops_unless,
                "condition",
            ),
        ]

    def __str__(self) -> str:
        return self.text()


def summarize(document: Document, proved: Sequence[Sequence[Strength]] | None = None) -> Summary:
    """The summary of a document; DocumentError for one that breaks a rule of the format.

    `proved`: of a document that is proved, for which runs each part of each guarantee was found to hold.
    """
    validate(document)
    calls = CallSentences(document)
    promises = Promises(document)
    found: Sequence[Sequence[Strength] | None] = proved or [None] * len(document.guarantees)
    effect_of = {atom.id: atom.effect for atom in document.atoms}
    return Summary(
        ir_hash=document_hash(document),
        program=tuple(_program(document)),
        unconstrained=tuple(_unconstrained(document, silence(document))),
        may_do=tuple(SummaryEntry(calls.call(atom), atom.effect) for atom in document.atoms),
        how_often=tuple(
            SummaryEntry(text, name) for name, text in calls.how_often(is_proved=proved is not None)
        ),
        guaranteed=tuple(
            Promise(text, strength)
            for guarantee, held in zip(document.guarantees, found, strict=True)
            for text, strength in promises.of(guarantee, held)
        ),
        relies_on=tuple(
            SummaryEntry(calls.promised(each), effect_of[each.call])
            for each in document.assumptions
        ),
        stops_unless=tuple(
            SummaryEntry(calls.demanded(each), effect_of.get(each.call or "", ""))
            for each in document.obligations
        ),
        unknown=tuple(SummaryEntry(calls.unknown(each)) for each in document.unknowns),
        is_proved=proved is not None,
    )


def _program(document: Document) -> list[str]:
    layer = (document.layer_hash or "").removeprefix("sha256:")[: display.DIGEST_LENGTH]
    told = f"; trusted layer {layer}" if layer else "; no trusted layer is named"
    lines = [f"PROGRAM {display.string(document.program)}, {display.name(document.target)}(){told}"]
    if document.inputs:
        inputs = [f"{display.name(each.name)}: {each.type}" for each in document.inputs]
        lines.append(f"INPUTS, any value: {display.listed(inputs, _MAX_HEAD)}")
    if not document.atoms:
        lines.append("DOES NOTHING: it makes no trusted call.")
    return lines


def _unconstrained(document: Document, found: Unconstrained) -> list[str]:
    lines: list[str] = []
    stated = (part for each in document.guarantees for part in leaves(each.contract))
    if document.atoms and all(isinstance(part, Anything) for part in stated):
        lines.append("NOTHING IS GUARANTEED about what it does.")
    if found.free:
        lines.append(f"NO GUARANTEE LIMITS: {_domains(found.free)}")
    if found.partly:
        lines.append(f"LIMITED ONLY IN PART: {_domains(found.partly)}")
    if found.unread:
        told = [
            f"{display.name(effect)}.{display.name(name)}"
            for effect, names in found.unread
            for name in names
        ]
        lines.append(
            f"NO GUARANTEE READS these arguments, which are not written out:"
            f" {display.listed(told, _MAX_HEAD)}"
        )
    if document.atoms and not lines:
        lines.append("SOME GUARANTEE LIMITS every kind of call that it makes.")
    return lines


def _domains(domains: tuple[tuple[str, str], ...]) -> str:
    plural = {"call": "calls of", "event": "events", "state": "state"}
    return display.listed(
        [f"{plural[what]} {display.name(name)}" for what, name in domains], _MAX_HEAD, between="; "
    )
