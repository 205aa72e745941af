"""When a provider runs.

Each provider has a cadence of its own: nobody else's feedback, not even of its own kind, starts it anew. Conditions are
OR'd, and both counts start anew when the agent gets its feedback. What a timer raises is not heard yet, so its
provider stays due at the next hook; only the timer counts from there. A file counts as seen for a provider only if it
was really there when the provider spoke.
"""

from collections.abc import Collection, Iterable

from lictor_guard.facts.session_facts import Cadence
from lictor_schema.core.time import SECOND_US
from lictor_schema.sessions.agent_definition import TriggerSpec
from lictor_schema.sessions.feedback import TriggerKind
from lictor_schema.sessions.session_questions import SeenFile


def existing(files: Iterable[SeenFile]) -> frozenset[str]:
    """The paths at which a file was seen; a directory does not count."""
    return frozenset(seen.path for seen in files if seen.state == "file")


def due(
    trigger: TriggerSpec, cadence: Cadence, *, calls: int, now_us: int, existing: Collection[str]
) -> TriggerKind | None:
    """What makes a provider run at a hook; None when it is not its turn.

    One that is driven by time and never spoke is due at the first opportunity.
    """
    every = trigger.every_n_calls
    if every is not None and calls - cadence.call_index >= every:
        return "calls"
    if trigger.every_n_seconds is not None and (
        cadence.spoke_us is None or now_us - cadence.spoke_us >= _period_us(trigger.every_n_seconds)
    ):
        return "seconds"
    file = trigger.on_file_created
    if file is not None and file in existing and file not in cadence.files:
        return "file"
    return None


def due_without_hook(trigger: TriggerSpec, cadence: Cadence, *, began_us: int, now_us: int) -> bool:
    """Whether a timer makes the provider run: its seconds have passed since it spoke or raised something, or since the
    session began.

    One that never spoke waits for a hook until then.
    """
    if trigger.every_n_seconds is None:
        return False
    return now_us - _since(cadence, began_us) >= _ringing_period_us(trigger.every_n_seconds)


def rings_at(trigger: TriggerSpec, cadence: Cadence, *, began_us: int, now_us: int) -> int | None:
    """When a timer must make the provider run if no hook does; always later than now.

    One that is due and has just been looked at in vain is looked at again after its seconds, not at once.
    """
    if trigger.every_n_seconds is None:
        return None
    period_us = _ringing_period_us(trigger.every_n_seconds)
    at_us = _since(cadence, began_us) + period_us
    return at_us if at_us > now_us else now_us + period_us


def _since(cadence: Cadence, began_us: int) -> int:
    spoke_us = began_us if cadence.spoke_us is None else cadence.spoke_us
    return max(spoke_us, cadence.raised_us or 0)


def _period_us(seconds: float) -> int:
    return round(seconds * SECOND_US)


def _ringing_period_us(seconds: float) -> int:
    """A timer is a message through the broker: it rings at most once a second, however short the period is."""
    return max(_period_us(seconds), SECOND_US)
