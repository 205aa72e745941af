"""Performs the runs of an order: the original program, with stand-ins that record what they are given.

Called in a confined process. The answers are known here and nothing of what is expected, so a program can at worst lie
about itself.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NoReturn, cast

from lictor_layer.rows import RowType
from lictor_prove.errors import ProveError, ValueRefused
from lictor_prove.rehearsal.order_json import MAX_ERROR
from lictor_prove.rehearsal.orders import ObservedCall, ObservedRun, PlannedRun, StageOrder
from lictor_prove.rehearsal.outline import layer_of
from lictor_prove.written_values import Json, ValueReader, shortened, written
from lictor_run.rehearsal.confinement import StageLimits
from lictor_run.sandbox import Call, World, call_target, compiled, rows_of

_DIGITS: Final = "Exceeds the limit ("
"""How Python begins to say that an int has too many digits to be written."""

Ended = Literal["completed", "raised", "failed", "unanswered", "limit"]
Play = Callable[["Recorder"], None]
"""One run, with its own namespace."""


class RunOver(BaseException):
    """No answer is given any more: the run is over, whatever the program makes of this."""


class Budget:
    """How much may still be reported."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        """Whether there was so much left."""
        self.left -= size
        return self.left >= 0


class Recorder:
    """Answers the trusted calls of one run, and writes them down."""

    def __init__(self, run: PlannedRun, limits: StageLimits, budget: Budget) -> None:
        self.run = run
        self._limits = limits
        self._budget = budget
        self._calls: list[ObservedCall] = []
        self._ended: tuple[Ended, str] | None = None
        self._reader = ValueReader({})
        self._effects: Mapping[str, Json] = {}

    def knows(self, reader: ValueReader, effects: Mapping[str, Json]) -> None:
        """How answers become values: with the row classes of this run, and what its outline says of calls."""
        self._reader = reader
        self._effects = effects

    def call(self, effect: str, given: Mapping[str, Any]) -> Any:
        """What the trusted call returns in this run."""
        if self._ended is not None:
            raise RunOver
        number = len(self._calls)
        if number >= self._limits.calls:
            self._end("limit", f"it makes more than {self._limits.calls} calls")
        arguments = {
            name: _written(value, whole=not self.run.in_order) for name, value in given.items()
        }
        if not self._budget.take(len(json.dumps([effect, arguments]))):
            self._end("limit", "more is observed than may be reported")
        self._calls.append(ObservedCall(effect, arguments))
        if number == self.run.fails_at:
            self._end("failed", "")
        planned = self.run.answer(effect, [each.effect for each in self._calls[:-1]])
        if planned is None:
            self._end("unanswered", "")
        if planned.error:
            raise getattr(builtins, planned.error)("the call failed")
        try:
            answer = self._reader.read(planned.result)
            return _with_rows(answer, self._effects.get(effect, {}), given)
        except (ProveError, TypeError, ValueError) as error:
            self._end("unanswered", f"the answer can't be made: {error}")

    def _end(self, ended: Ended, error: str) -> NoReturn:
        self._ended = (ended, error[:MAX_ERROR])
        raise RunOver

    def observed(self, raised: BaseException | None, source_name: str) -> ObservedRun:
        """What was seen, when the program came to its end or raised this."""
        ended, error = self._ended or (("completed", "") if raised is None else _end_of(raised))
        line = _line_of(raised, source_name) if ended == "raised" else 0
        return ObservedRun(tuple(self._calls), ended, error, line)


def performed(order: StageOrder, limits: StageLimits) -> Iterator[ObservedRun]:
    """The runs of the order, one by one."""
    budget = Budget(limits.observed_bytes)
    play = _prepared(order)
    for run in order.runs:
        recorder = Recorder(run, limits, budget)
        raised: BaseException | None = None
        try:
            play(recorder)
        except BaseException as error:  # noqa: BLE001 -- whatever ends a program ends its run
            raised = error
        yield recorder.observed(raised, order.source_name)


def _prepared(order: StageOrder) -> Play:
    """How each run is played; a program that can't be compiled raises that in each."""
    try:
        return _python(order) if order.language == "python" else _commands(order)
    except (Exception, RunOver) as error:  # noqa: BLE001 -- what a compiler makes of any text
        broken = error

        def fail(_: Recorder) -> None:
            raise broken

        return fail


def _python(order: StageOrder) -> Play:
    code = compiled(ast.parse(order.source), order.source_name)

    def play(recorder: Recorder) -> None:
        rows = rows_of(order.outline)
        reader = ValueReader(rows)
        recorder.knows(reader, order.outline["effects"])
        world = World(order.outline, rows, recorder.call)
        names = world.run(code)
        for schema, row in world.rows(names).items():
            reader.add(schema, row)
        inputs = {name: reader.read(value) for name, value in recorder.run.inputs.items()}
        call_target(names[order.target], inputs)

    return play


def _commands(order: StageOrder) -> Play:
    # Imported by the warm parent before the first order of this kind.
    from lictor_prove.commands import execute, read_commands

    program = read_commands(order.source, layer=layer_of(order.outline))

    def play(recorder: Recorder) -> None:
        rows = rows_of(order.outline)
        reader = ValueReader(rows)
        recorder.knows(reader, order.outline["effects"])
        inputs = {name: reader.read(value) for name, value in recorder.run.inputs.items()}
        call: Call = recorder.call
        execute(program, inputs, call, rows=rows)

    return play


def _line_of(raised: BaseException | None, source_name: str) -> int:
    """The line of the program that raised, the innermost one."""
    line, at = 0, None if raised is None else raised.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == source_name:
            line = at.tb_lineno
        at = at.tb_next
    return line


def _end_of(raised: BaseException) -> tuple[Ended, str]:
    """How a run ended that raised: running out of something is no error of the program."""
    try:
        message = str(raised)[:MAX_ERROR]
    except BaseException:  # noqa: BLE001 -- a program may raise what can't be told
        message = ""
    error = f"{type(raised).__name__}: {message}"[:MAX_ERROR]
    ran_out = isinstance(raised, MemoryError | RecursionError) or (
        type(raised) is ValueError and message.startswith(_DIGITS)
    )
    return ("limit" if ran_out else "raised"), error


def _with_rows(answer: Any, told: Json, given: Mapping[str, Any]) -> Any:
    """The answer with rows where none are planned: of rows that its document never reads, it does not say the class."""
    row = given.get(told.get("of_schema") or "")
    if type(row) is not RowType:
        return answer
    if isinstance(answer, list):
        return [_with_rows(item, told, given) for item in cast(list[Any], answer)]
    if answer is not None:
        return answer
    return cast(Any, row)(**{name: type_() for name, type_ in row.__lictor_columns__.items()})


def _written(value: Any, *, whole: bool) -> Json:
    try:
        told = written(value)
        return told if whole else shortened(told)
    except ValueRefused:
        # No runner would let it cross, and no document says it: it is equal to nothing.
        return {"unwritable": type(value).__name__}


class _Nowhere(io.RawIOBase):
    """Takes what is written, and keeps nothing."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return len(data)


def nowhere() -> io.TextIOWrapper:
    """A stream for what programs print; it encodes as the runner's does."""
    return io.TextIOWrapper(
        io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="surrogateescape"
    )
