"""Texts with `{{variables}}`: checked when a pack is loaded, filled in once when a rule fires.

Values go in as they are. They are never read for variables again, so an agent can't smuggle one
into an operator's notice by writing it into its own message.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lictor_policy.facts import unknown_name
from lictor_policy.position import EventPosition, from_micros
from lictor_policy.reading import claim_of, claim_type_of, message_of
from lictor_policy.state import QUALITIES, TaskState
from lictor_schema.events import Event
from lictor_schema.model import MAX_TEXT_LENGTH, utc_millis


class Situation(NamedTuple):
    """What a text can speak about."""

    state: TaskState
    event: Event
    position: EventPosition
    missing: tuple[str, ...]


Variable = Callable[[Situation], str]

_NOT_SAID = "not said"


def _time(micros: int | None) -> str:
    return "never" if micros is None else utc_millis(from_micros(micros))


def _claim_text(situation: Situation) -> str:
    claim = claim_of(situation.event)
    return _NOT_SAID if claim is None else claim.text


def _next_step(situation: Situation) -> str:
    claim = claim_of(situation.event)
    return _NOT_SAID if claim is None or claim.next_step is None else claim.next_step


VARIABLES: dict[str, Variable] = {
    "agent_id": lambda s: s.event.agent_id,
    "best_quality": lambda s: QUALITIES[s.state.best_quality].value,
    "channel": lambda s: s.state.channel,
    "claim_text": _claim_text,
    "claim_type": lambda s: claim_type_of(s.event) or "none",
    "completion_quality": lambda s: QUALITIES[s.state.completion_quality].value,
    "current_status": lambda s: s.state.status,
    "event_id": lambda s: s.event.event_id,
    "event_type": lambda s: s.event.event_type,
    "last_visible_update": lambda s: _time(s.state.last_visible_us),
    "missed_in_a_row": lambda s: str(s.state.missed_in_a_row),
    "missing_evidence": lambda s: "; ".join(s.missing) or "nothing",
    "new_evidence_items": lambda s: str(s.state.new_items),
    "next_step": _next_step,
    "original_message": lambda s: message_of(s.event) or _NOT_SAID,
    "silences_in_a_row": lambda s: str(s.state.silences_in_a_row),
    "task_id": lambda s: s.event.task_id,
    "task_title": lambda s: s.state.title or s.event.task_id,
}

_PLACE = re.compile(r"\{\{\s*([A-Za-z0-9_.]*)\s*\}\}")


_TAKEN_IN = re.compile(r"\{\{>\s*([A-Za-z0-9_.-]*)\s*\}\}")


class TemplateError(ValueError):
    """A text can't be used as a template."""


def take_in(text: str, shared: Mapping[str, str]) -> str:
    """A text with each `{{> name}}` replaced by the shared text of that name."""

    def named(place: re.Match[str]) -> str:
        name = place[1]
        if name not in shared:
            raise TemplateError(unknown_name("shared text", name, shared))
        return shared[name]

    return _TAKEN_IN.sub(named, text)


class Template:
    """A text ready to be filled in."""

    __slots__ = ("_limit", "_parts", "literal")

    def __init__(self, text: str, *, limit: int = MAX_TEXT_LENGTH) -> None:
        pieces = _PLACE.split(text)
        literals, names = pieces[::2], pieces[1::2]
        for name in names:
            if name not in VARIABLES:
                raise TemplateError(unknown_name("variable", name, VARIABLES))
        if any("{{" in literal or "}}" in literal for literal in literals):
            raise TemplateError("has braces that enclose no variable; write {{name}}")
        self.literal = "".join(literals).strip()
        """What the text says before any variable is filled in."""
        self._limit = limit
        self._parts: tuple[str | Variable, ...] = tuple(
            VARIABLES[piece] if index % 2 else piece for index, piece in enumerate(pieces) if piece
        )

    def fill(self, situation: Situation) -> str:
        """The text about a situation, cut where the schema's limit is."""
        text = "".join(part if isinstance(part, str) else part(situation) for part in self._parts)
        return text if len(text) <= self._limit else text[: self._limit - 1] + "…"
