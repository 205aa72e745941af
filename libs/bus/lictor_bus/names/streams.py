"""The streams, as data, and their declaration.

They are declared when Lictor is installed or upgraded, by `lictor streams apply`; services don't change them, and check
what they need (``stream_check``). Declaring is idempotent and safe to race. A stream that exists with other settings is
updated in place, and one that is as it should be is left alone; what can't be updated is refused with a sentence: the
number of partitions, because it decides which worker sees a task, and the subjects under which messages are stored.
"""

# pyright: reportUnknownMemberType=false
# nats-py leaves some of its parameters untyped.

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

from nats.aio.client import Client
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import DiscardPolicy, RePublish, StorageType, StreamConfig, SubjectTransform
from nats.js.errors import APIError, NotFoundError

from lictor_bus.errors import (
    BrokerTooOld,
    BusError,
    JetStreamAway,
    NeedsMigration,
    StreamMismatch,
)
from lictor_bus.names import subjects
from lictor_bus.names.older_subjects import without_runtime
from lictor_bus.wire.error_codes import UNAVAILABLE

# 2.12 has batches and schedules too, but its first release refuses roll-ups in a batch, so that nothing is decided, and
# later ones could lose pins; our tests don't run on it.
MINIMUM_SERVER = (2, 14)
DEFAULT_PARTITIONS = 4
# How long the broker itself refuses a repeated message id. Longer outages are covered by the workers, which
# ask the output stream what was published before they publish again.
DUPLICATE_WINDOW_S = 600
# What the server fills in where nothing is said.
_SERVERS_OWN = {"retention", "compression", "metadata", "consumer_limits"}
_NO_ROOM = (10023, 10047)

EVENTS = "EVENTS"
DECISIONS = "DECISIONS"
GUIDANCE = "GUIDANCE"
SESSIONS = "SESSIONS"
DEFINITIONS = "DEFINITIONS"
PROGRAMS = "PROGRAMS"
PROOFS = "PROOFS"
CERTIFICATES = "CERTIFICATES"
APPROVALS = "APPROVALS"
EPISODES = "EPISODES"
CONTENTS = "CONTENTS"
ERASURES = "ERASURES"
DRIFT = "DRIFT"
PATCHES = "PATCHES"
CERPA = "CERPA"
TIMERS = "TIMERS"
PACKS = "PACKS"
DEAD = "DEAD"
GATES = "GATES"
RECEIPTS = "RECEIPTS"
MARKS = "MARKS"
ACTIONS = "ACTIONS"
RUNS = "RUNS"


@dataclass(frozen=True, kw_only=True)
class StreamSpec:
    """One stream: its subjects and the features its users rely on."""

    name: str
    subjects: tuple[str, ...]
    description: str
    partitioned: bool = False
    timers: bool = False
    one_per_subject: bool = False
    audit: bool = False
    from_outside: bool = False
    followed: str | None = None
    """The kind under which the broker repeats what is stored here, for runtimes that follow it live."""

    def config(self, *, partitions: int, replicas: int, max_payload: int) -> StreamConfig:
        """The configuration for the broker."""
        transform = None
        if self.partitioned:
            # The last token names the task: it alone decides the partition, so that events which a
            # service derives for a task queue up behind the runtime's own.
            transform = SubjectTransform(
                src=subjects.EVENT.any,
                dest=subjects.STORED_EVENT.at(
                    f"{{{{partition({partitions},2)}}}}", "{{wildcard(1)}}", "{{wildcard(2)}}"
                ),
            )
        return StreamConfig(
            name=self.name,
            description=self.description,
            subjects=list(self.subjects),
            storage=StorageType.FILE,
            num_replicas=replicas,
            duplicate_window=DUPLICATE_WINDOW_S,
            allow_direct=True,
            allow_atomic=True,
            allow_msg_schedules=self.timers,
            allow_msg_ttl=self.timers,
            allow_rollup_hdrs=self.timers,
            max_msg_size=largest_message(max_payload) if self.from_outside else -1,
            max_msgs_per_subject=1 if self.one_per_subject else -1,
            discard=DiscardPolicy.NEW if self.one_per_subject else DiscardPolicy.OLD,
            discard_new_per_subject=self.one_per_subject,
            deny_delete=self.audit,
            deny_purge=self.audit,
            subject_transform=transform,
            republish=self._republished(),
        )

    def _republished(self) -> RePublish | None:
        if self.followed is None:
            return None
        return RePublish(
            src=f"lictor.{self.followed}.>", dest=f"{subjects.STORED.prefix}{self.followed}.>"
        )


STREAMS: dict[str, StreamSpec] = {
    spec.name: spec
    for spec in (
        StreamSpec(
            name=EVENTS,
            # The second is longer than anything a runtime's subject can become by the transform.
            subjects=(subjects.EVENT.any, subjects.CONFIG_SWITCH.any),
            description="canonical reporting events, and which configuration judges them",
            partitioned=True,
            from_outside=True,
        ),
        StreamSpec(
            name=DECISIONS,
            # The others are decisions of the tool and stop gates; a task can't be described by the wrong one.
            subjects=(
                subjects.DECISION.any,
                subjects.GUARD_DECISION.any,
                subjects.GUARD_REFUSAL.any,
            ),
            followed="dec",
            description="decision records: one per evaluated event, and those of the tool and stop gates",
            audit=True,
        ),
        StreamSpec(
            name=GUIDANCE,
            subjects=(subjects.GUIDANCE.any,),
            followed="guide",
            description="feedback delivered to agents",
        ),
        StreamSpec(
            name=SESSIONS,
            subjects=(subjects.SESSION_LOG.any, subjects.HALTS),
            description="the logs of guarded sessions: everything that changed one, in order; and which are halted",
            audit=True,
        ),
        StreamSpec(
            name=DEFINITIONS,
            subjects=(subjects.DEFINITION.any,),
            description="agent definitions, every version",
            audit=True,
        ),
        StreamSpec(
            name=PROGRAMS,
            subjects=(subjects.PROGRAM.any,),
            description="programs submitted for proof",
            from_outside=True,
        ),
        StreamSpec(
            name=PROOFS,
            subjects=(subjects.PROOF.any,),
            followed="proof",
            description="proof results",
        ),
        StreamSpec(
            name=CERTIFICATES,
            subjects=(subjects.CERTIFICATE.any,),
            description="certificates of proofs, by their hashes",
            one_per_subject=True,
            audit=True,
        ),
        StreamSpec(
            name=APPROVALS,
            subjects=(subjects.APPROVAL.any,),
            followed="appr",
            description="approval requests, and every change of their states",
            audit=True,
        ),
        StreamSpec(
            name=EPISODES,
            subjects=(subjects.EPISODE.any, subjects.LOG.any),
            followed="ep",
            description="sealed episodes and log checkpoints",
            audit=True,
        ),
        StreamSpec(
            name=CONTENTS,
            # No audit stream: what stands here can be erased, and the log still verifies.
            subjects=(subjects.CONTENTS.any,),
            description="the messages that sealed episodes cover, with their salts, in parts",
        ),
        StreamSpec(
            name=ERASURES,
            subjects=(subjects.ERASURE.any,),
            description="who had the messages of which episode erased, and why",
            audit=True,
        ),
        StreamSpec(
            name=DRIFT,
            # Sightings, and which of their patches are settled; what recurrence makes of them; their handling.
            subjects=(
                subjects.SIGHTING.any,
                subjects.SETTLEMENT.any,
                subjects.DRIFT.any,
                subjects.TRIAGE.any,
            ),
            description="drift: every sighting, the events that come of it, and their triage",
            audit=True,
        ),
        StreamSpec(
            name=PATCHES,
            subjects=(subjects.PATCH.any,),
            description="patches: proposed, approved, rejected, applied, failed",
            audit=True,
        ),
        StreamSpec(
            name=CERPA,
            subjects=(subjects.CLAIM.any, subjects.CYCLE.any),
            description="claims, what happened to their subjects, and the cycles that come of it",
            audit=True,
        ),
        StreamSpec(
            name=TIMERS,
            subjects=(subjects.SCHEDULE.any, subjects.TICK.any),
            description="timers: schedules, and ticks when they are due",
            timers=True,
        ),
        StreamSpec(
            name=GATES,
            subjects=(subjects.GATED.any,),
            description="what gates were asked and what they answered",
            audit=True,
        ),
        StreamSpec(
            name=ACTIONS,
            subjects=(subjects.DECISION_LOG.any,),
            description="the logs of governed decisions, and that of the kill-switch",
            audit=True,
        ),
        StreamSpec(
            name=RUNS,
            subjects=(subjects.RUN.any,),
            followed="run",
            description="the journals of runs: what approved programs did, each effect before it is made",
            audit=True,
        ),
        StreamSpec(
            name=RECEIPTS,
            subjects=(subjects.RECEIPT.any,),
            description="what runtimes did with decisions",
            audit=True,
        ),
        StreamSpec(
            name=MARKS,
            subjects=(subjects.MARK.any,),
            description="what operators say about decisions: false alarms, and such marks taken back",
            audit=True,
        ),
        StreamSpec(
            name=PACKS,
            subjects=(subjects.PACKS.any,),
            description="policy packs: bundles by hash, signed releases, which of them came into force or were refused",
            audit=True,
        ),
        StreamSpec(
            name=DEAD,
            subjects=(subjects.DEAD_LETTER.any,),
            description="what could not be processed, whole, with why",
            one_per_subject=True,
        ),
    )
}


def largest_message(max_payload: int) -> int:
    """What a stream may take from outside: a dead letter adds headers, and must still fit the server's limit."""
    return max_payload - 64 * 1024


def check_server_version(client: Client) -> None:
    """Refuse a broker that lacks what exactly-once and timers stand on."""
    version = client.connected_server_version
    if (version.major, version.minor) < MINIMUM_SERVER:
        raise BrokerTooOld(
            f"NATS server {version.major}.{version.minor}.{version.patch} is too old: Lictor needs "
            f"{MINIMUM_SERVER[0]}.{MINIMUM_SERVER[1]} or newer; upgrade it, or run `lictor up` for the built-in one."
        )


Change = Literal["made", "changed", "unchanged"]


class Declared(NamedTuple):
    """What became of a stream when it was declared."""

    stream: str
    change: Change
    settings: tuple[str, ...] = ()
    """What is other than before, where it was changed."""


async def declare(
    client: Client,
    *names: str,
    partitions: int = DEFAULT_PARTITIONS,
    replicas: int = 1,
    dry_run: bool = False,
) -> list[Declared]:
    """Create the named streams, or bring them up to date; with ``dry_run`` only tell what would be done."""
    return [
        await _declare(
            client,
            STREAMS[name].config(
                partitions=partitions, replicas=replicas, max_payload=client.max_payload
            ),
            dry_run=dry_run,
        )
        for name in names
    ]


async def _declare(client: Client, wanted: StreamConfig, *, dry_run: bool) -> Declared:
    js, name = client.jetstream(), str(wanted.name)
    try:
        try:
            info = await js.stream_info(name)
        except NotFoundError:
            await _refuse_unfinished(client, name)
            if not dry_run:
                await js.add_stream(wanted)
            return Declared(name, "made")
        found = info.config
        if info.state.last_seq and is_older(found):
            raise NeedsMigration(f"stream {name} {OLDER}.")
        if in_migration(found):
            raise NeedsMigration(f"stream {name} {UNFINISHED}.")
        check_partitions(found, wanted)
        settings = differing(found, wanted)
        if settings and not dry_run:
            # Whatever else was noted there stays, such as where its messages came from.
            wanted.metadata = _noted(found)
            await js.update_stream(wanted)
        return Declared(name, "changed" if settings else "unchanged", tuple(settings))
    except NoRespondersError:
        raise BusError(
            "the NATS server answers but JetStream does not: start it with JetStream enabled (`-js`)."
        ) from None
    except NatsTimeout:
        raise JetStreamAway(
            "the NATS server answers but JetStream does not: see whether its cluster has a leader,"
            " and whether this user may ask it."
        ) from None
    except APIError as error:
        if error.code == UNAVAILABLE:
            raise JetStreamAway(
                f"stream {name} can't be declared yet: {error.description}; see whether NATS has a leader."
            ) from error
        if _is_full(error):
            raise BusError(
                f"stream {name} can't be declared: the NATS server has no room ({error.description}); "
                "make room on its disk or raise `max_file_store`, and start again."
            ) from error
        raise StreamMismatch(
            f"stream {name} can't be declared: {error.description}; "
            "back it up and remove it, or point Lictor at another NATS account."
        ) from error


_COPY = "-MIGRATION"
OLDER = "has the subjects of version 0.1: stop all services, then run `lictor streams migrate`"
UNFINISHED = "is half migrated: run `lictor streams migrate` again"


def copy_of(stream: str) -> str:
    """The stream that holds the messages of another one while it is migrated."""
    return f"{stream}{_COPY}"


def is_older(found: StreamConfig) -> bool:
    """Whether a stream was made by version 0.1, and messages stand there under other subjects than now."""
    now = STREAMS[str(found.name)].subjects
    before = {without_runtime(each) for each in now} - set(now)
    return not before.isdisjoint(found.subjects or ())


def placeholder_of(stream: str) -> str:
    """The one subject that a stream takes before its migration is finished."""
    return f"{copy_of(stream)}.placeholder"


def in_migration(found: StreamConfig) -> bool:
    """Whether a stream is still being filled from the copy of an older one."""
    return found.mirror is not None or found.subjects == [placeholder_of(str(found.name))]


async def _refuse_unfinished(client: Client, name: str) -> None:
    """An empty stream in the place of one whose messages are in its copy would hide that they are there."""
    try:
        await client.jetstream().stream_info(copy_of(name))
    except NotFoundError:
        return
    raise NeedsMigration(f"stream {name} {UNFINISHED}.")


def differing(found: StreamConfig, wanted: StreamConfig) -> Sequence[str]:
    """The settings that a stream has otherwise than it should, also where it should have none."""
    names = [each.name for each in fields(StreamConfig) if each.name not in _SERVERS_OWN]
    return [name for name in names if _said(getattr(found, name)) != _said(getattr(wanted, name))]


def _noted(found: StreamConfig) -> dict[str, str] | None:
    return {
        name: value
        for name, value in (found.metadata or {}).items()
        if not name.startswith("_nats.")
    } or None


def _said(value: object) -> object:
    """A setting, None where it says nothing: the server leaves some out, and spells others as -1 or 0."""
    return value if value and value != -1 else None


def _is_full(error: APIError) -> bool:
    return error.err_code in _NO_ROOM or "no space left" in (error.description or "")


def check_partitions(found: StreamConfig, wanted: StreamConfig) -> None:
    """Raise StreamMismatch when a stream was made with another number of partitions."""
    have = found.subject_transform.dest if found.subject_transform else None
    want = wanted.subject_transform.dest if wanted.subject_transform else None
    if have != want:
        raise StreamMismatch(
            f"stream {found.name} has {_partitions_in(have)} partitions, LICTOR_PARTITIONS says"
            f" {_partitions_in(want)}: the number is fixed when the stream is made; set LICTOR_PARTITIONS to match it."
        )


def partitions_of(config: StreamConfig) -> int:
    """How many partitions a stream was made with; 0 for none."""
    transform = config.subject_transform
    found = _partitions_in(transform.dest if transform else None)
    return int(found) if found.isdecimal() else 0


def _partitions_in(transform: str | None) -> str:
    """The number of partitions that a subject transform makes, as text."""
    return "no" if transform is None else transform.partition("partition(")[2].partition(",")[0]
