"""Subjects: where everything on the bus lives, and how ids become subject tokens.

Ids come from other people's systems: they hold dots, spaces, unicode and hundreds of characters. A token
must hold none of that, must be the same in every process, and must not let two ids meet. Ids that are safe
already stay as they are, so subjects read well; any other id becomes ``~<slug>-<128 bits of SHA-256>``. The raw
id always stays in the message body.
"""

import hashlib
import re
from functools import lru_cache

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_UNSAFE_RUN = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG_LENGTH = 24


@lru_cache(maxsize=65_536)
def token(raw_id: str) -> str:
    """The subject-safe token of any non-empty id."""
    if _SAFE.match(raw_id):
        return raw_id
    slug = _UNSAFE_RUN.sub("-", raw_id[:_SLUG_LENGTH]).strip("-")
    digest = hashlib.sha256(raw_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"~{slug}-{digest}"


def event(runtime: str, task_id: str) -> str:
    """Where a runtime publishes an event of a task."""
    return f"lictor.ev.{token(runtime)}.{token(task_id)}"


def events_of_partition(partition: int) -> str:
    """Every stored event of one partition (the stream writes the partition into the subject)."""
    return f"lictor.ev.{partition}.>"


def stored_event(partitions: int, runtime: str, task_id: str) -> str:
    """The subject under which the stream keeps a runtime's events of a task."""
    task = token(task_id)
    return f"lictor.ev.{partition_of(task, partitions)}.{token(runtime)}.{task}"


def partition_of(task_token: str, partitions: int) -> int:
    """The partition the broker puts a task in: FNV-1a of 32 bits, as its subject mapping computes it."""
    digest = 2_166_136_261
    for byte in task_token.encode():
        digest = (digest ^ byte) * 16_777_619 & 0xFFFF_FFFF
    return digest % partitions


_CONFIG_SWITCH = ".lictor.config.switch"


def config_switch(partition: int) -> str:
    """Where a partition is told which configuration judges from there on: among its events, in their order."""
    return f"lictor.ev.{partition}{_CONFIG_SWITCH}"


def is_config_switch(stored_subject: str) -> bool:
    """Whether a message of EVENTS is no event but a switch of the configuration."""
    return stored_subject.endswith(_CONFIG_SWITCH) and stored_subject.count(".") == 5


def pack_bundle(bundle_hash: str) -> str:
    """Where the bundle with this hash is kept."""
    return f"lictor.packs.bundle.{bundle_hash.removeprefix('sha256:')}"


def pack_release(channel: str) -> str:
    """Where signed releases of a channel are made known."""
    return f"lictor.packs.release.{token(channel)}"


def pack_refusal(channel: str) -> str:
    """Where evaluators tell which releases of a channel they did not take."""
    return f"lictor.packs.refused.{token(channel)}"


def decision(disposition: str, task_id: str) -> str:
    """Where the evaluator publishes the decision on an event of a task."""
    return f"lictor.dec.{disposition}.{token(task_id)}"


def decisions_on_task(task_id: str) -> str:
    """Every decision on one task."""
    return f"lictor.dec.*.{token(task_id)}"


def program(task_id: str) -> str:
    """Where a runtime submits a program for proof."""
    return f"lictor.prog.{token(task_id)}"


def proof(verdict: str, task_id: str) -> str:
    """Where the prover publishes what it found."""
    return f"lictor.proof.{verdict}.{token(task_id)}"


def episode(decision_type: str, episode_id: str) -> str:
    """Where the sealer publishes a sealed episode."""
    return f"lictor.ep.{token(decision_type)}.{token(episode_id)}"


def episodes_with_id(episode_id: str) -> str:
    """Every sealed version of one episode."""
    return f"lictor.ep.*.{token(episode_id)}"


# Not a decision type's token: a type called "log" would be published under lictor.ep.log.<episode>,
# one token longer than this.
LOG_CHECKPOINT = "lictor.log.checkpoint"


def schedule(kind: str, key: str) -> str:
    """Where a timer is set; a new message replaces the one before."""
    return f"lictor.sched.{kind}.{token(key)}"


def tick(kind: str, key: str) -> str:
    """Where the broker delivers a timer when it is due."""
    return f"lictor.tick.{kind}.{token(key)}"


def dead_letter(service: str, stream: str, sequence: int) -> str:
    """One subject a dead message: the stream refuses a second copy for ever, not just for a window."""
    return f"lictor.dead.{service}.{stream}.{sequence}"


def gate(name: str) -> str:
    """Request/reply: ``tool``, ``report``, ``stop``, ``action`` or ``dispatch``."""
    return f"lictor.gate.{name}"


def gated(gate: str, task_id: str) -> str:
    """Where the answer of a gate is kept."""
    return f"lictor.gated.{gate}.{token(task_id)}"


def receipt_report(runtime: str) -> str:
    """Request/reply: where a runtime reports what it did with a decision."""
    return f"lictor.receipt.{token(runtime)}"


def receipt(status: str, task_id: str, record_id: str) -> str:
    """Where a receipt is kept."""
    return f"lictor.rcpt.{status}.{token(task_id)}.{token(record_id)}"


def receipts_of_record(task_id: str, record_id: str) -> str:
    """Every receipt for one decision record."""
    return f"lictor.rcpt.*.{token(task_id)}.{token(record_id)}"


def health(service: str) -> str:
    """Request/reply: is the service ready, and what does it run."""
    return f"lictor.health.{service}"


def inboxes(user: str) -> str:
    """The prefix of a NATS user's own inboxes, where the answers to its questions come."""
    return f"_INBOX.{token(user)}"


def event_message_id(runtime: str, task_id: str, event_id: str) -> str:
    """The broker's duplicate key of an event: its id is only promised to be unique for a runtime in a task."""
    return f"{token(task_id)}:{token(runtime)}:{token(event_id)}"
