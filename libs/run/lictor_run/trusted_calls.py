"""The boundary between a program and its trusted layer: every trusted call of a run goes through here.

Proofs rest on two things that nobody could check before: that a trusted function is given what the document says, and
that it returns what it is annotated with and promises. Both are checked here, with exact types; and a call is written
down, durably, before it is made. What breaks either stops the run, and a run that was stopped makes no further call.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from lictor_ir.types import FLOAT, ListOf, RowOf, Type
from lictor_layer import NotDone
from lictor_layer.call_context import Call, calling
from lictor_layer.declarations import Compensation, Condition, Declaration, declaration
from lictor_layer.errors import ConditionError
from lictor_layer.rows import RowType
from lictor_prove.errors import ValueRefused
from lictor_prove.layer_model import TrustedFunction
from lictor_prove.layers.load import LivingLayer
from lictor_prove.proof.runnability import MAX_ARGUMENTS
from lictor_prove.python.interpreter.trusted_calls import ROW_VARIABLE
from lictor_prove.python.machine.raised_errors import ERRORS
from lictor_prove.python.operations.whole_floats import SMALL
from lictor_prove.written_values import Json, ValueReader, check_type, written
from lictor_run.errors import RunStopped
from lictor_run.lockstep import Lockstep, ir_value
from lictor_schema.approvals.run import UndoKind
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes
from lictor_schema.core.ids import idempotency_key

MAX_RESULT: Final = 256 * 1024
"""Bytes of a result that are kept in the journal."""


class Teller(Protocol):
    """Where calls are written down."""

    def started(
        self, call: int, effect: str, arguments: Mapping[str, Json], undo: UndoKind
    ) -> None:
        """Returns when it is durable; only then may the call be made."""
        ...

    def done(self, call: int, result: Json, result_hash: str, *, kept: bool) -> None: ...

    def failed(self, call: int, happened: str, code: str, message: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Bound:
    """A function of the layer, ready to be called."""

    declared: TrustedFunction
    real: Callable[..., Any]
    signature: inspect.Signature
    says: Declaration


class _Phase(Enum):
    """How far a run is."""

    BEFORE = "before the program began"
    RUNNING = "out of turn, or in another thread"
    CALLING = "while another call is made"
    OVER = "after the run was stopped or ended"


class Boundary:
    """Makes the trusted calls of one run."""

    def __init__(
        self,
        run_id: str,
        living: LivingLayer,
        reader: ValueReader,
        teller: Teller,
        lockstep: Lockstep,
    ) -> None:
        self._run_id = run_id
        self._living = living
        self._reader = reader
        self._teller = teller
        self._lockstep = lockstep
        self._calls = 0
        self._bound: dict[str, _Bound] = {}
        self._phase = _Phase.BEFORE
        self._stopped: RunStopped | None = None
        self._thread = threading.get_ident()

    def begin(self) -> None:
        """The program's target is called now: nothing may have an effect before."""
        self._enter(_Phase.BEFORE, _Phase.RUNNING, "the target is called twice")

    def call(self, effect: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """One call: what it returns, or RunStopped; then every further call is refused, whoever caught the first."""
        self._enter(_Phase.RUNNING, _Phase.CALLING, f"{effect} is called")
        try:
            value = self._call(effect, args, named)
        except RunStopped as stopped:
            self._phase, self._stopped = _Phase.OVER, stopped
            raise
        except BaseException:
            self._phase = _Phase.OVER
            raise
        self._enter(_Phase.CALLING, _Phase.RUNNING, f"{effect} returned")
        if isinstance(value, _Raised):
            raise value.error
        return value

    def _call(self, effect: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        function = self._function(effect)
        given, schemas = self._arguments(function, args, named)
        values = {name: self._reader.read(json) for name, json in given.items()}
        self._lockstep.expect(
            effect,
            {name: ir_value(value) for name, value in values.items() if name not in schemas},
            set(schemas.values()),
        )
        self._demand(function, given)
        number = self._calls
        self._calls += 1
        key = idempotency_key(self._run_id, number)
        self._teller.started(number, effect, given, undo_kind(function.says.compensation))
        try:
            returned = self._made(function, given, Call(self._run_id, effect, number, key))
        except _CallFailed as failed:
            stopped = self._failure(number, effect, failed.happened, failed.code, failed.message)
            if failed.error is None or not self._lockstep.failed():
                raise stopped from None
            return _Raised(failed.error)
        result = self._checked(function, number, given, schemas, returned)
        told = canonical_json(result)
        kept = len(told) <= MAX_RESULT
        self._teller.done(number, result if kept else None, hash_bytes(told), kept=kept)
        value = self._reader.read(result)
        self._lockstep.returned(value)
        return value

    def call_by_name(self, effect: str, arguments: Mapping[str, Any]) -> Any:
        """One call, as commands make it: every argument by its name."""
        by_position = [
            each.name for each in self._function(effect).declared.parameters if each.positional_only
        ]
        args = tuple(arguments[name] for name in by_position if name in arguments)
        named = {name: value for name, value in arguments.items() if name not in by_position}
        return self.call(effect, args, named)

    def complete(self) -> None:
        """The program is done; RunStopped when it should have gone on."""
        self._enter(_Phase.RUNNING, _Phase.OVER, "the program ended")
        self._lockstep.complete()

    def _enter(self, before: _Phase, after: _Phase, what: str) -> None:
        """From one phase to the next, in the one thread that the program runs in; anything else ends the run."""
        if self._stopped is not None:
            # Whatever the program made of it: this is why the run is over.
            raise self._stopped.with_traceback(None)
        if self._phase is not before or self._thread != threading.get_ident():
            found, self._phase = self._phase, _Phase.OVER
            raise _refused("call.out_of_turn", f"{what} {found.value}")
        self._phase = after

    def _function(self, effect: str) -> _Bound:
        if effect not in self._bound:
            decorated = self._living.function(effect)
            # Without the conditions around it: those are checked here, where it is known what their failure means.
            real = inspect.unwrap(decorated)
            says = declaration(decorated) or Declaration()
            declared = self._living.layer.functions[effect]
            self._bound[effect] = _Bound(declared, real, inspect.signature(real), says)
        return self._bound[effect]

    def _arguments(
        self, function: _Bound, args: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[dict[str, Json], dict[str, str]]:
        """What the call is given, written; and the schemas of the row classes among it."""
        name = function.declared.name
        try:
            bound = function.signature.bind(*args, **named).arguments
        except TypeError as error:
            raise _refused("call.arguments", f"{name}: {error}") from None
        if unseen := bound.keys() - {each.name for each in function.declared.parameters}:
            raise _refused(
                "call.arguments", f"{name} is given {min(unseen)}, which nobody looked at"
            )
        given: dict[str, Json] = {}
        schemas: dict[str, str] = {}
        for parameter in function.declared.parameters:
            if parameter.name not in bound:
                continue
            value: Any = bound[parameter.name]
            what = f"{parameter.name} of {name}"
            try:
                if parameter.is_schema:
                    if type(value) is not RowType:
                        raise ValueRefused(f"{what} must be a row class")
                    schemas[parameter.name] = value.__lictor_schema__
                else:
                    value = _as_declared(value, parameter.type)
                    check_type(value, parameter.type, what)
                given[parameter.name] = written(value)
            except ValueRefused as error:
                raise _refused("argument.type", str(error)) from None
        if len(canonical_json(given)) > MAX_ARGUMENTS:
            raise _refused(
                "argument.size", f"{name} is given more than {MAX_ARGUMENTS} bytes; give it less"
            )
        return given, schemas

    def _demand(self, function: _Bound, given: Mapping[str, Json]) -> None:
        for condition in function.says.requires:
            if not self._holds(function, condition, given):
                what = condition.message or "a precondition"
                raise _refused(
                    "precondition.broken",
                    f"{function.declared.name} would be called against: {what}",
                )

    def _made(self, function: _Bound, given: Mapping[str, Json], call: Call) -> Any:
        bound = function.signature.bind_partial()
        bound.arguments.update({name: self._reader.read(value) for name, value in given.items()})
        try:
            with calling(call):
                return function.real(*bound.args, **bound.kwargs)
        except NotDone as error:
            raise _CallFailed("no", "effect.not_done", f"{error}", as_builtin(error)) from None
        except BaseException as error:  # noqa: BLE001 -- whatever it is, the effect may have happened
            told = f"{type(error).__name__}: {error}"
            raise _CallFailed("unknown", "effect.raised", told, as_builtin(error)) from None

    def _checked(
        self,
        function: _Bound,
        number: int,
        given: Mapping[str, Json],
        schemas: Mapping[str, str],
        returned: Any,
    ) -> Json:
        """What it returned, written; it must be what is annotated, and keep what is promised."""
        name = function.declared.name
        try:
            wanted = _result_type(function.declared, schemas)
            check_type(returned, wanted, f"what {name} returned")
            result = written(returned)
            # Reading it makes rows anew, which checks their columns.
            self._reader.read(result)
        except (ValueRefused, TypeError, CanonicalError) as error:
            raise self._failure(number, name, "yes", "result.type", str(error)) from None
        for condition in function.says.ensures:
            if not self._holds(function, condition, given, result):
                what = condition.message or "its postcondition"
                raise self._failure(number, name, "yes", "promise.broken", f"it broke {what}")
        return result

    def _holds(
        self,
        function: _Bound,
        condition: Condition,
        given: Mapping[str, Json],
        *result: Json,
    ) -> bool:
        """A condition of a call, about values of its own; one that raises does not hold."""
        results = [self._reader.read(each) for each in result]
        bound = function.signature.bind_partial()
        bound.arguments.update({name: self._reader.read(value) for name, value in given.items()})
        bound.apply_defaults()
        try:
            if results and condition.of_result_alone:
                return bool(condition.predicate(*results))
            names = [
                name
                for name in inspect.signature(condition.predicate).parameters
                if name != "result"
            ]
            told = {name: bound.arguments[name] for name in names}
            if results:
                told["result"] = results[0]
            return bool(condition.predicate(**told))
        except Exception:  # noqa: BLE001 -- it says nothing that anybody could rely on
            return False

    def _failure(
        self, number: int, effect: str, happened: str, code: str, message: str
    ) -> RunStopped:
        self._teller.failed(number, happened, code, message)
        return RunStopped(
            code,
            f"call {number}, {effect}: {message}",
            "look at the trusted layer and what it talks to, then have the program approved again",
        )


class _CallFailed(Exception):
    """A function of the layer raised."""

    def __init__(self, happened: str, code: str, message: str, error: Exception | None) -> None:
        super().__init__(message)
        self.happened = happened
        self.code = code
        self.message = message
        self.error = error
        """What the program is given of it; None for what no program may handle."""


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a call raises in the program."""

    error: Exception


def as_builtin(error: BaseException) -> Exception | None:
    """An error of the layer as the nearest builtin one, with its text: objects of the layer stay on their side.

    None for what ends every run: no memory, no stack, an interrupt, a condition that does not hold inside of the layer.
    """
    ends = MemoryError | RecursionError | ConditionError
    if not isinstance(error, Exception) or isinstance(error, ends):
        return None
    nearest = next(
        each
        for each in type(error).__mro__
        if each.__name__ in ERRORS and each.__module__ == "builtins"
    )
    plain = all(type(each) in (str, int, float, bool) for each in error.args)
    try:
        made = nearest(*error.args) if plain else nearest(str(error))
    except Exception:  # noqa: BLE001 -- a class of the layer may do anything with its text
        return nearest()
    return made


def undo_kind(compensation: Compensation | None) -> UndoKind:
    """Whether an effect can be taken back."""
    if compensation is None:
        return UndoKind.IMPOSSIBLE
    if compensation.undo is None:
        return UndoKind.NEEDLESS
    return UndoKind.ALWAYS if compensation.when_in_doubt else UndoKind.POSSIBLE


def _as_declared(value: Any, wanted: Type) -> Any:
    # As documents do it: a small whole number stands for the equal float where one is declared.
    if wanted == FLOAT and type(value) is int and abs(value) <= SMALL:
        return float(value)
    return value


def _result_type(function: TrustedFunction, schemas: Mapping[str, str]) -> Type:
    if function.result is None:
        raise ValueRefused(f"what {function.name} returns has no model")
    return _of_schema(function.result, schemas.get(function.result_of_schema or ""))


def _of_schema(type_: Type, schema: str | None) -> Type:
    match type_:
        case ListOf(item):
            return ListOf(_of_schema(item, schema))
        case RowOf(name) if name == ROW_VARIABLE and schema is not None:
            return RowOf(schema)
        case _:
            return type_


def _refused(code: str, message: str) -> RunStopped:
    return RunStopped(
        code,
        message,
        "report this program: it was proved not to do this; it must not run",
    )
