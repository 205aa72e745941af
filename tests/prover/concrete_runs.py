"""Programs run for real, with stand-ins that record every trusted call and answer something that the layer allows.

Only programs that `generated_programs` wrote are run: nothing in them reaches beyond the stand-ins.
"""

from __future__ import annotations

import copy
import math
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import CodeType, FrameType
from typing import Any, Protocol

from generated_expressions import TEXTS

from lictor_layer.rows import row_class

UserRow = row_class("UserRow", {"email": str, "name": str, "age": int, "active": bool})
OrderRow = row_class("OrderRow", {"stock": str, "shares": int, "approved": bool})
MARKED_NAME = r"nam\d+"
"""A name that nothing else is: in half of the runs, each name in a table is another one of them."""


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
MOST_LINES = 3_000
MOST_HELD = 2_000

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
    "everybody": (),
    "orders": ("desk",),
    "balance": ("account",),
    "bob": (),
    "sell": ("stock", "shares"),
    "lock": ("door",),
    "unlock": ("door",),
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


class TooLong(BaseException):
    """A program runs for ever, or makes what fills all memory."""


def runs(program: CodeType, seeds: Iterable[int]) -> list[Run]:
    """Runs main with answers that each seed decides; those that do not end soon are left out."""
    done: list[Run] = []
    for seed in seeds:
        with suppress(TooLong):
            done.append(run(program, seed))
    return done


def run(program: CodeType, seed: int) -> Run:
    """Runs main with answers that the seed decides; TooLong when it does not end soon."""
    lines = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != "<generated>":
            # What the library does there ends.
            return None
        lines += event == "line"
        sizes = (
            each.bit_length() if isinstance(each, int) else len(each)
            for each in frame.f_locals.values()
            if isinstance(each, int | str | list | dict | set)
        )
        if lines > MOST_LINES or max(sizes, default=0) > MOST_HELD:
            raise TooLong
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        return recorded(program, PARAMETERS, Answers(random.Random(seed)), CONSTANTS)
    finally:
        sys.settrace(before)


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
        self._is_marked = source.random() < 0.5
        self._rows = 0

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
            case "users" | "everybody":
                return [
                    self._row() for _ in range(self._random.randint(0, 3 + (effect != "users")))
                ]
            case "orders":
                return [self._order() for _ in range(self._random.randint(0, 5))]
            case "balance":
                return abs(self._number())
            case "bob":
                return "bob@example.com"
            case "names":
                return [self._text() for _ in range(self._random.randint(0, 4))]
            case _:
                return None

    def _text(self) -> str:
        return self._random.choice((*TEXTS, "zz", "carol@example.com"))

    def _number(self) -> int:
        return self._random.choice((0, 1, 2, -1, -2, 3, 7, -7, 1000, -(2**70), 2**70))

    def _row(self) -> Any:
        self._rows += 1
        return UserRow(
            email=f"u{self._rows}@example.com" if self._is_marked else self._text(),
            name=f"nam{self._rows}" if self._is_marked else self._text(),
            age=self._number(),
            active=self._random.random() < 0.5,
        )

    def _order(self) -> Any:
        self._rows += 1
        return OrderRow(
            stock=f"s{self._rows}" if self._is_marked else self._text(),
            shares=self._rows if self._is_marked else self._number(),
            approved=self._random.random() < 0.5,
        )
