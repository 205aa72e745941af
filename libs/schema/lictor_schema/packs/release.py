"""Policy packs as they travel: bundles, signed releases of them, and which one judges from where on."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lictor_schema.core.base_model import (
    ContentHash,
    Count,
    Label,
    Model,
    Positive,
    Text,
    UtcMillis,
)
from lictor_schema.decisions.decision import PackStamp

ReleaseChannel = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
# No part begins with a dot: a bundle can't write beside the folder it is unpacked to.
FileName = Annotated[str, StringConstraints(pattern=rf"^{_PART}(/{_PART}){{0,3}}$")]
FileText = Annotated[str, StringConstraints(max_length=1024 * 1024)]


class PackBundle(Model):
    """Everything a configuration was built from; its hash names it."""

    format: Literal["lictor-pack-bundle/v1"] = Field(
        default="lictor-pack-bundle/v1", description="The form of this document"
    )
    profiles: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(), description="The profiles applied, in order"
    )
    files: Annotated[dict[FileName, FileText], Field(min_length=1, max_length=1000)] = Field(
        description="The files of the pack directory: relative name to text"
    )


class ConfigSwitch(Model):
    """From its place in a partition of the event stream on, this configuration judges.

    Events before the first switch of a partition are judged by that first one.
    """

    format: Literal["lictor-config-switch/v1"] = Field(
        default="lictor-config-switch/v1", description="The form of this document"
    )
    bundle_hash: ContentHash = Field(description="The bundle, as it stands in stream PACKS")
    config_hash: ContentHash = Field(description="The configuration compiled from it")
    engine: Label = Field(description="The engine that compiled it")
    why: Text = Field(description="What led to the switch")


class PackRelease(Model):
    """A bundle made known on a channel; it counts only when a trusted key signed it."""

    format: Literal["lictor-pack-release/v1"] = Field(
        default="lictor-pack-release/v1", description="The form of this document"
    )
    channel: ReleaseChannel = Field(description="The channel it is for")
    number: Positive = Field(description="Counts the releases of a channel; never used twice")
    bundle_hash: ContentHash = Field(description="The bundle, as it stands in stream PACKS")
    packs: Annotated[tuple[PackStamp, ...], Field(min_length=1, max_length=1000)] = Field(
        description="What is in it"
    )
    rollback_of: ContentHash | None = Field(
        default=None,
        description="The bundle in force that this one takes back; without it, a pack that changed"
        " needs a newer version",
    )
    released_at: UtcMillis = Field(description="When it was signed, by the signer's clock")
    expires_at: UtcMillis | None = Field(
        default=None,
        description="From then on no evaluator takes it any more; none in releases of before 0.2, which no evaluator"
        " takes after one that has it",
    )


class ReleaseTaken(Model):
    """A release that came into force: what an evaluator remembers, in stream PACKS and in a file of its own."""

    format: Literal["lictor-pack-release-taken/v1"] = Field(
        default="lictor-pack-release-taken/v1", description="The form of this document"
    )
    channel: ReleaseChannel = Field(description="The channel it came on")
    sequence: Count = Field(
        description="Its place in stream PACKS; 0 when it came on another broker"
    )
    number: Positive = Field(description="Its number: no release of the channel up to it is taken")
    bundle_hash: ContentHash = Field(description="The bundle that it put in force")
    expires_at: UtcMillis | None = Field(description="When it expires; none if it never does")
    received_at: UtcMillis = Field(
        description="When the broker stored it: its key was trusted then"
    )
    release: FileText = Field(description="The release as it was signed")


class ReleaseRefusal(Model):
    """A release that an evaluator did not take, and why."""

    channel: ReleaseChannel = Field(description="The channel it came on")
    sequence: Count = Field(description="Its place in stream PACKS")
    in_force: ContentHash | None = Field(description="The bundle that stays")
    reason: Text = Field(description="What was wrong with it")
