"""A layer with every kind of name, and orders for programs under it: for tests of the stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.rehearsal.orders import Answer, ObservedRun, PlannedRun, StageOrder
from lictor_prove.rehearsal.outline import outline_of
from lictor_prove.written_values import written

EFFECTS = """
    import enum
    from lictor_layer import Row, contract, effect, trusted

    LIMIT = 100
    RATE = 0.5
    NAME = "shop"

    class Loud(str):
        pass

    LOUD = Loud("loud")

    class Kind(enum.StrEnum):
        SMALL = "small"
        LARGE = "large"

    LARGE = Kind.LARGE

    class Coded(enum.Enum):
        ONE = 1
        def __str__(self):
            return "one"

    ONE = Coded.ONE
    NOTES = []

    class Account(Row):
        name: str
        cents: int

    @trusted
    def accounts() -> list[Account]:
        raise AssertionError("the layer runs")

    @trusted
    def balance(name: str) -> int:
        raise AssertionError("the layer runs")

    @trusted
    def pay(name: str, /, cents: int, note: str = "none", *, urgent: bool = False, by: str = "") -> None:
        raise AssertionError("the layer runs")

    @trusted
    def only_keywords(*, call: int, call_absent: int = 1) -> None:
        raise AssertionError("the layer runs")

    @trusted
    def only_positions(a: int, b: int = 2, /) -> None:
        raise AssertionError("the layer runs")

    @trusted
    def save(items: list[int]) -> None:
        raise AssertionError("the layer runs")

    @contract
    def nothing():
        return effect(pay).empty()
"""
ROWS_OF_ANY_CLASS = """
    from typing import TypeVar

    RowT = TypeVar("RowT", bound=Row)

    @trusted
    def rows(table: type[RowT]) -> list[RowT]:
        raise AssertionError("the layer runs")
"""
IMPORTS = (
    "from tools.shop.trusted.effects import accounts, balance, pay, save, only_keywords, only_positions\n"
    "from tools.shop.trusted import effects\n"
)


def shop(folder: Path, more: str = "") -> Layer:
    """The layer, with more in it."""
    trusted = folder / "tools" / "shop" / "trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text(dedent(EFFECTS) + dedent(more))
    return load_layer(discover_trusted_roots([folder]), [folder])


def program(body: str, *, parameters: str = "", more: str = "") -> str:
    """A program with this body."""
    inner = "\n".join("    " + line for line in dedent(body).strip("\n").splitlines())
    return f"{IMPORTS}{dedent(more)}\ndef main({parameters}):\n{inner}\n"


def planned(
    *answers: tuple[str, Any],
    inputs: Mapping[str, Any] | None = None,
    fails_at: int | None = None,
) -> PlannedRun:
    """A run with these answers."""
    return PlannedRun(
        {name: written(value) for name, value in (inputs or {}).items()},
        tuple(Answer(effect, written(result)) for effect, result in answers),
        fails_at,
    )


def ordered(layer: Layer, source: str, *runs: PlannedRun, language: Any = "python") -> StageOrder:
    """An order; one run without answers unless there are others."""
    return StageOrder(
        language, source, "program.py", "main", outline_of(layer), runs or (planned(),)
    )


def told(run: ObservedRun) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The calls of a run."""
    return [(call.effect, call.arguments) for call in run.calls]
