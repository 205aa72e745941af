"""Subjects: where everything on the bus lives, and how ids become subject tokens.

Ids come from other people's systems: they hold dots, spaces, unicode and hundreds of characters. A token
must hold none of that, must be the same in every process, and must not let two ids meet. Ids that are safe
already stay as they are, so subjects read well; any other id becomes ``~<slug>-<128 bits of SHA-256>``. The raw
id always stays in the message body.

What a runtime may follow carries the runtime's token right behind the kind: decisions, guidance, proofs, approvals,
runs, episodes, and what is asked of gates. So a runtime's NATS account can be given exactly its own.
"""

import hashlib
import json
import re
from functools import lru_cache

from lictor_bus.names.subject_pattern import SubjectPattern

_SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_UNSAFE_RUN = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG_LENGTH = 24
_GENERATION = re.compile(r"(?<=.)\.[0-9]+\Z")

EVERYTHING = "lictor.>"
"""Every subject of ours."""

NOBODY = "~"
"""Stands for the runtime or the task of what names none; every token that begins so is longer."""


@lru_cache(maxsize=65_536)
def token(raw_id: str) -> str:
    """The subject-safe token of any non-empty id."""
    if _SAFE.match(raw_id):
        return raw_id
    slug = _UNSAFE_RUN.sub("-", raw_id[:_SLUG_LENGTH]).strip("-")
    digest = hashlib.sha256(raw_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"~{slug}-{digest}"


def runtime_token(runtime: str | None) -> str:
    """The token of a runtime; of none where a message of before 0.2 does not name its runtime."""
    return NOBODY if runtime is None else token(runtime)


STORED = SubjectPattern("lictor.stored.{kind}.{runtime}")
"""Where the broker repeats what it has stored, one token and more behind the runtime: for those who follow live."""


def stored_for(runtime: str) -> str:
    """Everything that was stored for a runtime, as it is stored."""
    return f"{STORED.where(runtime=token(runtime))}.>"


EVENT = SubjectPattern("lictor.ev.{runtime}.{task}")


def event(runtime: str, task_id: str) -> str:
    """Where a runtime publishes an event of a task."""
    return EVENT.at(token(runtime), token(task_id))


STORED_EVENT = SubjectPattern("lictor.ev.{partition}.{runtime}.{task}")


def published_subject(stored_subject: str) -> str:
    """The subject that a stored message was published on: EVENTS writes a partition into it."""
    tokens = stored_subject.split(".")
    if stored_subject.startswith(EVENT.prefix) and len(tokens) == STORED_EVENT.any.count(".") + 1:
        del tokens[STORED_EVENT.place("partition")]
    return ".".join(tokens)


def events_of_partition(partition: int) -> str:
    """Every stored event of one partition (the stream writes the partition into the subject)."""
    return f"{EVENT.prefix}{partition}.>"


def stored_event(partitions: int, runtime: str, task_id: str) -> str:
    """The subject under which the stream keeps a runtime's events of a task."""
    task = token(task_id)
    return STORED_EVENT.at(partition_of(task, partitions), token(runtime), task)


def stored_events(partitions: int, task_id: str) -> str:
    """Every event of a task that the stream keeps, of whatever runtime."""
    task = token(task_id)
    return STORED_EVENT.at(partition_of(task, partitions), "*", task)


def partition_of(task_token: str, partitions: int) -> int:
    """The partition the broker puts a task in: FNV-1a of 32 bits, as its subject mapping computes it."""
    digest = 2_166_136_261
    for byte in task_token.encode():
        digest = (digest ^ byte) * 16_777_619 & 0xFFFF_FFFF
    return digest % partitions


CONFIG_SWITCH = SubjectPattern("lictor.ev.{partition}.lictor.config.switch")


def config_switch(partition: int) -> str:
    """Announces to a partition which configuration judges from there on: among its events, in their order."""
    return CONFIG_SWITCH.at(partition)


def is_config_switch(stored_subject: str) -> bool:
    """Whether a message of EVENTS is no event but a switch of the configuration."""
    return stored_subject.endswith(".lictor.config.switch") and stored_subject.count(".") == 5


PACKS = SubjectPattern("lictor.packs.{kind}.{name}")
"""Bundles, releases, and what became of them."""
PACK_BUNDLE = SubjectPattern("lictor.packs.bundle.{hash}")


def pack_bundle(bundle_hash: str) -> str:
    """Where the bundle with this hash is kept."""
    return PACK_BUNDLE.at(bundle_hash.removeprefix("sha256:"))


PACK_RELEASE = SubjectPattern("lictor.packs.release.{channel}")


def pack_release(channel: str) -> str:
    """Where signed releases of a channel are made known."""
    return PACK_RELEASE.at(token(channel))


PACK_REFUSAL = SubjectPattern("lictor.packs.refused.{channel}")


def pack_refusal(channel: str) -> str:
    """Where evaluators report which releases of a channel they did not take."""
    return PACK_REFUSAL.at(token(channel))


PACK_TAKEN = SubjectPattern("lictor.packs.taken.{channel}")


def pack_taken(channel: str) -> str:
    """Where evaluators keep which releases of a channel came into force."""
    return PACK_TAKEN.at(token(channel))


DECISION = SubjectPattern("lictor.dec.{runtime}.{decision}.{task}")


def decision(runtime: str, disposition: str, task_id: str) -> str:
    """Where the evaluator publishes the decision on an event of a runtime's task, whoever reported the event."""
    return DECISION.at(token(runtime), disposition, token(task_id))


def decisions_on_task(task_id: str) -> str:
    """Every decision on one task."""
    return DECISION.where(task=token(task_id))


RUN = SubjectPattern("lictor.run.{runtime}.{task}.{request}")


def run_journal(runtime: str | None, task_id: str, run_id: str) -> str:
    """Where everything is kept that a run of a task did."""
    return RUN.at(runtime_token(runtime), token(task_id), token(run_id))


PROGRAM = SubjectPattern("lictor.prog.{runtime}.{task}")


def program(runtime: str | None, task_id: str) -> str:
    """Where a runtime submits the programs of a task for proof."""
    return PROGRAM.at(runtime_token(runtime), token(task_id))


PROOF = SubjectPattern("lictor.proof.{runtime}.{verdict}.{task}")


def proof(runtime: str | None, verdict: str, task_id: str) -> str:
    """Where the prover publishes what it found."""
    return PROOF.at(runtime_token(runtime), verdict, token(task_id))


CERTIFICATE = SubjectPattern("lictor.cert.{hash}")


def certificate(certificate_hash: str) -> str:
    """Where the certificate of this name is kept."""
    return CERTIFICATE.at(certificate_hash.removeprefix("sha256:"))


PROOF_PROGRESS = SubjectPattern("lictor.progress.proof.{runtime}.{task}")


def proof_progress(runtime: str | None, task_id: str) -> str:
    """Where the prover reports the progress of long proofs; it is not stored."""
    return PROOF_PROGRESS.at(runtime_token(runtime), token(task_id))


APPROVAL = SubjectPattern("lictor.appr.{runtime}.{state}.{request}")


def approval(runtime: str | None, state: str, request_id: str) -> str:
    """Where a change of state of an approval request is kept."""
    return APPROVAL.at(runtime_token(runtime), state, token(request_id))


def approval_entries(request_id: str) -> str:
    """Every change of state of an approval request."""
    return APPROVAL.where(request=token(request_id))


EPISODE = SubjectPattern("lictor.ep.{runtime}.{decision_type}.{episode}")


def episode(runtime: str, decision_type: str, episode_id: str) -> str:
    """Where the sealer publishes a sealed episode."""
    return EPISODE.at(token(runtime), token(decision_type), token(episode_id))


def episodes_with_id(episode_id: str) -> str:
    """Every sealed version of one episode."""
    return EPISODE.where(episode=token(episode_id))


CONTENTS = SubjectPattern("lictor.contents.{episode}.{part}")


def contents_part(episode_id: str, part_id: str) -> str:
    """Where a part of the messages that an episode covers is kept."""
    return CONTENTS.at(token(episode_id), token(part_id))


def contents_of(episode_id: str) -> str:
    """Every stored part of an episode, in any version."""
    return CONTENTS.where(episode=token(episode_id))


ERASURE = SubjectPattern("lictor.erased.{episode}")


def erasures(episode_id: str) -> str:
    """Where it is kept who had messages of an episode erased."""
    return ERASURE.at(token(episode_id))


SIGHTING = SubjectPattern("lictor.drifting.{fingerprint}")


def sighting(fingerprint_key: str) -> str:
    """Where sightings of drift are published, by their cause."""
    return SIGHTING.at(fingerprint_key.removeprefix("sha256:"))


SETTLEMENT = SubjectPattern("lictor.drifting.{fingerprint}.settled")


def settlement(fingerprint_key: str) -> str:
    """Where it is recorded, among the sightings of a cause, that its patch was applied or rejected."""
    return SETTLEMENT.at(fingerprint_key.removeprefix("sha256:"))


DRIFT = SubjectPattern("lictor.drift.{type}.{severity}")


def drift(drift_type: str, severity: str) -> str:
    """Where a drift event is published with the severity that its recurrence gives it."""
    return DRIFT.at(drift_type, severity)


TRIAGE = SubjectPattern("lictor.triage.{drift}")


def triage(drift_id: str) -> str:
    """Where the handling of a drift event is kept."""
    return TRIAGE.at(token(drift_id))


PATCH = SubjectPattern("lictor.patch.{state}.{patch}")


def patch(state: str, patch_id: str) -> str:
    """Where a step in the life of a patch is kept."""
    return PATCH.at(state, token(patch_id))


def patch_entries(patch_id: str) -> str:
    """Every step in the life of a patch."""
    return PATCH.where(patch=token(patch_id))


CLAIM = SubjectPattern("lictor.claim.{kind}.{subject}")


def claim(kind: str, subject: str) -> str:
    """Where claims about a subject are ``made``, and what bears on them: ``report``, ``drift``, ``patch``."""
    return CLAIM.at(kind, token(subject))


CYCLE = SubjectPattern("lictor.cycle.{status}.{subject}")


def cycle(status: str, subject: str) -> str:
    """Where the cycles of CERPA about a subject are kept, each time they begin or move."""
    return CYCLE.at(status, token(subject))


DESK = SubjectPattern("lictor.desk.{request}")


def desk(request: str) -> str:
    """Request/reply for operators: ``triage``, ``patch``, …"""
    return DESK.at(request)


REPORT = "lictor.ask.report"
"""Request/reply for operators: the coherence report."""


# Not a decision type's token: a type called "log" would be published under lictor.ep.log.<episode>,
# one token longer than this.
LOG = SubjectPattern("lictor.log.{kind}")
LOG_CHECKPOINT = LOG.at("checkpoint")

SCHEDULE = SubjectPattern("lictor.sched.{kind}.{key}")


def schedule(kind: str, key: str) -> str:
    """Where a timer is set; a new message replaces the one before."""
    return SCHEDULE.at(kind, token(key))


TICK = SubjectPattern("lictor.tick.{kind}.{key}")


def tick(kind: str, key: str) -> str:
    """Where the broker delivers a timer when it is due."""
    return TICK.at(kind, token(key))


DEAD_LETTER = SubjectPattern("lictor.dead.{service}.{stream}.{sequence}")


def dead_letter(service: str, stream: str, sequence: int) -> str:
    """One subject a dead message: the stream refuses a second copy for ever, not just for a window."""
    return DEAD_LETTER.at(service, stream, sequence)


GATE = SubjectPattern("lictor.gate.{gate}.{runtime}")


def gate(name: str, runtime: str) -> str:
    """Request/reply: ``tool``, ``stop``, ``action``, ``report`` or ``dispatch``, in the name of this runtime only."""
    return GATE.at(name, token(runtime))


SESSION_REQUEST = SubjectPattern("lictor.session.{operation}.{runtime}")


def session_request(operation: str, runtime: str) -> str:
    """Request/reply about a session: ``begin``, ``show``, ``result``, ``collect``, ``usage``, ``snapshot``, …"""
    return SESSION_REQUEST.at(operation, token(runtime))


def session_key(runtime: str, session_id: str) -> str:
    """The token of a session: each runtime has session ids of its own."""
    return token(json.dumps([runtime, session_id], ensure_ascii=False))


SESSION_LOG = SubjectPattern("lictor.sess.{session}")


def session_log(key: str) -> str:
    """Where everything that changed a session is kept."""
    return SESSION_LOG.at(key)


GUIDANCE = SubjectPattern("lictor.guide.{runtime}.{session}")


def guidance(runtime: str, key: str) -> str:
    """Where feedback that was raised for a session is made known."""
    return GUIDANCE.at(token(runtime), key)


DEFINITION = SubjectPattern("lictor.def.{name}")


def definition(name: str) -> str:
    """Where the versions of an agent definition are kept."""
    return DEFINITION.at(token(name))


DECISION_OF_GATE = SubjectPattern("lictor.dec.{runtime}.{decision}.{kind}.{task}")
"""What the tool and stop gates decided, in a session or outside of one."""
GUARD_DECISION = SubjectPattern("lictor.dec.{runtime}.{decision}.guard.{task}")


def guard_decision(runtime: str, disposition: str, task_id: str) -> str:
    """Where denied calls, blocked stops and bypasses of a task are decided on; not a decision on an event."""
    return GUARD_DECISION.at(token(runtime), disposition, token(task_id))


GUARD_REFUSAL = SubjectPattern("lictor.dec.{runtime}.block.refused.{task}")


def guard_refusal(runtime: str, task_id: str) -> str:
    """Where denials stand that are in no session's log; apart from the others, which one worker writes in order."""
    return GUARD_REFUSAL.at(token(runtime), token(task_id))


def decision_key(runtime: str, task_id: str) -> str:
    """The token of a governed decision: a runtime's task."""
    return session_key(runtime, task_id)


DECISION_LOG = SubjectPattern("lictor.act.{decision}")


def decision_log(key: str) -> str:
    """Where everything that happened to a governed decision is kept."""
    return DECISION_LOG.at(key)


SWITCH_KEY = "switch"
"""The kill-switch among the logs of decisions, whose keys all begin with a tilde."""

CONTRACT_REQUEST = SubjectPattern("lictor.contract.{operation}.{runtime}")


def contract_request(operation: str, runtime: str) -> str:
    """Request/reply of a runtime about its decisions: ``begin``, ``report``, ``verify``, ``show``."""
    return CONTRACT_REQUEST.at(operation, token(runtime))


CONTRACT_ORDER = SubjectPattern("lictor.contract.{operation}")


def contract_order(operation: str) -> str:
    """Request/reply for operators: ``approve``, ``freeze``, ``resume``, ``halt``, ``release``."""
    return CONTRACT_ORDER.at(operation)


HALTS = "lictor.halts"
"""Where operators' orders to halt sessions, and to let them go on, are kept: one log."""
HALT_NEWS = "lictor.ask.halts"
"""Request/reply: the kill-switch was turned, and the tool gates must look at it."""

SESSION_DOUBT = "lictor.doubt.session"
"""Between instances of the feedback service: what they have stored of a session may lack something."""


STANDING = "lictor.ask.standing"
"""Request/reply: how a task stands in the canonical model."""


GATED = SubjectPattern("lictor.gated.{runtime}.{gate}.{task}")


def gated(runtime: str, gate: str, task_id: str | None) -> str:
    """Where the answer of a gate is kept; None for a question that names no task."""
    return GATED.at(token(runtime), gate, NOBODY if task_id is None else token(task_id))


RECEIPT_REPORT = SubjectPattern("lictor.receipt.{runtime}")


def receipt_report(runtime: str) -> str:
    """Request/reply: where a runtime reports what it did with a decision."""
    return RECEIPT_REPORT.at(token(runtime))


RECEIPT = SubjectPattern("lictor.rcpt.{runtime}.{status}.{task}.{record}")


def receipt(runtime: str, status: str, task_id: str, record_id: str) -> str:
    """Where a receipt is kept."""
    return RECEIPT.at(token(runtime), status, token(task_id), token(record_id))


def receipts_of_record(task_id: str, record_id: str) -> str:
    """Every receipt for one decision record."""
    return RECEIPT.where(task=token(task_id), record=token(record_id))


MARK = SubjectPattern("lictor.mark.{task}.{record}")


def mark(task_id: str, record_id: str) -> str:
    """The marks on one decision record."""
    return MARK.at(token(task_id), token(record_id))


REHEARSAL = "lictor.rehearse"
"""Request/reply, between the prover and who rehearses programs for it."""

HISTORY = SubjectPattern("lictor.history.{kind}.{runtime}")


def history(kind: str, runtime: str) -> str:
    """Request/reply: what is stored of a runtime's own: ``dec``, ``guide``, ``proof``, ``appr``, ``run``, ``ep``."""
    return HISTORY.at(kind, token(runtime))


HEALTH = SubjectPattern("lictor.health.{service}")


def health(service: str) -> str:
    """Request/reply: is the service ready, and what does it run."""
    return HEALTH.at(service)


def role_of(user: str) -> str:
    """The role of a NATS user: while a password is rotated, a role has a second user, such as ``sealer.2``."""
    return _GENERATION.sub("", user)


def inboxes(user: str) -> str:
    """The prefix of a role's own inboxes, where the answers to its questions come, under whichever of its users."""
    return f"_INBOX.{token(role_of(user))}"


def event_message_id(runtime: str, task_id: str, event_id: str) -> str:
    """The broker's duplicate key of an event: its id is only promised to be unique for a runtime in a task."""
    return f"{token(task_id)}:{token(runtime)}:{token(event_id)}"
