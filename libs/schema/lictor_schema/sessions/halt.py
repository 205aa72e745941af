"""Halts: an operator denies every further call of a session, of an agent, or of everybody, until it is resumed."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import Identifier, Label, Model, Positive, Text, UuidText
from lictor_schema.services.desk_answer import DeskAnswer

HaltScope = Literal["session", "agent", "all"]
HaltKind = Literal["halted", "resumed"]


class HaltTarget(Model):
    """What is halted, or resumed."""

    scope: HaltScope = Field(
        description="One session; every session of an agent definition, whatever its version; or all."
        " The last two also bind sessions that begin later"
    )
    runtime: Label | None = Field(default=None, description="The session's runtime; else null")
    session_id: Identifier | None = Field(default=None, description="The session; else null")
    definition: Label | None = Field(
        default=None, description="Name of the agent definition; else null"
    )

    @model_validator(mode="after")
    def _named_as_its_scope_says(self) -> Self:
        named = (self.runtime is not None, self.session_id is not None, self.definition is not None)
        wanted = {"session": (True, True, False), "agent": (False, False, True)}
        if named != wanted.get(self.scope, (False, False, False)):
            raise PydanticCustomError(
                "halt_target",
                "scope session needs runtime and session_id, scope agent needs definition, and"
                " nothing else may be given",
            )
        return self


class HaltOrder(Model):
    """An operator halts something, or lets it go on."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    order: HaltKind = Field(description="What is ordered")
    target: HaltTarget = Field(description="For whom")
    by: Identifier = Field(description="Who orders it")
    reason: Text = Field(description="Why; the agent reads it")


class HaltEntry(Model):
    """An order as it is kept; the last one about a target counts."""

    entry_id: UuidText = Field(description="Id of the order, and of this entry and its message")
    kind: HaltKind = Field(description="What happened")
    target: HaltTarget = Field(description="To whom")
    at_us: Positive = Field(description="When, in microseconds since 1970")
    by: Identifier = Field(description="Who ordered it")
    reason: Text = Field(description="Why")


class HaltAnswer(DeskAnswer):
    """What came of the order; `state` says whether calls of its target are denied now."""

    still: tuple[Text, ...] = Field(
        default=(), description="What else halts the session, or every session of the agent"
    )


class HaltNews(Model):
    """Somebody turned the kill-switch of governed decisions: the tool gates must look at it before they allow more."""

    request_id: Identifier = Field(description="Unique id; the answer repeats it")


class HaltNewsAnswer(Model):
    """Whether every later call is judged by it."""

    request_id: Identifier = Field(description="The question")
    known: bool = Field(description="Whether no instance allows a call without having looked")
    problem: Text | None = Field(default=None, description="Why not")
