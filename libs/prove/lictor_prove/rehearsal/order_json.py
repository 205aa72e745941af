"""Orders and observations as JSON, for the way between processes.

An observation is written by a process that ran somebody's program: it is read as if the program had written it, and
says nothing that is believed beyond what that program did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from lictor_prove.errors import ProveError
from lictor_prove.python.machine.raised_errors import ERRORS
from lictor_prove.rehearsal.orders import (
    Answer,
    Json,
    Observation,
    ObservedCall,
    ObservedRun,
    PlannedRun,
    StageOrder,
)

MAX_DEPTH: Final = 100
"""How deep JSON of a stage may be nested; written values are never so deep."""
MAX_ERROR: Final = 2_000
_JSON: Final = json.JSONEncoder(separators=(",", ":"))
_ENDS: Final = frozenset({"completed", "raised", "failed", "unanswered", "limit"})


class MalformedMessage(ProveError):
    """What came from a stage, or went to one, is not what it should be."""


def order_bytes(order: StageOrder) -> bytes:
    """The order as JSON."""
    return _bytes(
        {
            "language": order.language,
            "source": order.source,
            "source_name": order.source_name,
            "target": order.target,
            "outline": order.outline,
            "runs": [_planned_json(run) for run in order.runs],
        }
    )


def order_of(data: bytes) -> StageOrder:
    """The order in these bytes; MalformedMessage otherwise."""
    told = _object(data)
    try:
        return StageOrder(
            language=_one_of(told["language"], frozenset({"python", "commands"})),
            source=_text(told["source"]),
            source_name=_text(told["source_name"]),
            target=_text(told["target"]),
            outline=_dict(told["outline"]),
            runs=tuple(_planned(each) for each in _list(told["runs"])),
        )
    except (KeyError, TypeError) as error:
        raise MalformedMessage(f"an order is malformed: {error}") from None


def observation_bytes(observation: Observation) -> bytes:
    """The observation as JSON."""
    runs = [_run_json(each) for each in observation.runs]
    return _bytes({"runs": runs, "refused": observation.refused, "python": observation.python})


def observation_of(data: bytes) -> Observation:
    """The observation in these bytes; MalformedMessage otherwise."""
    told = _object(data)
    try:
        return Observation(
            tuple(run_of(each) for each in _list(told["runs"])),
            _text(told["refused"]),
            _text(told["python"]),
        )
    except (KeyError, TypeError) as error:
        raise MalformedMessage(f"an observation is malformed: {error}") from None


def _run_json(run: ObservedRun) -> Json:
    """One run."""
    return {
        "calls": [{"effect": each.effect, "arguments": each.arguments} for each in run.calls],
        "ended": run.ended,
        "error": run.error,
        "line": run.line,
    }


def line_of(run: ObservedRun) -> bytes:
    """One line of the report of a stage."""
    return _bytes(_run_json(run)) + b"\n"


def run_of(told: Json) -> ObservedRun:
    """One run; KeyError or TypeError when it is none."""
    calls = tuple(
        ObservedCall(_text(each["effect"]), _dict(each["arguments"]))
        for each in _list(told["calls"])
    )
    ended, error = _one_of(told["ended"], _ENDS), _text(told["error"])[:MAX_ERROR]
    return ObservedRun(calls, ended, error, _number(told["line"]))


def run_lines(data: bytes) -> tuple[ObservedRun, ...]:
    """The runs that stand in these lines, without a last one that was not finished; MalformedMessage otherwise."""
    try:
        return tuple(run_of(_object(line)) for line in data.split(b"\n")[:-1])
    except (KeyError, TypeError) as error:
        raise MalformedMessage(f"a report is malformed: {error}") from None


def _planned_json(run: PlannedRun) -> Json:
    answers = [
        {"effect": each.effect, "result": each.result, "error": each.error} for each in run.answers
    ]
    return {
        "inputs": run.inputs,
        "answers": answers,
        "fails_at": run.fails_at,
        "in_order": run.in_order,
    }


def _planned(told: Json) -> PlannedRun:
    fails_at = told["fails_at"]
    if not (fails_at is None or type(fails_at) is int):
        raise TypeError("fails_at is no number")
    in_order = told["in_order"]
    if type(in_order) is not bool:
        raise TypeError("in_order is no bool")
    return PlannedRun(
        _dict(told["inputs"]),
        tuple(_answer(each) for each in _list(told["answers"])),
        fails_at,
        in_order,
    )


def _answer(told: Json) -> Answer:
    error = _text(told["error"])
    if error and error not in ERRORS:
        raise TypeError("an answer raises what is no error")
    return Answer(_text(told["effect"]), told["result"], error)


def _bytes(value: Json) -> bytes:
    return _JSON.encode(value).encode()


def _object(data: bytes) -> Mapping[str, Json]:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"it is not JSON: {type(error).__name__}") from None
    if not isinstance(told, dict) or _is_deep(cast(Json, told)):
        raise MalformedMessage(f"it is no object, or nested deeper than {MAX_DEPTH}")
    return cast(Mapping[str, Json], told)


def _is_deep(value: Json) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for held in level
            for item in (
                cast(list[Any], list(held.values()))
                if isinstance(held, dict)
                else cast(list[Any], held)
                if isinstance(held, list)
                else ()
            )
        ]
        if not level:
            return False
    return True


def _text(value: Json) -> str:
    if type(value) is not str:
        raise TypeError("a text is none")
    return value


def _number(value: Json) -> int:
    if type(value) is not int:
        raise TypeError("a number is none")
    return value


def _list(value: Json) -> list[Any]:
    if type(value) is not list:
        raise TypeError("a list is none")
    return cast(list[Any], value)


def _dict(value: Json) -> dict[str, Any]:
    if type(value) is not dict:
        raise TypeError("an object is none")
    return cast(dict[str, Any], value)


def _one_of(value: Json, known: frozenset[str]) -> Any:
    if value not in known:
        raise TypeError(f"{str(value)[:40]!r} is unknown")
    return value
