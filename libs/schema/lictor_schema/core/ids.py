"""Deterministic ids: the same cause always gets the same id, in every process and after every crash."""

import hashlib
import uuid

# Random once, fixed for ever: changing one makes every replay publish everything again.
_DECISION = uuid.UUID("6f0d1c57-5e0d-4b8e-9d53-1c9b8a2f7e11")
_DERIVED_EVENT = uuid.UUID("2a4f0c1e-3d6b-4d2a-8f3b-7f5e9c0d4b22")
_FEEDBACK = uuid.UUID("83c5d0a9-47be-4f1d-b6e2-19d7a05c3e58")
_EPISODE = uuid.UUID("d49c2b07-61fe-4e13-9a70-58c3e1b7f644")
_PROOF = uuid.UUID("b1e7c9d4-8a35-4c6f-a2d8-0e4b6f1a9c33")
_APPROVAL = uuid.UUID("0c8a51f3-2e97-4d6b-91c4-b7f03d5e8a62")
_APPROVAL_ENTRY = uuid.UUID("e3f6b2d1-74c8-4a09-8e5d-2a91c60f7b34")
_SUBMISSION = uuid.UUID("58d3f2a6-90c1-4e7b-8b1f-6c2e9d7a4f05")
_RUN_ENTRY = uuid.UUID("0c7be1f4-52d9-4b0a-9f6e-d8a1437c2b96")
_EFFECT = uuid.UUID("e95a30d7-1f84-4c2b-b7d6-3a60f9c8514e")

# A separator that no id part may contain unescaped keeps ("a", "bc") and ("ab", "c") apart.
_SEPARATOR = "\x1f"
# The first hex digit of the fourth group, with the two bits that RFC 9562 fixes.
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


def _derive(namespace: uuid.UUID, parts: tuple[str, ...]) -> str:
    """RFC 9562 UUIDv5, written out: this runs for every decision, and ``uuid.uuid5`` takes ten times as long."""
    joined = _SEPARATOR.join(parts)
    if "\\" in joined or joined.count(_SEPARATOR) >= len(parts):
        escaped = (part.replace("\\", "\\\\").replace(_SEPARATOR, "\\s") for part in parts)
        joined = _SEPARATOR.join(escaped)
    name = joined.encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(namespace.bytes + name, usedforsecurity=False).hexdigest()
    return (
        f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}"
        f"-{_VARIANT[digest[16]]}{digest[17:20]}-{digest[20:32]}"
    )


def decision_id(task_id: str, runtime: str, event_id: str, config_hash: str, rule_id: str) -> str:
    """The id of the decision that a rule took on an event under a configuration.

    Each runtime of a task has event ids of its own.
    """
    return _derive(_DECISION, (task_id, runtime, event_id, config_hash, rule_id))


def derived_event_id(task_id: str, kind: str, *cause: str) -> str:
    """The id of an event that a service derives (a checkpoint that fell due, a silence)."""
    return _derive(_DERIVED_EVENT, (task_id, kind, *cause))


def episode_id(task_id: str, first_event_id: str) -> str:
    """The id of the episode that covers a task from its first event on."""
    return _derive(_EPISODE, (task_id, first_event_id))


def feedback_id(entry_id: str, provider: str) -> str:
    """The id of what a provider said in the entry of a session's log that tells of it."""
    return _derive(_FEEDBACK, (entry_id, provider))


def proof_id(
    runtime: str | None, task_id: str, submission_id: str, program_hash: str, engine: str
) -> str:
    """The id of the result that an engine gave for a submission; each runtime has submission ids of its own."""
    whose = () if runtime is None else (runtime,)
    return _derive(_PROOF, (*whose, task_id, submission_id, program_hash, engine))


def submission_id(task_id: str, *question: str) -> str:
    """The id of a program's submission; the same question of a task has one id."""
    return _derive(_SUBMISSION, (task_id, *question))


def approval_request_id(submission_id: str, binding_hash: str) -> str:
    """The id of the request to let a submission run as it was proved."""
    return _derive(_APPROVAL, (submission_id, binding_hash))


def call_request_id(binding_hash: str) -> str:
    """The id of the request to let a tool call be made as it was asked about."""
    return _derive(_APPROVAL, ("call", binding_hash))


def approval_entry_id(request_id: str, state: str, *cause: str) -> str:
    """The id of the entry by which a request comes to a state."""
    return _derive(_APPROVAL_ENTRY, (request_id, state, *cause))


def run_entry_id(run_id: str, number: int, writer: str) -> str:
    """The id of the entry that a writer puts at that place in the journal of a run.

    Two writers never share one: the broker takes what has a known id for stored, whatever it is.
    """
    return _derive(_RUN_ENTRY, (run_id, str(number), writer))


def idempotency_key(run_id: str, call: int, *, undo: bool = False) -> str:
    """The key by which a back-end knows one call of a run, or the undoing of that call, when it comes again."""
    return _derive(_EFFECT, (run_id, str(call), "undo" if undo else "do"))
