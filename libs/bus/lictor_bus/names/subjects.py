"""Subjects: where everything on the bus lives, and how ids become subject tokens.

Ids come from other people's systems: they hold dots, spaces, unicode and hundreds of characters. A token
must hold none of that, must be the same in every process, and must not let two ids meet. Ids that are safe
already stay as they are, so subjects read well; any other id becomes ``~<slug>-<128 bits of SHA-256>``. The raw
id always stays in the message body.
"""

import hashlib
import json
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


def stored_events(partitions: int, task_id: str) -> str:
    """Every event of a task that the stream keeps, of whatever runtime."""
    task = token(task_id)
    return f"lictor.ev.{partition_of(task, partitions)}.*.{task}"


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


def run_journal(task_id: str, run_id: str) -> str:
    """Where everything is kept that a run of a task did."""
    return f"lictor.run.{token(task_id)}.{token(run_id)}"


def program(task_id: str) -> str:
    """Where a runtime submits a program for proof."""
    return f"lictor.prog.{token(task_id)}"


def proof(verdict: str, task_id: str) -> str:
    """Where the prover publishes what it found."""
    return f"lictor.proof.{verdict}.{token(task_id)}"


def certificate(certificate_hash: str) -> str:
    """Where the certificate of this name is kept."""
    return f"lictor.cert.{certificate_hash.removeprefix('sha256:')}"


def proof_progress(task_id: str) -> str:
    """Where the prover tells how far it is with what takes long; nothing keeps it."""
    return f"lictor.progress.proof.{token(task_id)}"


def approval(state: str, request_id: str) -> str:
    """Where a change of state of an approval request is kept."""
    return f"lictor.appr.{state}.{token(request_id)}"


def approval_entries(request_id: str) -> str:
    """Every change of state of an approval request."""
    return f"lictor.appr.*.{token(request_id)}"


def episode(decision_type: str, episode_id: str) -> str:
    """Where the sealer publishes a sealed episode."""
    return f"lictor.ep.{token(decision_type)}.{token(episode_id)}"


def episodes_with_id(episode_id: str) -> str:
    """Every sealed version of one episode."""
    return f"lictor.ep.*.{token(episode_id)}"


def contents_part(episode_id: str, part_id: str) -> str:
    """Where a part of the messages that an episode covers is kept."""
    return f"lictor.contents.{token(episode_id)}.{token(part_id)}"


def contents_of(episode_id: str) -> str:
    """Every part that is kept of an episode, in whatever version."""
    return f"lictor.contents.{token(episode_id)}.*"


def erasures(episode_id: str) -> str:
    """Where it is kept who had messages of an episode erased."""
    return f"lictor.erased.{token(episode_id)}"


def sighting(fingerprint_key: str) -> str:
    """Where sightings of drift are published, by their cause."""
    return f"lictor.drifting.{fingerprint_key.removeprefix('sha256:')}"


def settlement(fingerprint_key: str) -> str:
    """Where it is told, among the sightings of a cause, that its patch was applied or rejected."""
    return f"{sighting(fingerprint_key)}.settled"


def drift(drift_type: str, severity: str) -> str:
    """Where a drift event is published with the severity that its recurrence gives it."""
    return f"lictor.drift.{drift_type}.{severity}"


def triage(drift_id: str) -> str:
    """Where the handling of a drift event is kept."""
    return f"lictor.triage.{token(drift_id)}"


def patch(state: str, patch_id: str) -> str:
    """Where a step in the life of a patch is kept."""
    return f"lictor.patch.{state}.{token(patch_id)}"


def patch_entries(patch_id: str) -> str:
    """Every step in the life of a patch."""
    return f"lictor.patch.*.{token(patch_id)}"


def claim(kind: str, subject: str) -> str:
    """Where claims about a subject are ``made``, and what bears on them: ``report``, ``drift``, ``patch``."""
    return f"lictor.claim.{kind}.{token(subject)}"


def cycle(status: str, subject: str) -> str:
    """Where the cycles of CERPA about a subject are kept, each time they begin or move."""
    return f"lictor.cycle.{status}.{token(subject)}"


def desk(request: str) -> str:
    """Request/reply for operators: ``triage``, ``patch``, …"""
    return f"lictor.desk.{request}"


REPORT = "lictor.ask.report"
"""Request/reply for operators: the coherence report."""


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
    """Request/reply: ``report`` or ``dispatch``."""
    return f"lictor.gate.{name}"


def session_gate(name: str, runtime: str) -> str:
    """Request/reply: ``tool``, ``stop`` or ``action``. All are logged, so a runtime may ask in its own name only."""
    return f"lictor.gate.{name}.{token(runtime)}"


def session_request(operation: str, runtime: str) -> str:
    """Request/reply about a session: ``begin``, ``show``, ``result``, ``collect``, ``usage``, ``snapshot``, …"""
    return f"lictor.session.{operation}.{token(runtime)}"


def session_key(runtime: str, session_id: str) -> str:
    """The token of a session: each runtime has session ids of its own."""
    return token(json.dumps([runtime, session_id], ensure_ascii=False))


def session_log(key: str) -> str:
    """Where everything that changed a session is kept."""
    return f"lictor.sess.{key}"


def guidance(key: str) -> str:
    """Where feedback that was raised for a session is made known."""
    return f"lictor.guide.{key}"


def definition(name: str) -> str:
    """Where the versions of an agent definition are kept."""
    return f"lictor.def.{token(name)}"


def guard_decision(disposition: str, task_id: str) -> str:
    """Where denied calls, blocked stops and bypasses of a task are decided on; not a decision on an event."""
    return f"lictor.dec.{disposition}.guard.{token(task_id)}"


def guard_refusal(task_id: str) -> str:
    """Where denials stand that are in no session's log; apart from the others, which one worker writes in order."""
    return f"lictor.dec.block.refused.{token(task_id)}"


def decision_key(runtime: str, task_id: str) -> str:
    """The token of a governed decision: a runtime's task."""
    return session_key(runtime, task_id)


def decision_log(key: str) -> str:
    """Where everything that happened to a governed decision is kept."""
    return f"lictor.act.{key}"


SWITCH_KEY = "switch"
"""The kill-switch among the logs of decisions, whose keys all begin with a tilde."""


def contract_request(operation: str, runtime: str) -> str:
    """Request/reply of a runtime about its decisions: ``begin``, ``report``, ``verify``, ``show``."""
    return f"lictor.contract.{operation}.{token(runtime)}"


def contract_order(operation: str) -> str:
    """Request/reply for operators: ``approve``, ``freeze``, ``resume``, ``halt``, ``release``."""
    return f"lictor.contract.{operation}"


SESSION_DOUBT = "lictor.doubt.session"
"""Between instances of the feedback service: what they have stored of a session may lack something."""


STANDING = "lictor.ask.standing"
"""Request/reply: how a task stands in the canonical model."""


_NO_TASK = "~"
"""Longer than this is every token that begins so."""


def gated(gate: str, task_id: str | None) -> str:
    """Where the answer of a gate is kept; None for a question that tells no task."""
    return f"lictor.gated.{gate}.{_NO_TASK if task_id is None else token(task_id)}"


def receipt_report(runtime: str) -> str:
    """Request/reply: where a runtime reports what it did with a decision."""
    return f"lictor.receipt.{token(runtime)}"


def receipt(status: str, task_id: str, record_id: str) -> str:
    """Where a receipt is kept."""
    return f"lictor.rcpt.{status}.{token(task_id)}.{token(record_id)}"


def receipts_of_record(task_id: str, record_id: str) -> str:
    """Every receipt for one decision record."""
    return f"lictor.rcpt.*.{token(task_id)}.{token(record_id)}"


def mark(task_id: str, record_id: str) -> str:
    """The marks on one decision record."""
    return f"lictor.mark.{token(task_id)}.{token(record_id)}"


def health(service: str) -> str:
    """Request/reply: is the service ready, and what does it run."""
    return f"lictor.health.{service}"


def inboxes(user: str) -> str:
    """The prefix of a NATS user's own inboxes, where the answers to its questions come."""
    return f"_INBOX.{token(user)}"


def event_message_id(runtime: str, task_id: str, event_id: str) -> str:
    """The broker's duplicate key of an event: its id is only promised to be unique for a runtime in a task."""
    return f"{token(task_id)}:{token(runtime)}:{token(event_id)}"
