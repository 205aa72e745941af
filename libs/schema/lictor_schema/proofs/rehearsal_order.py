"""What the rehearser is asked, and what it answers: the models of `lictor_prove.rehearsal.orders` on the bus.

Values are JSON as `lictor_prove.written_values` writes them. An observation tells what a program did that nobody has
approved: it is the program's own word about itself.
"""

from typing import Any, Literal

from pydantic import Field

from lictor_schema.core.base_model import Count, Identifier, Label, Model, OptionalText

Written = dict[str, Any]
"""Values by name."""


class RehearsalAnswer(Model):
    """What a trusted call returns in a run, if it is the call that is expected there."""

    effect: Label = Field(description="The trusted function")
    result: Any = Field(description="What it returns")
    error: OptionalText = Field(
        default="",
        description="The builtin class of the error that it raises instead, which the program may handle",
    )


class RehearsalRun(Model):
    """One run to make."""

    inputs: Written = Field(description="The arguments of the target, by name")
    answers: tuple[RehearsalAnswer, ...] = Field(
        description="The answers of trusted calls, in the order in which they are made"
    )
    in_order: bool = Field(
        default=True,
        description="Whether the calls are known; else the calls of one function have its answers in turn",
    )
    fails_at: Count | None = Field(
        default=None, description="The number of the call that raises, from 0; null when all return"
    )


class RehearsalOrder(Model):
    """A program, what it may import, and the runs to make of it."""

    request_id: Identifier = Field(description="Repeated in the answer")
    language: Literal["python", "commands"] = Field(description="What it is written in")
    source: str = Field(description="The program")
    source_name: str = Field(description="What it is called in messages")
    target: str = Field(description="The function that is called")
    outline: Written = Field(
        description="What each module of the layer offers, without any code of it"
    )
    runs: tuple[RehearsalRun, ...] = Field(description="The runs to make")


class RehearsedCall(Model):
    """A trusted call that the program made."""

    effect: Label = Field(description="The trusted function")
    arguments: Written = Field(description="What it was given, by name")


class RehearsedRun(Model):
    """What the program did."""

    calls: tuple[RehearsedCall, ...] = Field(description="In order")
    ended: Literal["completed", "raised", "failed", "unanswered", "limit"] = Field(
        description="At its end, by an error, at the call that fails, at a call without an answer, or by a limit"
    )
    error: str = Field(default="", description="What was raised, or which limit")
    line: Count = Field(default=0, description="Where it was raised; 0 when that is not known")


class RehearsalObservation(Model):
    """What was seen, run by run."""

    request_id: Identifier = Field(description="Of the order")
    runs: tuple[RehearsedRun, ...] = Field(description="As many as were ordered, unless refused")
    refused: OptionalText = Field(
        default="", description="Why nothing was rehearsed; empty when it was"
    )
    python: OptionalText = Field(
        default="", description="The Python of the stage, such as `cpython 3.11`"
    )
