"""Programs as they are submitted for proof, and the hash by which one is named."""

from typing import Annotated, Final, Literal, TypeGuard

from pydantic import Field, StringConstraints

from lictor_schema.core.base_model import ContentHash, Identifier, Label, Model, Positive, Timestamp
from lictor_schema.core.canonical_json import content_hash, hash_bytes
from lictor_schema.proofs.inputs import INPUTS, Inputs

MAX_PROGRAM_LENGTH = 512 * 1024
Language = Literal["python", "ir", "commands"]
"""The front-end that a program is written for."""
Executable = Literal["python", "commands"]
EXECUTABLE: tuple[Executable, ...] = ("python", "commands")


class ProgramSubmission(Model):
    """A program an agent wants to run."""

    submission_id: Identifier = Field(description="Unique id")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="The agent that submits it")
    runtime: Label | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The runtime that submits it, as its subject says; null in what was stored before 0.2",
    )
    correlation_id: Identifier = Field(description="The workflow it belongs to")
    submitted_at: Timestamp = Field(description="When it was submitted")
    language: Language = Field(
        description="The front-end it is written for; `ir` is a description, which nothing can run"
    )
    source_name: Label = Field(description="A name for messages, such as a file name")
    target: Label = Field(default="main", description="The function to prove and run")
    program: Annotated[str, StringConstraints(min_length=1, max_length=MAX_PROGRAM_LENGTH)] = Field(
        description="The program's text"
    )
    inputs: Inputs | None = Field(
        default=None, exclude_if=lambda value: value is None, description=INPUTS
    )
    layer_hash: ContentHash | None = Field(
        default=None, description="The trusted layer it was written against; null for the current"
    )
    timeout_ms: Positive | None = Field(default=None, description="Time the proof may take")


def is_executable(language: str) -> TypeGuard[Executable]:
    """Whether what was proved is what would run. An Effect IR document only tells what happens: nothing holds a program
    to it, so it is never approved or run."""
    return language in EXECUTABLE


ProgramHashOf = Literal["bytes"]
"""What a program's hash was made of: its text's bytes. Null in what older versions wrote: the text as a JSON string."""
PROGRAM_HASH_OF: Final = (
    "`bytes`: `program_hash` is the SHA-256 of the program's text in UTF-8; null in older ones: of the text as a"
    " JSON string"
)


def program_hash(program: str, of: ProgramHashOf | None = "bytes") -> str:
    """The hash of a program; with None as older versions made it, to check what they wrote and nothing else.

    The two are never taken for each other: the one of a text is the other of that text in quotes.
    """
    return content_hash(program) if of is None else hash_bytes(program.encode())
