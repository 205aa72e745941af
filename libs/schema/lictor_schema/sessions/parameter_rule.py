"""What one parameter of a tool may hold, wherever a definition says so."""

from typing import Annotated

from pydantic import Field

from lictor_schema.core.base_model import Label, Model, Text
from lictor_schema.sessions.definition_names import Pattern


class ParameterRule(Model):
    """What one parameter may hold. Text is matched as it is, other values as JSON, files by their keys."""

    param: Label = Field(description="The parameter; `a.b` for one inside another")
    allow: Annotated[tuple[Pattern, ...], Field(max_length=64)] = Field(
        default=(), description="One of these must match the whole value; none given: anything"
    )
    deny: Annotated[tuple[Pattern, ...], Field(max_length=64)] = Field(
        default=(), description="None of these may match anywhere in it"
    )
    required: bool = Field(default=False, description="Whether a call without it is denied")
    remedy: Text | None = Field(default=None, description="What to tell the agent")


ParameterRules = Annotated[tuple[ParameterRule, ...], Field(max_length=64)]
"""Rules that hold together."""
