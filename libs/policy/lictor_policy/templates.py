"""Texts with `{{variables}}`: checked when a pack is loaded, filled in once when a rule fires.

Values go in as they are. They are never read for variables again, so an agent can't smuggle one
into an operator's notice by writing it into its own message.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lictor_policy.facts import unknown_name
from lictor_policy.obligations import Owed, find
from lictor_policy.owed_facts import due_promise, named_run, unreported_failures
from lictor_policy.position import EventPosition, from_micros
from lictor_policy.reading import (
    CHECKPOINT_ANSWERS,
    answers_given,
    claim_of,
    claim_type_of,
    message_of,
    structure_of,
)
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
_NOT_GIVEN = "not given"


def _time(micros: int | None) -> str:
    return "never" if micros is None else utc_millis(from_micros(micros))


def _claim_text(situation: Situation) -> str:
    claim = claim_of(situation.event)
    return _NOT_SAID if claim is None else claim.text


def _next_step(situation: Situation) -> str:
    claim = claim_of(situation.event)
    return _NOT_SAID if claim is None or claim.next_step is None else claim.next_step


def _answer(name: str) -> Variable:
    def given(situation: Situation) -> str:
        structure = structure_of(situation.event)
        if structure is None or name not in answers_given(situation.event):
            return _NOT_GIVEN
        return str(getattr(structure, name))

    return given


def _missing_answers(situation: Situation) -> str:
    given = answers_given(situation.event)
    missing = (what for name, what in CHECKPOINT_ANSWERS.items() if name not in given)
    return "; ".join(missing) or "none"


def _promise(situation: Situation) -> Owed | None:
    return due_promise(situation.state, situation.event, situation.position)


def _promised(situation: Situation) -> str:
    promise = _promise(situation)
    return "nothing that is due" if promise is None else promise.name


def _promised_by(situation: Situation) -> str:
    promise = _promise(situation)
    return "no time" if promise is None else _time(promise.due_us)


def _run(situation: Situation) -> str:
    return named_run(situation.event) or "no single child"


def _failure(situation: Situation) -> str:
    event = situation.event
    match event.event_type:
        case "subagent_spawn_failed":
            return event.payload.error
        case "subagent_completed":
            return event.payload.error or event.payload.summary or _NOT_SAID
        case _:
            return _NOT_SAID


def _child_due(situation: Situation) -> str:
    """When what the named child owes was due: its result, or the sight of it."""
    state = situation.state
    run = named_run(situation.event) or ""
    owed = find(state.results, run) or find(state.runs, run)
    return "no set time" if owed is None else _time(owed.due_us)


def _owed(situation: Situation) -> str:
    """The overdue thing that the event tells of."""
    run = named_run(situation.event)
    if run is not None:
        return f"child {run}, due {_child_due(situation)}"
    promise = _promise(situation)
    return "a report" if promise is None else f'"{promise.name}", due {_time(promise.due_us)}'


VARIABLES: dict[str, Variable] = {
    **{f"answer_{name}": _answer(name) for name in CHECKPOINT_ANSWERS},
    "agent_id": lambda s: s.event.agent_id,
    "best_quality": lambda s: QUALITIES[s.state.best_quality].value,
    "channel": lambda s: s.state.channel,
    "child_due": _child_due,
    "child_failure": _failure,
    "child_run": _run,
    "claim_text": _claim_text,
    "claim_type": lambda s: claim_type_of(s.event) or "none",
    "completion_quality": lambda s: QUALITIES[s.state.completion_quality].value,
    "current_status": lambda s: s.state.status,
    "event_id": lambda s: s.event.event_id,
    "event_type": lambda s: s.event.event_type,
    "last_visible_update": lambda s: _time(s.state.last_visible_us),
    "missed_in_a_row": lambda s: str(s.state.missed_in_a_row),
    "missing_answers": _missing_answers,
    "missing_evidence": lambda s: "; ".join(s.missing) or "nothing",
    "new_evidence_items": lambda s: str(s.state.new_items),
    "next_step": _next_step,
    "original_message": lambda s: message_of(s.event) or _NOT_SAID,
    "owed": _owed,
    "promised": _promised,
    "promised_by": _promised_by,
    "silences_in_a_row": lambda s: str(s.state.silences_in_a_row),
    "status_only_in_a_row": lambda s: str(s.state.status_only_in_a_row),
    "task_id": lambda s: s.event.task_id,
    "times_told": lambda s: str(s.state.times_told),
    "unforwarded_results": lambda s: str(len(s.state.results) + s.state.results_untracked),
    "unreported_failures": lambda s: str(unreported_failures(s.state)),
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

    __slots__ = ("_form", "_limit", "_variables", "literal")

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
        # One formatting of the whole is twice as fast as joining the pieces.
        self._form = "%s".join(literal.replace("%", "%%") for literal in literals)
        self._variables: tuple[Variable, ...] = tuple(VARIABLES[name] for name in names)

    def fill(self, situation: Situation) -> str:
        """The text about a situation, cut where the schema's limit is."""
        text = self._form % tuple([variable(situation) for variable in self._variables])
        return text if len(text) <= self._limit else text[: self._limit - 1] + "…"
