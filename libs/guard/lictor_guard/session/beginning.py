"""How a session begins, goes on, and shows itself."""

from datetime import datetime

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.facts.session_facts import Identity
from lictor_guard.log.entry_stamp import Fields, done, refused
from lictor_guard.session.tool_gate import against_other_task
from lictor_schema.core.base_model import MAX_SAFE_INTEGER
from lictor_schema.core.time import SECOND_US, from_micros, to_micros
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_questions import Denial, SessionBeginAnswer, SessionBeginRequest

PINNED = "lictor.pinned"


def begun_fields(guarded: Guarded, request: SessionBeginRequest, at_us: int) -> Fields:
    """What a session is pinned to; its deadline is the earlier of the definition's and the one asked for."""
    definition = guarded.definition
    deadlines: list[int] = []
    if definition.deadline_s is not None:
        deadlines.append(at_us + definition.deadline_s * SECOND_US)
    if request.deadline_at is not None:
        deadlines.append(max(1, to_micros(request.deadline_at)))
    # Nobody will reach a deadline in the far future; an entry can hold times up to the year 2255.
    deadline_us = min((*deadlines, MAX_SAFE_INTEGER)) if deadlines else None
    return {
        "definition": definition.metadata.name,
        "version": definition.metadata.version,
        "deadline_us": deadline_us,
    }


def refusal_to_go_on(request: SessionBeginRequest, identity: Identity) -> SessionBeginAnswer | None:
    """A session keeps its task and its definition, whatever is asked for later."""
    against = against_other_task(identity, request.task_id)
    asked = (request.definition, request.definition_hash)
    pinned = (identity.definition, identity.definition_hash)
    if any(ask not in (None, pin) for ask, pin in zip(asked, pinned, strict=True)):
        against += (
            Denial(
                policy_id=PINNED,
                reason=f"The session is pinned to definition '{identity.definition}',"
                f" {identity.definition_hash}.",
                remedy="Begin a session under another id for another definition.",
            ),
        )
    return SessionBeginAnswer(**refused(request, against[0])) if against else None


def shown(
    guarded: Guarded, request: GateRequest, identity: Identity, reason: str
) -> SessionBeginAnswer:
    """A session as an adapter needs to know it."""
    definition = guarded.definition
    completion = definition.completion
    return SessionBeginAnswer(
        **done(request, reason),
        definition=identity.definition,
        version=identity.version,
        definition_hash=identity.definition_hash,
        deadline_at=_moment(identity.deadline_us),
        resource_params=dict(guarded.resource_params),
        mounts=definition.workspace.mounts,
        look_at=guarded.stop_files,
        tell_output=guarded.needs_outputs,
        stop_on_silence="allow" if completion is None else completion.on_silence,
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
