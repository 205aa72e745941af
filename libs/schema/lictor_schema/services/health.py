"""What a service says about itself."""

from pydantic import Field

from lictor_schema.core.base_model import ContentHash, Label, Model, OptionalText, Timestamp


class ServiceHealth(Model):
    """Whether a service is up and can do its work."""

    service: Label = Field(description="The service")
    version: Label = Field(description="Its version")
    ready: bool = Field(description="Whether it can do its work now")
    started_at: Timestamp = Field(description="When it started")
    config_hash: ContentHash | None = Field(
        default=None, description="Hash of the configuration it runs with"
    )
    detail: OptionalText = Field(default="", description="What it waits for when it isn't ready")
