"""Conditions over a task's own past: counts, order, running totals, time since.

Only in packs of `apiVersion: lictor/v1`. A past is made of moments: every event is one when it happens, and
one more when it is decided on.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import MAX_SAFE_INTEGER, Label, Model
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event_types import EventType

MAX_WINDOW_S = 31 * 86_400
"""The longest duration."""
MAX_COUNTED_MOMENTS = 1000
"""The largest number a count, or a total within a window, is compared with: that much is remembered."""

_DURATION = r"^[1-9][0-9]{0,6}[smhd]$"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def duration_seconds(text: str) -> int | None:
    """The seconds of a duration such as `90s`, `10m`, `2h` or `1d`; None when it is none."""
    if re.fullmatch(_DURATION, text, re.ASCII) is None:
        return None
    seconds = int(text[:-1]) * _SECONDS[text[-1]]
    return seconds if seconds <= MAX_WINDOW_S else None


DURATION_MEANING = (
    "must be a whole number with its unit, such as 90s, 10m, 2h or 1d, of at most 31 days"
)


def _is_duration(text: str) -> str:
    if duration_seconds(text) is None:
        raise PydanticCustomError("duration", DURATION_MEANING)
    return text


Duration = Annotated[
    str,
    Field(max_length=16),
    AfterValidator(_is_duration),
    WithJsonSchema({"type": "string", "pattern": _DURATION, "maxLength": 16}),
]
MomentValue = Annotated[
    bool | Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)] | Label,
    Field(union_mode="smart"),
]
Scope = Literal["task", "session"]
"""Whose past is looked at: that of the task, or that of all tasks of its session."""


class Moment(Model):
    """Which moments are meant: an event that happens, or, with `decision`, one that was decided so."""

    event: EventType | None = Field(
        default=None, description="The event's type; null, beside a decision, for any"
    )
    where: Annotated[dict[Label, MomentValue], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="Fields of the event's payload, or claim_type, and what they must be",
    )
    decision: Disposition | None = Field(
        default=None, description="What was decided about it; null for whatever was"
    )

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.event is None and self.decision is None:
            raise PydanticCustomError("moment", "must name an event or a decision")
        if self.where is not None and self.event is None:
            raise PydanticCustomError("moment", "has where without event; name the event it is of")
        return self


class CountOf(Moment):
    """How many such moments there were."""

    within: Duration | None = Field(
        default=None, description="Only those at most this long ago; null for all"
    )
    scope: Scope = Field(default="task", description="Whose past is looked at")


class SinceLast(Moment):
    """How long ago the last such moment was; never counts as longer than any duration."""

    scope: Scope = Field(default="task", description="Whose past is looked at")


class Previous(Moment):
    """Whether the event right before this one was such a moment."""

    within: Duration | None = Field(
        default=None, description="Only when it was at most this long ago; null for ever"
    )


class TotalOf(Model):
    """The sum of a measure over the events so far."""

    of: Label = Field(description="The measure")
    within: Duration | None = Field(
        default=None, description="Only of events at most this long ago; null for all"
    )


def _form(given: Any) -> str:
    return "Name" if isinstance(given, str) else "Moment"


NamedMoment = Annotated[
    Annotated[EventType, Tag("Name")] | Annotated[Moment, Tag("Moment")], Discriminator(_form)
]
"""A moment, or only the name of an event type."""


class Before(Model):
    """Whether, at the latest `then`, a `first` had come before it and no `without` in between."""

    first: NamedMoment = Field(description="What must have come first")
    then: NamedMoment = Field(description="What came after it")
    without: NamedMoment | None = Field(
        default=None, description="What must not have come between the two; null for nothing"
    )
    within: Duration | None = Field(
        default=None, description="The longest time between the two; null for any"
    )
    scope: Scope = Field(default="task", description="Whose past is looked at")


def as_moment(given: EventType | Moment) -> Moment:
    """The moment that was given, in full or by its event's name."""
    return Moment(event=given) if isinstance(given, str) else given
