"""The labels of a session from its log alone: neither the other policies nor their plugins are needed for that."""

from collections.abc import Iterable

from lictor_guard.definitions.compiled_definition import compile_definition
from lictor_guard.facts.fact import Facts
from lictor_guard.log.fold import Folder
from lictor_guard.log.replay import Replay
from lictor_guard.plugins.tool_call import StandingLabel
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    CallDenied,
    CallFinished,
    CallReserved,
    SessionBegun,
)

_TOLD = (SessionBegun, CallReserved, CallDenied, CallFinished)
"""The entries that labels come from; what is set back or reset takes none away."""


def labels_of_log(
    definition: AgentDefinition, entries: Iterable[tuple[int, AnySessionEntry]]
) -> list[StandingLabel]:
    """The labels that a session has at the end of its log, in the order of the definition."""
    bare = definition.model_copy(
        update={
            "policies": (),
            "sections": tuple(
                each.model_copy(update={"policies": ()}) for each in definition.sections
            ),
            "feedback": (),
            "completion": None,
        }
    )
    guarded = compile_definition(bare)
    replay = Replay(Folder(guarded))
    for sequence, entry in entries:
        if isinstance(entry, _TOLD):
            replay.add(sequence, entry)
    facts = Facts({name: replay.facts.get(name) for name in guarded.labels.names("")})
    return list(guarded.labels.standing(facts, "").values())
