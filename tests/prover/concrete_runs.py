"""Programs run for real, with stand-ins that record every trusted call and answer something that the layer allows.

Only programs that `generated_programs` wrote are run: nothing in them reaches beyond the stand-ins.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import CodeType
from typing import Any, Protocol

from generated_expressions import TEXTS

from lictor_layer.rows import row_class

UserRow = row_class("UserRow", {"email": str, "name": str, "age": int, "active": bool})


class _Level(IntEnum):
    FIRST = 1


class _Person(StrEnum):
    BOB = "bob@example.com"


CONSTANTS: Mapping[str, Any] = {
    "LIMIT": 1,
    "OWNER": "bob@example.com",
    "LEVEL": _Level.FIRST,
    "PERSON": _Person.BOB,
}
"""What the layer binds beside its functions."""

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "send_email": ("addr", "msg"),
    "send_copies": ("addr", "copies", "urgent"),
    "pay": ("account", "amount"),
    "refund": ("amount",),
    "pay_float": ("amount",),
    "log": ("text",),
    "is_allowed": ("addr",),
    "lookup": ("name",),
    "number": (),
    "rate": (),
    "users": (),
    "names": (),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One trusted call: what was passed, as it was then, and what came back."""

    effect: str
    arguments: Mapping[str, Any]
    result: Any


@dataclass(slots=True)
class Run:
    """What a program did."""

    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: list[Call] = field(default_factory=list[Call])
    raised: Exception | None = None

    @property
    def refused(self) -> bool:
        """Whether a call broke what the layer demands: there the real function would have raised."""
        return any(call.effect == "refund" and call.arguments["amount"] < 0 for call in self.calls)

    def of(self, effect: str, field_: str) -> list[Any]:
        """That argument of every call of the function, in order."""
        return [call.arguments[field_] for call in self.calls if call.effect == effect]


def compiled(program: str) -> CodeType:
    """The program, ready to run."""
    return compile(program, "<generated>", "exec", dont_inherit=True)


class Answering(Protocol):
    """Who answers a program."""

    def give(self, effect: str) -> Any:
        """What a trusted function answers."""
        ...

    def input(self, kind: type) -> Any:
        """An input of main."""
        ...


def run(program: CodeType, seed: int) -> Run:
    """Runs main with answers that the seed decides."""
    return recorded(program, PARAMETERS, Answers(random.Random(seed)), CONSTANTS)


def recorded(
    program: CodeType,
    parameters: Mapping[str, tuple[str, ...]],
    answers: Answering,
    constants: Mapping[str, Any],
) -> Run:
    """Runs main with stand-ins for these trusted functions, beside what else the layer binds."""
    done = Run()

    def stand_in(effect: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            arguments = {**dict(zip(parameters[effect], given, strict=False)), **named}
            result = answers.give(effect)
            done.calls.append(Call(effect, copy.deepcopy(arguments), copy.deepcopy(result)))
            return result

        return call

    names: dict[str, Any] = {**constants, **{effect: stand_in(effect) for effect in parameters}}
    try:
        exec(program, names)  # noqa: S102 -- the text is ours: generated_programs or enumeration wrote it
        main = names["main"]
        wanted = {name: kind for name, kind in main.__annotations__.items() if name != "return"}
        done.inputs.update({name: answers.input(kind) for name, kind in wanted.items()})
        main(**done.inputs)
    except Exception as error:  # noqa: BLE001 -- whatever a program raises is what it did
        done.raised = error
    return done


class Answers:
    """What trusted calls return: within what the layer promises, and often equal to what programs compare with."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def input(self, kind: type) -> Any:
        """An input of main."""
        asked = {bool: "is_allowed", str: "lookup", int: "number", float: "rate"}
        return self.give(asked[kind])

    def give(self, effect: str) -> Any:
        """What a function answers."""
        match effect:
            case "is_allowed":
                return self._random.random() < 0.5
            case "lookup":
                return self._text()
            case "number":
                return self._number()
            case "rate":
                return self._random.choice((0.0, -0.0, 1.5, -3.25, math.nan, math.inf, 0.1, 1e308))
            case "users":
                return [self._row() for _ in range(self._random.randint(0, 3))]
            case "names":
                return [self._text() for _ in range(self._random.randint(0, 4))]
            case _:
                return None

    def _text(self) -> str:
        return self._random.choice((*TEXTS, "zz", "carol@example.com"))

    def _number(self) -> int:
        return self._random.choice((0, 1, 2, -1, -2, 3, 7, -7, 1000, -(2**70), 2**70))

    def _row(self) -> Any:
        return UserRow(
            email=self._text(),
            name=self._text(),
            age=self._number(),
            active=self._random.random() < 0.5,
        )
