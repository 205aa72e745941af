"""Which tasks a pack or a suppression window is about."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from lictor_policy.errors import PackError
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.task.state import TaskState
from lictor_schema.events.payloads import TaskMode, WorkflowShape
from lictor_schema.packs.pack import ANY, AppliesTo

_ALL = {"task_modes": set(get_args(TaskMode)), "workflow_shapes": set(get_args(WorkflowShape))}


@dataclass(frozen=True, slots=True)
class TaskScope:
    """Conditions on how a task started; None takes any."""

    runtimes: frozenset[str] | None
    task_modes: frozenset[str] | None
    workflow_shapes: frozenset[str] | None
    channels: frozenset[str] | None

    def takes(self, state: TaskState) -> bool:
        """Whether the task is one of them."""
        return (
            (self.runtimes is None or state.runtime in self.runtimes)
            and (self.task_modes is None or state.mode in self.task_modes)
            and (self.workflow_shapes is None or state.workflow_shape in self.workflow_shapes)
            and (self.channels is None or state.channel in self.channels)
        )


def scope_of(
    given: AppliesTo, path: Path, fail: Callable[[Path, str], PackError]
) -> TaskScope | None:
    """The scope that `applies_to` means; None for any task."""

    def names(field: str) -> frozenset[str] | None:
        listed: tuple[str, ...] | None = getattr(given, field)
        if listed is None or listed == (ANY,):
            return None
        if ANY in listed:
            raise fail((*path, field), "has * beside names; * alone takes any")
        # A list of all there are takes any, and need not be asked for each event.
        return None if set(listed) >= _ALL.get(field, {ANY}) else frozenset(listed)

    scope = TaskScope(*(names(field) for field in AppliesTo.model_fields))
    return None if scope == TaskScope(None, None, None, None) else scope
