"""Erasing what an episode covers: the order, its answer, and what remains to be read of it."""

from typing import Annotated

from pydantic import Field, StringConstraints

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    Positive,
    Text,
    UtcMillis,
    UuidText,
)
from lictor_schema.services.desk_answer import DeskAnswer

ErasedPart = Annotated[
    str,
    StringConstraints(
        pattern=r"^(records|events|decision|switch|guard|proofs|runs|gates|receipts|session)(:[1-9][0-9]{0,15})?$"
    ),
]
"""A strand, or one message of it by its sequence in its stream: `gates`, `gates:17`."""


class ErasureOrder(Model):
    """An operator has the stored messages of a sealed episode erased; the seal stays valid."""

    request_id: UuidText = Field(description="Unique id; asking again with it completes the same")
    episode_id: Identifier = Field(description="The episode, in all its versions")
    by: Identifier = Field(description="Who orders it; never the actor of the episode")
    reason: Text = Field(description="Why; every bundle says so from then on")
    parts: Annotated[tuple[ErasedPart, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(),
        description="Strands or single messages, each of which must be there; none: everything",
    )
    dry_run: bool = Field(default=False, description="Whether to tell only what would be erased")


class NamedStrand(Model):
    """What an order to erase names of one strand."""

    strand: Label = Field(description="The strand")
    carried: Count = Field(description="How many messages would be erased")
    erased: Count = Field(description="How many were erased before")


class ErasureAnswer(DeskAnswer):
    """What came of the order to erase."""

    erased: Count | None = Field(
        default=None, description="How many messages were erased by this order, or would be"
    )
    already: Count | None = Field(
        default=None, description="How many messages that it names were erased by other orders"
    )
    strands: tuple[NamedStrand, ...] = Field(
        default=(), description="With `dry_run`: what the order names, by strand"
    )


class ErasureEntry(Model):
    """That an erasure was ordered; stored before anything is erased, and never erased itself."""

    entry_id: UuidText = Field(description="The order's request id; also the message id")
    episode_id: Identifier = Field(description="The episode")
    by: Identifier = Field(description="Who ordered it")
    reason: Text = Field(description="Why")
    parts: Annotated[tuple[ErasedPart, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Strands or single messages; none: everything"
    )
    erased_at: UtcMillis = Field(description="When the sealer took the order")


class Erasure(Model):
    """What the sealer signs in place of messages that it erased from one part of an episode."""

    request_id: UuidText = Field(description="The order")
    episode_id: Identifier = Field(description="The episode")
    by: Identifier = Field(description="Who ordered it")
    reason: Text = Field(description="Why")
    erased_at: UtcMillis = Field(description="When the sealer took the order")
    count: Positive = Field(description="How many entries of the part it stands for")
    entries: ContentHash = Field(
        description="Content hash of the array of `[strand, at, piece, commitment]` of these entries"
    )
