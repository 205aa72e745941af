"""A tool call that waits for a person: what is asked, what was looked at, and by what it is bound.

The session's log says that a call was asked about; the request is made from it, and is about exactly that call in that
session. The parameters and the files stand in the request, for whoever decides; their hashes stand in the binding.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    ContentHash,
    Identifier,
    Label,
    Model,
    Positive,
    UtcMillis,
    UuidText,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import call_request_id
from lictor_schema.sessions.session_questions import CallAsks, Params, Resources


class CallBinding(Model):
    """What an approval of a call is about. If any of this is another, it is an approval of something else."""

    kind: Literal["call"] = Field(default="call", description="Tells it from the other kinds")
    runtime: Label = Field(description="The runtime whose session it is")
    session_id: Identifier = Field(description="The session")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="The agent that wants to call; it never approves")
    definition: Label = Field(description="Name of the agent definition that asked")
    definition_hash: ContentHash = Field(description="Its version")
    tool: Label = Field(description="The tool")
    params_hash: ContentHash = Field(description="Its parameters")
    resources_hash: ContentHash = Field(
        description="The files that the parameters name, as they were when it was asked"
    )
    asks_hash: ContentHash = Field(description="Which policies asked, why, and who must decide")
    number: Positive = Field(description="Which request of its session it is, counted from 1")


class CallApprovalRequest(Model):
    """A tool call waits for somebody to let it be made."""

    kind: Literal["call"] = Field(default="call", description="Tells it from the other kinds")
    request_id: UuidText = Field(description="Of the binding; the same in every replay")
    binding: CallBinding = Field(description="What an approval is about")
    binding_hash: ContentHash = Field(description="Its hash, which every decision names")
    call_id: Identifier = Field(description="The call that was asked about first")
    params: Params = Field(description="The tool's parameters")
    resources: Resources = Field(default=(), description="The files that they name")
    asks: CallAsks = Field(description="Which policies asked, why, and who must decide")
    requested_at: UtcMillis = Field(description="When it was asked for")
    expires_at: UtcMillis = Field(description="Until when somebody may decide")

    @model_validator(mode="after")
    def _shows_what_it_binds(self) -> Self:
        shown = (
            content_hash(self.binding),
            params_hash(self.params),
            resources_hash(self.resources),
            asks_hash(self.asks),
        )
        bound = (
            self.binding_hash,
            self.binding.params_hash,
            self.binding.resources_hash,
            self.binding.asks_hash,
        )
        if shown != bound:
            raise PydanticCustomError(
                "approval_binding",
                "the hashes must be those of binding, parameters, resources and asks",
            )
        if self.request_id != call_request_id(self.binding_hash):
            raise PydanticCustomError("approval_id", "request_id must be that of the binding")
        return self

    @classmethod
    def of(
        cls,
        binding: CallBinding,
        *,
        call_id: str,
        params: Params,
        resources: Resources,
        asks: CallAsks,
        requested_at: str,
        expires_at: str,
    ) -> Self:
        """The request for what is bound."""
        binding_hash = content_hash(binding)
        return cls(
            request_id=call_request_id(binding_hash),
            binding=binding,
            binding_hash=binding_hash,
            call_id=call_id,
            params=params,
            resources=resources,
            asks=asks,
            requested_at=requested_at,
            expires_at=expires_at,
        )


def params_hash(params: Params) -> str:
    """Of the parameters of a call, whoever spells them in whichever order."""
    return content_hash(params)


def resources_hash(resources: Resources) -> str:
    """Of the files of a call, as an adapter saw them."""
    return content_hash([each.model_dump(mode="json") for each in resources])


def asks_hash(asks: CallAsks) -> str:
    """Of what policies asked."""
    return content_hash([each.model_dump(mode="json") for each in asks])


class CallPermission(Model):
    """The approval by which a call was allowed, as it stands in the session's log, and so in the sealed episode."""

    request: CallApprovalRequest = Field(description="What was asked")
    signed: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=256 * 1024)], ...],
        Field(min_length=1, max_length=64),
    ] = Field(
        description="The signed decisions of those who approved it, in their order, with the delegations that they"
        " rest on"
    )
    reusable: bool = Field(
        default=False, description="Whether it is good for the same call again, in this session"
    )
    settled_at: UtcMillis | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Until when people were waited for, by the clock of the approval service",
    )
    until: UtcMillis | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Until when it was good; null where an older version wrote this",
    )
