"""What is kept of claims, and what operators ask for: the inputs of CERPA on the bus.

The first field of an entry is its id, which is also its message id.
"""

from pydantic import Field

from lictor_schema.contracts.cerpa_cycle import CerpaClaim, CerpaEvent
from lictor_schema.contracts.drift import DriftSeverity
from lictor_schema.core.base_model import Identifier, Model, Timestamp, UuidText


class ClaimRequest(Model):
    """An operator registers a claim, or a new form of one.

    The new form settles what was found against the old; what is red only when another person gives it.
    """

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    by: Identifier = Field(description="Who stands for it")
    claim: CerpaClaim = Field(description="The claim")


class MeasurementReport(Model):
    """An operator, or a meter that asks in their name, tells what happened to a subject and what was measured."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    by: Identifier = Field(description="Who tells it")
    event: CerpaEvent = Field(description="What happened, and what was measured")


class ClaimMade(Model):
    """A claim was registered."""

    entry_id: UuidText = Field(description="Unique id, also the message id")
    by: Identifier = Field(description="Who registered it")
    at: Timestamp = Field(description="When")
    claim: CerpaClaim = Field(description="The claim")
    red_needs_another: bool = Field(
        default=False,
        description="Whether red cycles stay open unless somebody else gives the new form; false in"
        " entries from before that rule, which keep what they settled",
    )


class EventSeen(Model):
    """Something happened that claims about its subject are held against."""

    entry_id: UuidText = Field(description="Unique id, also the message id")
    by: Identifier = Field(description="Who told it; the sealer for drift")
    at: Timestamp = Field(description="When it was told")
    at_least: DriftSeverity = Field(
        description="The severity that recurrence gives to whatever is found"
    )
    event: CerpaEvent = Field(description="What happened")
