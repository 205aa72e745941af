"""Dead letters: what could not be processed, and why."""

from typing import Annotated

from pydantic import Field

from lictor_schema.core.base_model import (
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    Text,
    Timestamp,
)
from lictor_schema.errors import FieldProblem


class DeadLetter(Model):
    """Why a message was set aside; the message itself travels verbatim beside this."""

    service: Label = Field(description="The service that gave up on it")
    stream: Label = Field(description="The stream it came from")
    subject: Annotated[str, Field(min_length=1, max_length=4096)] = Field(
        description="The subject it came on"
    )
    sequence: Count = Field(description="Its sequence in that stream; 0 when it had none")
    message_id: Identifier | None = Field(default=None, description="Its message id, if it had one")
    received_at: Timestamp = Field(description="When the broker received it")
    problems: Annotated[tuple[FieldProblem, ...], Field(max_length=100)] = Field(
        default=(), description="What is wrong, field by field"
    )
    reason: Text = Field(description="Why it was set aside, in a sentence")
    remedy: Text = Field(description="What to do about it")
    body_size: Count = Field(description="Size of the message in bytes")
    body_sha256: ContentHash = Field(description="Hash of the message's exact bytes")
