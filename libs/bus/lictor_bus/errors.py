"""What can go wrong on the bus, each with one sentence for a human."""

from nats.errors import Error as NatsError

from lictor_schema.errors import FieldProblem


class BusError(Exception):
    """Root of every error this library raises on purpose."""


class BrokerUnreachable(BusError):
    """NATS does not answer at the given address."""


class BrokerTooOld(BusError):
    """The NATS server lacks something that exactly-once and timers stand on, or has it with defects."""


class StoreUnreachable(BusError):
    """Redis does not answer at the given address."""


class JetStreamAway(BusError):
    """The broker can't say anything about its streams for now: a cluster has no leader yet."""


class StreamMismatch(BusError):
    """A stream exists with settings that would break a guarantee, and can't be changed in place."""


class NeedsMigration(StreamMismatch):
    """A stream holds messages of an older version, under the subjects of then."""


class BatchRefused(BusError):
    """The broker refused an atomic batch; none of it was stored."""

    def __init__(self, stream: str, code: int, description: str) -> None:
        super().__init__(f"stream {stream} refused a batch: {description} (code {code})")
        self.code = code


class PartMissing(BusError):
    """CONTENTS does not hold a part of an episode's messages."""


class StreamMissing(BusError):
    """There is no stream of that name."""


class UnreadableEntry(BusError):
    """A log holds an entry of ours that this version can't read: leaving it out could change a judgement."""


class SequenceConflict(BusError):
    """A subject's last message is not the one that was expected; nothing was stored."""


class TooManySubjects(BusError):
    """The requested messages are on more subjects than the broker lists at once."""


class CursorConflict(BusError):
    """Another worker committed on this partition; ours must reopen at its cursor."""


class StaleState(BusError):
    """A stored state was written by an engine that this one can't read; it must be folded anew."""


class ForgedState(StaleState):
    """A stored state is not as this service left it: it is dropped, and folded again from the stream."""


class NewerState(BusError):
    """A stored state was written by a newer version; it is left alone, and this worker waits."""


class BundleMissing(BusError):
    """Stream PACKS does not hold the bundle that was named."""


class ReservedName(BusError):
    """A runtime's user would have a name that is taken."""


class MalformedQuestion(BusError):
    """A question can't be read; names the fields, and what to do about it."""

    def __init__(self, problem: str, remedy: str, problems: tuple[FieldProblem, ...] = ()) -> None:
        super().__init__(problem)
        self.remedy = remedy
        self.problems = problems


class NotAllowed(BusError, NatsError):
    """The broker does not let this user do that; an error of NATS too, for those who turn these into a denial."""


class MessageRefused(BusError):
    """A message can't be processed; it goes to the dead-letter stream whole, with this reason."""

    def __init__(
        self, reason: str, *, remedy: str, problems: tuple[FieldProblem, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.problems = problems


class IdTaken(MessageRefused):
    """A log can't have an entry, because another log of its stream has one of the same id."""
