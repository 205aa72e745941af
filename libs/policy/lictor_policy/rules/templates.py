"""Texts with `{{variables}}`: checked when a pack is loaded, filled in once when a rule fires.

Values are never read for variables again, so an agent can't smuggle one into an operator's notice by
writing it into its own message. An agent's own words go in as a quotation: in quotation marks, unless the text has put
them there, without what can't be seen, and cut where they are long. Only the message that a text is about stays whole.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from lictor_policy.conditions.facts import unknown_name
from lictor_policy.conditions.obligation_facts import (
    due_promise,
    named_run,
    unforwarded_results,
    unreported_failures,
)
from lictor_policy.events.content import (
    CHECKPOINT_ANSWERS,
    answers_given,
    claim_of,
    claim_type_of,
    message_of,
    structure_of,
)
from lictor_policy.events.position import EventPosition
from lictor_policy.rules.agent_text import (
    MAX_WORDS,
    is_whole,
    name,
    quoted,
    shortened,
    visible,
    whole,
    within_quotes,
)
from lictor_policy.task.obligations import Owed, find, read_owed
from lictor_policy.task.state import QUALITIES, TaskState
from lictor_schema.core.base_model import MAX_TEXT_LENGTH, utc_millis
from lictor_schema.core.time import from_micros
from lictor_schema.events.event import Event


class TemplateContext(NamedTuple):
    """What a text can speak about."""

    state: TaskState
    event: Event
    position: EventPosition
    missing: tuple[str, ...]


Variable = Callable[[TemplateContext], str]


class Words(NamedTuple):
    """A variable that an agent's own words are put in for."""

    said: Callable[[TemplateContext], str | None]
    otherwise: str = "not said"
    """What stands there when it said nothing, or nothing that can be seen."""
    kept_whole: bool = False

    def as_quotation(self, situation: TemplateContext) -> str:
        """The words in quotation marks."""
        text = self.said(situation) or ""
        return (whole(text) if self.kept_whole else quoted(text)) or self.otherwise

    def between_quotes(self, situation: TemplateContext) -> str:
        """The words for a place that has quotation marks around it."""
        longest = None if self.kept_whole else MAX_WORDS
        return within_quotes(self.said(situation) or "", longest) or self.otherwise


def _time(micros: int | None) -> str:
    return "never" if micros is None else utc_millis(from_micros(micros))


def _title(situation: TemplateContext) -> str:
    return situation.state.title or situation.event.task_id


def _message(situation: TemplateContext) -> str | None:
    return message_of(situation.event)


def _claim_text(situation: TemplateContext) -> str | None:
    claim = claim_of(situation.event)
    return None if claim is None else claim.text


def _next_step(situation: TemplateContext) -> str | None:
    claim = claim_of(situation.event)
    return None if claim is None else claim.next_step


def _answer(field: str) -> Words:
    def given(situation: TemplateContext) -> str | None:
        if field not in answers_given(situation.event):
            return None
        return str(getattr(structure_of(situation.event), field))

    return Words(given, "not given")


def _missing_answers(situation: TemplateContext) -> str:
    given = answers_given(situation.event)
    missing = (what for field, what in CHECKPOINT_ANSWERS.items() if field not in given)
    return "; ".join(missing) or "none"


def _promise(situation: TemplateContext) -> Owed | None:
    return due_promise(situation.state, situation.event, situation.position)


def _promised(situation: TemplateContext) -> str | None:
    promise = _promise(situation)
    return None if promise is None else promise.name


def _promised_by(situation: TemplateContext) -> str:
    promise = _promise(situation)
    return "no time" if promise is None else _time(promise.due_us)


def _open_promise(situation: TemplateContext) -> Owed | None:
    """The promise that is due first of those that are open, due or not."""
    promises = map(read_owed, situation.state.promises)
    return min(promises, key=lambda owed: owed.due_us, default=None)


def _open_promised(situation: TemplateContext) -> str | None:
    promise = _open_promise(situation)
    return None if promise is None else promise.name


def _open_promised_by(situation: TemplateContext) -> str:
    promise = _open_promise(situation)
    return "no time" if promise is None else _time(promise.due_us)


def _run(situation: TemplateContext) -> str:
    run = named_run(situation.event)
    return "no single child" if run is None else name(run)


def _failure(situation: TemplateContext) -> str | None:
    event = situation.event
    match event.event_type:
        case "subagent_spawn_failed":
            return event.payload.error
        case "subagent_completed":
            return event.payload.error or event.payload.summary
        case _:
            return None


def _child_due(situation: TemplateContext) -> str:
    """When the named child's obligation was due: its result, or showing it."""
    state = situation.state
    run = named_run(situation.event) or ""
    owed = find(state.results, run) or find(state.runs, run)
    return "no set time" if owed is None else _time(owed.due_us)


def _owed(situation: TemplateContext) -> str:
    """The overdue obligation that the event reports."""
    run = named_run(situation.event)
    if run is not None:
        return f"child {name(run)}, due {_child_due(situation)}"
    promise = _promise(situation)
    if promise is None:
        return "a report"
    return f"{quoted(promise.name)}, due {_time(promise.due_us)}"


VARIABLES: dict[str, Variable | Words] = {
    **{f"answer_{field}": _answer(field) for field in CHECKPOINT_ANSWERS},
    "agent_id": lambda s: name(s.event.agent_id),
    "best_quality": lambda s: QUALITIES[s.state.best_quality].value,
    "channel": lambda s: visible(s.state.channel),
    "child_due": _child_due,
    "child_failure": Words(_failure),
    "child_run": _run,
    "claim_text": Words(_claim_text),
    "claim_type": lambda s: claim_type_of(s.event) or "none",
    "completion_quality": lambda s: QUALITIES[s.state.completion_quality].value,
    "current_status": lambda s: s.state.status,
    "event_id": lambda s: name(s.event.event_id),
    "event_type": lambda s: s.event.event_type,
    "last_visible_update": lambda s: _time(s.state.last_visible_us),
    "missed_in_a_row": lambda s: str(s.state.missed_in_a_row),
    "missing_answers": _missing_answers,
    "missing_evidence": lambda s: "; ".join(s.missing) or "nothing",
    "new_evidence_items": lambda s: str(s.state.new_items),
    "next_step": Words(_next_step),
    "open_promise": Words(_open_promised, "nothing"),
    "open_promise_by": _open_promised_by,
    "original_message": Words(_message, kept_whole=True),
    "owed": _owed,
    "promised": Words(_promised, "nothing that is due"),
    "promised_by": _promised_by,
    "silences_in_a_row": lambda s: str(s.state.silences_in_a_row),
    "status_only_in_a_row": lambda s: str(s.state.status_only_in_a_row),
    "task_id": lambda s: name(s.event.task_id),
    "times_told": lambda s: str(s.state.times_told),
    "unforwarded_results": lambda s: str(unforwarded_results(s.state)),
    "unreported_failures": lambda s: str(unreported_failures(s.state)),
    "task_title": Words(_title, "untitled"),
}

_PLACE = re.compile(r"\{\{\s*([A-Za-z0-9_.]*)\s*\}\}")


_TAKEN_IN = re.compile(r"\{\{>\s*([A-Za-z0-9_.-]*)\s*\}\}")


class TemplateError(ValueError):
    """A text can't be used as a template."""


def take_in(text: str, shared: Mapping[str, str]) -> str:
    """A text with each `{{> name}}` replaced by the shared text of that name."""

    def named(place: re.Match[str]) -> str:
        called = place[1]
        if called not in shared:
            raise TemplateError(unknown_name("shared text", called, shared))
        return shared[called]

    return _TAKEN_IN.sub(named, text)


class Template:
    """A text ready to be filled in."""

    __slots__ = ("_form", "_limit", "_messages", "_opening", "_variables", "literal", "text")

    def __init__(self, text: str, *, limit: int = MAX_TEXT_LENGTH) -> None:
        pieces = _PLACE.split(text)
        literals, names = pieces[::2], pieces[1::2]
        for called in names:
            if called not in VARIABLES:
                raise TemplateError(unknown_name("variable", called, VARIABLES))
        if any("{{" in literal or "}}" in literal for literal in literals):
            raise TemplateError("has braces that enclose no variable; write {{name}}")
        self.text = text
        """As it was written."""
        self.literal = "".join(literals).strip()
        """What the text says before any variable is filled in."""
        self._limit = limit
        self._opening = literals[0]
        # One formatting of the whole is twice as fast as joining the pieces.
        self._form = "%s".join(literal.replace("%", "%%") for literal in literals)
        self._variables: tuple[Variable, ...] = tuple(
            _in_place(VARIABLES[called], before, after)
            for called, before, after in zip(names, literals, literals[1:], strict=False)
        )
        self._messages = tuple(
            index for index, called in enumerate(names) if called == "original_message"
        )

    def mentions(self, name: str, event_types: Collection[str]) -> bool:
        """Whether the text names an event type or a thing, in a rule that looks at these event types."""
        variables = set(_PLACE.split(self.text)[1::2])
        # {{event_type}} names the event that the rule fires on.
        if name in variables or ("event_type" in variables and name in event_types):
            return True
        words = _PLACE.sub(" ", self.text).lower()
        return name.lower() in words or name.replace("_", " ").lower() in words

    def fill(self, situation: TemplateContext) -> str:
        """The text about a situation, cut where the schema's limit is."""
        values = [variable(situation) for variable in self._variables]
        text = self._form % tuple(values)
        if len(text) <= self._limit:
            return text.rstrip("\n")
        # What we say must stay; the message is on record anyway.
        over = len(text) - self._limit
        for index in self._messages:
            values[index] = shortened(values[index], max(2, len(values[index]) - over))
        text = self._form % tuple(values)
        return text if len(text) <= self._limit else text[: self._limit - 1] + "…"

    def is_filled_by(self, message: str, situation: TemplateContext) -> bool:
        """Whether a message is already this text about the situation, around some other message.

        An agent that publishes the text we gave it must not get it wrapped once more. Only what we could have
        written ourselves is taken for it.
        """
        if len(self._messages) != 1 or not message.startswith(self._opening):
            return False
        values = [variable(situation) for variable in self._variables]
        values[self._messages[0]] = "\0"
        before, _, after = (self._form % tuple(values)).partition("\0")
        words = message[len(before) : len(message) - len(after)]
        return message == before + words + after and is_whole(words)


def _in_place(variable: Variable | Words, before: str, after: str) -> Variable:
    """How a variable is put in between two pieces of text."""
    if not isinstance(variable, Words):
        return variable
    has_quotes = before.endswith('"') and after.startswith('"')
    return variable.between_quotes if has_quotes else variable.as_quotation
