"""History: what is stored of a runtime's own, asked for page by page."""

from base64 import b64decode
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import Count, Identifier, Label, Model, Positive, Text
from lictor_schema.services.dead_letter import DeadLetter

MAX_PAGE = 1000
"""So many messages are searched for one answer at most."""


class HistoryFilter(Model):
    """Which messages of a kind; all of the runtime's, where nothing is given."""

    task_id: Identifier | None = Field(
        default=None, description="Of this task (`dec`, `proof`, `run`, `rcpt`)"
    )
    id: Identifier | None = Field(
        default=None,
        description="Of this session (`guide`), request (`appr`), run (`run`), episode (`ep`) or decision record"
        " (`rcpt`)",
    )
    with_gates: bool = Field(
        default=False, description="`dec`: also what the tool and stop gates decided"
    )


class HistoryRequest(Model):
    """The next messages of one kind, please."""

    request_id: Identifier = Field(description="Unique id; the answer repeats it")
    runtime: Label = Field(description="The asking runtime")
    only: HistoryFilter = Field(default=HistoryFilter(), description="Which messages")
    after: Count = Field(default=0, description="Those behind this sequence of the stream")
    limit: Annotated[int, Field(ge=0, le=MAX_PAGE)] = Field(
        default=100, description="How many to search at most; 0 asks only where the stream ends"
    )
    offset: Count = Field(
        default=0,
        description="Of the first message, what is behind so many bytes: the rest of one that did not fit",
    )


class HistoryMessage(Model):
    """A stored message, or a part of one that does not fit into an answer."""

    subject: Text = Field(description="Where it is stored")
    sequence: Positive = Field(description="Its place in the stream")
    stored_at_us: Count = Field(description="When the broker stored it, in microseconds since 1970")
    message_id: str | None = Field(default=None, description="Its message id")
    size: Count = Field(description="The length of its body in bytes")
    offset: Count = Field(default=0, description="Where in the body this part begins")
    text: str | None = Field(default=None, description="The whole body, if it is UTF-8")
    base64: str | None = Field(default=None, description="The body, or a part of it, else")

    @property
    def body(self) -> bytes:
        """The bytes in it; ValueError for what is not base64."""
        if self.text is not None:
            return self.text.encode()
        return b64decode(self.base64 or "", validate=True)


class HistoryAnswer(Model):
    """A page of history."""

    request_id: Identifier = Field(description="The question")
    messages: Annotated[tuple[HistoryMessage, ...], Field(max_length=MAX_PAGE)] = Field(
        default=(), description="In the order of the stream; the last may be a part"
    )
    last: Count = Field(
        default=0,
        description="How far the stream was searched: the next question says it as `after`; with a part, the place"
        " before it",
    )
    is_cut: bool = Field(
        default=False,
        description="Whether there is more to search at once; that nothing more is stored only an answer without"
        " messages and without this says",
    )
    policy_id: Identifier | None = Field(default=None, description="What refused the question")
    reason: Text | None = Field(default=None, description="Why it was refused")
    remedy: Text | None = Field(default=None, description="What to do then")

    @model_validator(mode="after")
    def _a_refusal_holds_nothing(self) -> Self:
        given = [each is not None for each in (self.policy_id, self.reason, self.remedy)]
        if any(given) and (not all(given) or self.messages):
            raise PydanticCustomError(
                "history_refusal",
                "a refusal has policy_id, reason and remedy, and no messages",
            )
        return self


class PublishedRequest(Model):
    """What became of a message that this runtime published?"""

    request_id: Identifier = Field(description="Unique id; the answer repeats it")
    runtime: Label = Field(description="The asking runtime")
    sequence: Positive = Field(description="Where the broker said that it is stored")


class SetAside(Model):
    """A service could not process it."""

    service: Label = Field(description="Which one")
    reason: Text = Field(description="Why")
    remedy: Text = Field(description="What to do about it")
    letter: Positive = Field(description="The sequence of the dead letter")

    @classmethod
    def of(cls, sequence: int, letter: DeadLetter) -> Self:
        """What a dead letter tells its sender."""
        return cls(
            service=letter.service, reason=letter.reason, remedy=letter.remedy, letter=sequence
        )


class PublishedAnswer(Model):
    """Whether it is this runtime's, and whether it was set aside."""

    request_id: Identifier = Field(description="The question")
    is_own: bool = Field(
        default=False,
        description="Whether what is stored there is on a subject of the asking runtime; of others nothing is said",
    )
    message_id: str | None = Field(default=None, description="Its message id")
    set_aside: SetAside | None = Field(default=None, description="The first dead letter about it")
    policy_id: Identifier | None = Field(default=None, description="What refused the question")
    reason: Text | None = Field(default=None, description="Why it was refused")
    remedy: Text | None = Field(default=None, description="What to do then")
