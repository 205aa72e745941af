"""One enumerated program: refused, or its document says what Python does with every answer."""

from __future__ import annotations

import contextlib
import copy
import io
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from concrete_runs import Answering, Run, compiled, recorded
from differential import Differential
from enumeration.operands import ANSWERS, CONSTANTS, HOME, PARAMETERS, SCHEMAS
from predicted_traces import alike, ir_value

from lictor_ir.document import Document
from lictor_ir.errors import UnspecifiedError
from lictor_ir.provenance import made_of
from lictor_prove.errors import Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.python import read_program

RUNS = 8
CHOSEN = 3
"""Of how many sets of answers one is changed at a time, to see what it flows into."""
FORBIDDEN = re.compile(
    r"(?<![.\w])(__import__|breakpoint|compile|copyright|credits|delattr|eval|exec|exit|globals|help|input"
    r"|license|locals|open|quit|setattr|vars)\b"
)
"""What is not even run here: it must be refused."""
_LAYER = "tools.probe.trusted"


@dataclass(frozen=True)
class Combination:
    """One program: what stands in its main, and what is imported for it."""

    section: str
    body: tuple[str, ...]

    @property
    def text(self) -> str:
        """The program, without what it imports from the layer."""
        body = "\n".join(self.body)
        lines = [
            f"import {name}"
            for name in ("contextlib", "math", "re", "string")
            if _named(name, body)
        ]
        lines += [
            f"from collections import {name}"
            for name in ("Counter", "defaultdict")
            if _named(name, body)
        ]
        if _named("Own", body):
            lines += ["from lictor_layer import Row", "", "class Own(Row):", "    text: str", ""]
        if _named("Cold", body) or _named("Warm", body):
            lines += ["from dataclasses import dataclass", "", *_DATACLASSES]
        if _named("helper", body):
            lines += ["def helper():", "    return 1", ""]
        lines += ["def main() -> None:", *(f"    {line}" for line in self.body)]
        return "\n".join(lines) + "\n"

    @property
    def source(self) -> str:
        """The program as the front-end reads it."""
        body = "\n".join(self.body)
        imports = [
            f"from {_LAYER}.{module} import {', '.join(used)}"
            for module, names in _MEMBERS.items()
            if (used := [name for name in names if _named(name, body)])
        ]
        return "\n".join((*imports, self.text))


_DATACLASSES = (
    *("@dataclass(frozen=True)", "class Cold:", "    text: str", "    count: int = 1", ""),
    *("@dataclass", "class Warm:", "    text: str", "    count: int = 1", ""),
)
_MEMBERS = {"effects": PARAMETERS, "schemas": SCHEMAS, "constants": CONSTANTS}


@cache
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![.\w]){name}\b")


def _named(name: str, body: str) -> bool:
    return name in body and _word(name).search(body) is not None


@dataclass(frozen=True)
class Difference:
    """A program whose document says something else than Python does."""

    combination: Combination
    what: str

    def __str__(self) -> str:
        return f"[{self.combination.section}] {self.what}\n{self.combination.source}"


class Answers:
    """The answers of one run; the first runs are those in which all calls of a function answer alike."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._random = random.Random(number)

    def give(self, effect: str) -> Any:
        options = ANSWERS[effect]
        if self._number < RUNS // 2:
            return copy.deepcopy(options[self._number % len(options)])
        return copy.deepcopy(self._random.choice(options))

    def input(self, kind: type) -> Any:
        raise AssertionError(f"main takes no {kind}")


class Chosen:
    """The same answers each time, but for one call."""

    def __init__(self, effects: Sequence[str], number: int, at: int, answer: Any) -> None:
        options = [
            ANSWERS[name][(number + place) % len(ANSWERS[name])]
            for place, name in enumerate(effects)
        ]
        options[at] = answer
        self._left = iter(options)

    def give(self, effect: str) -> Any:
        return copy.deepcopy(next(self._left, ANSWERS[effect][0]))

    def input(self, kind: type) -> Any:
        raise AssertionError(f"main takes no {kind}")


@cache
def probe() -> Layer:
    """The layer that enumerated programs call."""
    return load_layer([HOME], [HOME.parents[2]])


def compared(combination: Combination) -> Difference | str:
    """`rejected`, `accepted`, or `unknown` where the document declares a value so; `cautious` where it demands more
    than Python does or leaves a value open: then nothing is proved, or the run stops. Or what differs.
    """
    try:
        document = read_program(combination.source, name="enumerated.py", layer=probe())
    except Rejected:
        return "rejected"
    except Exception as error:  # noqa: BLE001 -- nothing that is written in a program may stop the reader
        return Difference(combination, f"reading raises {error!r}")
    if FORBIDDEN.search("\n".join(combination.body)):
        return Difference(combination, "this must be refused")
    outcome = "unknown" if document.unknowns else "accepted"
    for done in _runs(combination):
        try:
            if _is_cautious(combination, document, done):
                outcome = "cautious"
        except Exception as error:  # noqa: BLE001 -- an evaluation that fails is one that differs
            return Difference(combination, f"{type(error).__name__}: {error}; {_told(done)}")
    unlabelled = _unlabelled(combination, document) if document.unknowns else ""
    return Difference(combination, unlabelled) if unlabelled else outcome


def _unlabelled(combination: Combination, document: Document) -> str:
    """What an answer changes of an unknown that is no label of it; empty where there is nothing."""
    code = compiled(combination.text)
    effects = [each.effect for each in document.atoms]
    shown = [each for each in document.atoms if each.effect == "observe"]
    asked = [at for at, name in enumerate(effects) if len(ANSWERS[name]) > 1]
    if len(shown) != 1 or not asked:
        # Where calls differ by path, it is the path that differs.
        return ""
    made = made_of(shown[0].arguments.values(), (), document.unknowns)
    labels = {label.partition(".")[0] for label in made}
    for at in asked:
        if document.atoms[at].id in labels:
            continue
        for chosen in range(CHOSEN):
            seen: Any = None
            for option in ANSWERS[effects[at]]:
                done = _run(code, Chosen(effects, chosen, at, option))
                if done.raised is not None or [each.effect for each in done.calls] != effects:
                    continue
                value = done.of("observe", "value")
                if seen is not None and not alike(ir_value(seen), ir_value(value)):
                    return f"the answer of call {at} flows into what is observed, and is no label of it: {made}"
                seen = value
    return ""


def _runs(combination: Combination) -> Sequence[Run]:
    code = compiled(combination.text)
    asks = any(_named(name, combination.text) for name in ANSWERS if len(ANSWERS[name]) > 1)
    return [_run(code, Answers(number)) for number in range(RUNS if asks else 1)]


def _run(code: CodeType, answers: Answering) -> Run:
    with contextlib.redirect_stdout(io.StringIO()):
        return recorded(code, PARAMETERS, answers, {**CONSTANTS, **SCHEMAS})


def _is_cautious(combination: Combination, document: Document, done: Run) -> bool:
    """Whether the document says less than what happened; raises when it says something else."""
    if isinstance(done.raised, MemoryError | RecursionError):
        return False
    differential = Differential(
        probe(),
        source_lines=combination.source.splitlines(),
        program_lines=combination.text.splitlines(),
    )
    try:
        differential.predict(document, done, ())
    except UnspecifiedError:
        return True
    return differential.tally["needless obligations"] > 0


def _told(done: Run) -> str:
    answers = [each.result for each in done.calls if each.effect != "observe"]
    seen = [each.arguments["value"] for each in done.calls if each.effect == "observe"]
    ended = f", and raises {done.raised!r}" if done.raised else ""
    return f"with the answers {answers} Python observes {seen}{ended}"
