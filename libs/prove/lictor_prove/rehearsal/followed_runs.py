"""Holds what a program did against its document, where values that the document declares unknown decide.

Nobody can predict such a run. So it is made, and must then fit the document: every call, every argument, how it ends,
and the guarantees with every call. What does not hang on an unknown is compared as exactly as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from lictor_ir.document import Document, Span
from lictor_ir.errors import BrokenPromiseError, DifferenceError, TooManyWaysError
from lictor_ir.evaluation.contract_monitor import UnkeptGuarantee
from lictor_ir.evaluation.following import Following
from lictor_ir.evaluation.partial_values import CallMakers
from lictor_ir.evaluation.steps import Trace
from lictor_ir.spelling.literals import read_int
from lictor_ir.types import FLOAT, Type
from lictor_ir.values import RowValue, Value
from lictor_prove.python.operations.whole_floats import SMALL
from lictor_prove.rehearsal.orders import ObservedCall, ObservedRun, PlannedRun
from lictor_prove.written_values import Json


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """What came of the comparison."""

    difference: str = ""
    """How the run differs from its document."""
    sites: frozenset[int] = frozenset()
    """The call sites that it certainly reached, by their numbers."""
    is_outside: bool = False
    """Whether a trusted call broke a promise: then no proof speaks about the run."""
    is_open: bool = False
    """Whether there are more ways than were followed, and none of those fits: then nothing is compared."""
    looked_at: int = 0
    """Ways that were looked at."""
    is_certain: bool = False
    """Whether it came to its end, and no way was given up because nobody can say how it goes on."""
    ways: Sequence[Trace] = ()
    """Some of the runs of the document that it may have been, as far as it went; all make the calls of Python."""
    traces: Sequence[Trace] = ()
    """The runs of the document that it may have been, all of them; none where there are too many."""


class _GivenCall(NamedTuple):
    """What a call was given, as documents know it, and the row classes among it."""

    effect: str
    arguments: Mapping[str, Value]
    schemas: frozenset[str]

    @classmethod
    def of(cls, call: ObservedCall, types: Mapping[tuple[str, str], Type]) -> _GivenCall:
        """An observed call, where parameters have these types."""
        given: dict[str, Value] = {}
        schemas: set[str] = set()
        for name, told in call.arguments.items():
            if isinstance(told, dict) and "rows" in told:
                schemas.add(cast(str, told["rows"]))
                continue
            value = ir_value(told)
            if (
                types.get((call.effect, name)) == FLOAT
                and type(value) is int
                and abs(value) <= SMALL
            ):
                value = float(value)
            given[name] = value
        return cls(call.effect, given, frozenset(schemas))


def followed(
    document: Document,
    planned: PlannedRun,
    observed: ObservedRun,
    raising: Sequence[Span],
    site_of: Mapping[str, int],
    *,
    most: int,
    monitored: bool = True,
) -> FollowedRun:
    """Whether a run is one of its document; `most`: ways that are looked at until it is left open.

    `site_of`: the number of the site that each atom stands at. `monitored`: it must keep the guarantees, call by call.
    """
    types = {
        (effect.name, each.name): each.type
        for effect in document.effects
        for each in effect.parameters
    }
    try:
        inputs = {name: ir_value(value) for name, value in planned.inputs.items()}
        calls = [_GivenCall.of(each, types) for each in observed.calls]
        following = Following(document, inputs, monitored=monitored, most=most)
    except DifferenceError as difference:
        return FollowedRun(str(difference))
    run = _followed(following, planned, calls, observed, raising)
    if not (run.difference or run.is_outside or run.is_open):
        sites = _certain_sites(following, CallMakers(document, inputs), calls, site_of)
        run = replace(run, sites=sites, traces=following.certain_traces)
    return replace(
        run,
        looked_at=following.looked_at,
        is_certain=observed.ended == "completed" and not following.has_open,
        ways=following.traces,
    )


def _certain_sites(
    following: Following,
    makers: CallMakers,
    calls: Sequence[_GivenCall],
    site_of: Mapping[str, int],
) -> frozenset[int]:
    """The sites of its calls in every way that it may have gone; and where no other site can have made a call."""
    ways = [{site_of[atom] for atom in made if atom in site_of} for made in following.made]
    certain = set[int].intersection(*ways) if ways else set[int]()
    for call in calls:
        atoms = makers.of(call.effect, call.arguments)
        made_at = {site_of[atom] for atom in atoms if atom in site_of}
        if len(made_at) == 1 and atoms <= site_of.keys():
            certain |= made_at
    return frozenset(certain)


def _followed(
    following: Following,
    planned: PlannedRun,
    calls: Sequence[_GivenCall],
    observed: ObservedRun,
    raising: Sequence[Span],
) -> FollowedRun:
    try:
        made: list[str] = []
        for number, call in enumerate(calls):
            following.called(call.effect, call.arguments, call.schemas)
            _keep(following.unkept())
            answer = planned.answer(call.effect, made)
            made.append(call.effect)
            if number == planned.fails_at or answer is None:
                break
            if answer.error:
                if following.failed():
                    is_last = number + 1 == len(calls)
                    if is_last and following.may_be_over and observed.ended == "raised":
                        return FollowedRun()
                    continue
                if number + 1 < len(calls) or observed.ended not in ("raised", "limit"):
                    return FollowedRun(f"it goes on after {call.effect} failed, and nothing should")
                return FollowedRun()
            following.returned(ir_value(answer.result))
        if observed.ended == "completed":
            following.ended()
            _keep(following.unkept())
    except BrokenPromiseError:
        return FollowedRun(is_outside=True)
    except TooManyWaysError:
        return FollowedRun(is_open=True)
    except DifferenceError as difference:
        return FollowedRun(str(difference))
    ends = "completed" if planned.fails_at is None else "failed"
    if observed.ended == "raised" and not any(
        span.line <= observed.line <= span.end_line for span in raising
    ):
        return FollowedRun(
            f"it raises {observed.error} in line {observed.line}, where nothing should raise"
        )
    if observed.ended == "unanswered":
        return FollowedRun("it makes a call that has no answer")
    # A call that should have failed may not have been come to: what is unknown decides how many there are.
    if observed.ended == "failed" and ends != "failed":
        return FollowedRun("a call fails that nobody told to fail")
    return FollowedRun()


def _keep(unkept: UnkeptGuarantee | None) -> None:
    if unkept is not None:
        what = "breaks" if unkept.open is None else f"can't be held to ({unkept.open})"
        raise DifferenceError(f"the run {what} {unkept.guarantee.name}, which is proved")


def ir_value(told: Json) -> Any:
    """A value that is written down, as documents know it."""
    if isinstance(told, list):
        return [ir_value(item) for item in cast(list[Json], told)]
    match told:
        case {"int": str(text)}:
            return read_int(text)
        case {"float": str(text)}:
            return float(text)
        case {"tuple": list()}:
            return tuple(ir_value(told["tuple"]))
        case {"set": list()}:
            return frozenset(ir_value(told["set"]))
        case {"map": list()}:
            return {ir_value(key): ir_value(item) for key, item in told["map"]}
        case {"row": str(schema), "columns": dict()}:
            return RowValue(
                schema, {name: ir_value(item) for name, item in told["columns"].items()}
            )
        case dict():
            names = sorted(cast(dict[str, Json], told))
            raise DifferenceError(f"a value is passed that no document knows: {names}")
        case _:
            return told
