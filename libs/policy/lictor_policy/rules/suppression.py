"""Suppression windows: rules that rest during approved maintenance, and are still recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lictor_policy.errors import nearest
from lictor_policy.packs.files import MAINTENANCE, PackFiles
from lictor_policy.packs.yaml_models import ModelDocument, read_document
from lictor_policy.rules.scope import TaskScope, scope_of
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import to_micros
from lictor_schema.packs.overlay import SuppressionWindow


@dataclass(frozen=True, slots=True)
class CompiledWindow:
    """One window, ready to be asked."""

    window_id: str
    starts_us: int
    ends_us: int
    packs: frozenset[str]
    rules: frozenset[str]
    scope: TaskScope | None
    task_ids: frozenset[str]

    def names(self, pack_id: str, rule_id: str) -> bool:
        """Whether it is about a rule."""
        return pack_id in self.packs or rule_id in self.rules

    def holds(self, state: TaskState, stored_us: int) -> bool:
        """Whether it is in force for a task at a time of the broker."""
        return (
            self.starts_us <= stored_us < self.ends_us
            and (not self.task_ids or state.task_id in self.task_ids)
            and (self.scope is None or self.scope.takes(state))
        )


def read_windows(files: PackFiles) -> list[ModelDocument[SuppressionWindow]]:
    """Every window of the maintenance folder; the file's name is the window's id."""
    found: list[ModelDocument[SuppressionWindow]] = []
    for name in files.listed(MAINTENANCE):
        document = read_document(files.read(name), files.said(name), SuppressionWindow)
        window_id = document.model.metadata.id
        if name != f"{MAINTENANCE}/{window_id}.yaml":
            raise document.error(
                ("metadata", "id"), f"is {window_id}; name the file {window_id}.yaml"
            )
        found.append(document)
    return found


def compile_windows(
    documents: Iterable[ModelDocument[SuppressionWindow]], known: Mapping[str, Iterable[str]]
) -> tuple[CompiledWindow, ...]:
    """Windows ready to be asked; `known` is the rules there are, by pack."""
    rules = {rule for each in known.values() for rule in each}
    windows: list[CompiledWindow] = []
    for document in documents:
        spec = document.model.spec
        for field, names, there in (("packs", spec.packs, known), ("rules", spec.rules, rules)):
            for index, name in enumerate(names):
                if name not in there:
                    raise document.error(
                        ("spec", field, index),
                        f"there is no {field[:-1]} {name}; {nearest(name, there)}",
                    )
        windows.append(
            CompiledWindow(
                document.model.metadata.id,
                to_micros(spec.starts_at),
                to_micros(spec.ends_at),
                frozenset(spec.packs),
                frozenset(spec.rules),
                scope_of(spec.applies_to, ("spec", "applies_to"), document.error),
                frozenset(spec.task_ids),
            )
        )
    return tuple(windows)
