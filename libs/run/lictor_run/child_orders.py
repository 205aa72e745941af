"""What a runner tells its child to do: run what was approved, or take back what was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lictor_run.run_limits import RunLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """Exactly what may run, and the hashes of everything that was looked at when it was approved."""

    run_id: str
    program: str
    language: str
    source_name: str
    target: str
    program_hash: str
    ir_hash: str
    layer_hash: str
    guarantees: tuple[tuple[str, bool], ...]
    """The name of each guarantee, and whether the layer required it."""
    python: str | None
    """The Python that it was proved and rehearsed for; None where the proof does not say."""
    inputs: Mapping[str, Any] | None = None
    """The values of the target's parameters, as `lictor_schema.proofs.inputs` writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOrder:
    """Effects to take back, in this order."""

    run_id: str
    layer_hash: str
    steps: tuple[UndoStep, ...]


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One effect to take back."""

    call: int
    effect: str
    arguments: Mapping[str, Any]
    """As `lictor_prove.written_values` writes them."""
    result: Any
    """The same; None when it is not known."""


@dataclass(frozen=True, slots=True)
class LayerPlace:
    """Where a run finds its layer, and what it may use."""

    layer: str
    """The directory with `tools/<domain>/trusted` below."""
    limits: RunLimits = field(default_factory=RunLimits)
    environment: Mapping[str, str] | None = None
    """What the layer sees of the environment, beside what Python is started with; None for nothing."""


def approved_of(told: Mapping[str, Any]) -> Approved:
    """The order in a frame."""
    pairs = tuple((str(name), bool(required)) for name, required in told["guarantees"])
    return replace(Approved(**told), guarantees=pairs)


def undoing_of(told: Mapping[str, Any]) -> UndoOrder:
    """The order in a frame."""
    return replace(UndoOrder(**told), steps=tuple(UndoStep(**step) for step in told["steps"]))
