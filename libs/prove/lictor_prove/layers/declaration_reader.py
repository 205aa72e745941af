"""Reads a loaded layer: what its modules declare, as the values of `lictor_prove.layer_model`."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib.util import decode_source
from types import FunctionType, ModuleType
from typing import TypeVar

from lictor_ir import document
from lictor_ir.terms import const
from lictor_ir.types import STR, Type, accepts
from lictor_layer import Event, Row
from lictor_layer.declarations import Condition, Declaration, declaration
from lictor_layer.fluents import Fluent, FluentUpdate
from lictor_layer.parameter_references import ParameterRef
from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import (
    EventUse,
    FluentUse,
    LayerParameter,
    Predicate,
    TrustedFunction,
)
from lictor_prove.layers import annotation_types
from lictor_prove.layers.changing_state import ChangingState
from lictor_prove.layers.decorator_checks import (
    check_decorators,
    check_no_effect_is_lost,
    check_wrappers,
    definition,
    names_of_builders,
)
from lictor_prove.layers.files import ModuleFile
from lictor_prove.layers.function_sources import FunctionSource, Sources
from lictor_prove.layers.isolated_modules import Runtime
from lictor_prove.layers.relation_vocabulary import Vocabulary

T = TypeVar("T")


class DeclarationReader:
    """Reads one layer, while its runtime is active."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._modules = runtime.modules
        self._by_module = {name: _source(file) for name, file in runtime.files.items()}
        self.changing = ChangingState(self._modules)
        for name, source in self._by_module.items():
            self.changing.read(name, source)
        self.rows: Mapping[str, type[Row]] = _named(self._row_classes())
        for name, row in self.rows.items():
            row.__lictor_schema__ = name
        self._annotations = annotation_types.Annotations(self._schema_name)
        self.schemas = {
            name: document.Schema(
                name,
                tuple(
                    document.Parameter(column, self._annotations.parameter(type_))
                    for column, type_ in row.__lictor_columns__.items()
                ),
            )
            for name, row in self.rows.items()
        }
        self.sources = Sources(
            {str(file.path): self._by_module[name] for name, file in runtime.files.items()},
            self.changing,
            _kin(self.rows),
            self.schemas,
        )
        self.events = self._read_events()
        self.fluents = self._read_fluents()
        self.functions: dict[str, TrustedFunction] = {}
        self.objects: dict[int, str] = {}
        self._places: dict[str, str] = {}
        for name, module in self._modules.items():
            self._read_functions(name, module)

    def source(self, module: str) -> FunctionSource:
        """The source of a module."""
        return self._by_module[module]

    def words(self) -> Vocabulary:
        """What relations may name."""
        performed = {use.event for function in self.functions.values() for use in function.events}
        written = {use.fluent for function in self.functions.values() for use in function.updates}
        return Vocabulary(
            self.functions,
            self.objects,
            self.events,
            frozenset(performed),
            {name: fluent for name, fluent in self.fluents.items() if name in written},
        )

    # -- rows, events, fluents ---------------------------------------------------------------------

    def _bound(self, kind: type[T]) -> Iterator[T]:
        """The objects of a kind that the modules bind, each once."""
        seen: set[int] = set()
        for module in self._modules.values():
            for value in list(module.__dict__.values()):
                if isinstance(value, kind) and id(value) not in seen:
                    seen.add(id(value))
                    yield value

    def _row_classes(self) -> list[type[Row]]:
        return [cls for cls in self._bound(type) if issubclass(cls, Row) and cls is not Row]

    def _schema_name(self, row: type[Row]) -> str:
        if not any(known is row for known in self.rows.values()):
            raise ProverConfigError(
                f"{row.__module__}.{row.__qualname__}: the row class is used, but no module of the layer"
                " binds it at its top level"
            )
        return row.__lictor_schema__

    def _read_events(self) -> Mapping[type, document.Event]:
        classes: dict[type, None] = {}
        for cls in self._bound(type):
            if issubclass(cls, Event):
                classes.update(dict.fromkeys(kind for kind in cls.__mro__ if _is_event(kind)))
        for function in self._bound(FunctionType):
            declared = declaration(function)
            for event in declared.performs if declared else ():
                classes.update(
                    dict.fromkeys(kind for kind in type(event).__mro__ if _is_event(kind))
                )
        names = {cls: name for name, cls in _named(list(classes)).items()}
        return {
            cls: document.Event(
                name,
                tuple(names[kind] for kind in cls.__mro__ if kind in names),
                tuple(
                    document.Parameter(field, self._annotations.parameter(type_))
                    for field, type_ in _event_fields(cls).items()
                ),
            )
            for cls, name in names.items()
        }

    def _read_fluents(self) -> Mapping[str, Fluent]:
        found: dict[str, Fluent] = {}
        declared = (declaration(function) for function in self._bound(FunctionType))
        written = [update.fluent for one in declared if one for update in one.sets]
        for fluent in [*self._bound(Fluent), *written]:
            if found.setdefault(fluent.name, fluent) is not fluent:
                raise ProverConfigError(
                    f"the layer has two fluents called {fluent.name!r}; rename one"
                )
        return found

    def declared_fluents(self) -> Mapping[str, document.Fluent]:
        """The fluents as documents hold them."""
        return {
            name: document.Fluent(
                name,
                self._annotations.parameter(fluent.key),
                self._annotations.parameter(fluent.value),
                const(fluent.initial),
            )
            for name, fluent in self.fluents.items()
        }

    # -- functions ---------------------------------------------------------------------------------

    def _read_functions(self, name: str, module: ModuleType) -> None:
        source = self._by_module[name]
        found: set[tuple[str, int]] = set()
        for value in list(module.__dict__.values()):
            declared = declaration(value)
            if declared is None or not declared.trusted or not isinstance(value, FunctionType):
                continue
            if value.__module__ != name:
                continue
            inner = inspect.unwrap(value)
            node = definition(source, inner.__name__, inner.__code__.co_firstlineno)
            place = f"{source.place}:{node.lineno}"
            found.add((node.name, node.lineno))
            if id(value) in self.objects:
                continue
            if node.name in self.functions:
                raise ProverConfigError(
                    f"{place}: there is another effect called {node.name}, in"
                    f" {self._places[node.name]}; a name means one effect, rename one of them"
                )
            check_decorators(source, node, module)
            check_wrappers(value, place)
            self._check_builders(source, node, module)
            self.functions[node.name] = self._function(name, value, inner, declared, place)
            self.objects[id(value)] = node.name
            self._places[node.name] = place
        check_no_effect_is_lost(source, module, found)

    def _check_builders(
        self, source: FunctionSource, node: ast.FunctionDef, module: ModuleType
    ) -> None:
        """What a call performs and sets is read once: what that rests on must not change."""
        for name in names_of_builders(node, module):
            why = self.changing.of_global(module.__name__, name, module.__dict__.get(name))
            if why is not None:
                raise ProverConfigError(
                    f"{source.place}:{node.lineno}: what {node.name} performs or sets is told with {name},"
                    f" which is no constant: {why}"
                )

    def _function(
        self,
        module: str,
        function: FunctionType,
        inner: Callable[..., object],
        declared: Declaration,
        place: str,
    ) -> TrustedFunction:
        hints = annotation_types.resolved(inner)
        parameters = tuple(
            self._parameter(parameter, hints, place)
            for parameter in inspect.signature(inner).parameters.values()
        )
        types = {parameter.name: parameter.type for parameter in parameters}
        returned = hints.get("return", inspect.Parameter.empty)
        variable = annotation_types.row_variable_of(returned)
        of_schema = next(
            (
                parameter.name
                for parameter in parameters
                if parameter.is_schema
                and variable is not None
                and annotation_types.row_variable_of(hints[parameter.name]) is variable
            ),
            None,
        )
        known = variable is None or of_schema is not None
        return TrustedFunction(
            name=function.__name__,
            module=module,
            parameters=parameters,
            result=self._annotations.result(returned) if known else None,
            result_of_schema=of_schema if known else None,
            requires=tuple(self._condition(condition) for condition in declared.requires),
            ensures=tuple(self._condition(condition) for condition in declared.ensures),
            markers=declared.markers,
            events=tuple(self._event(event, types, place) for event in declared.performs),
            updates=tuple(self._update(update, types, place) for update in declared.sets),
            documentation=inspect.getdoc(inner) or "",
        )

    def _parameter(
        self, parameter: inspect.Parameter, hints: Mapping[str, object], place: str
    ) -> LayerParameter:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ProverConfigError(
                f"{place}: an effect names its parameters one by one; *{parameter.name} can't be proved"
                " about"
            )
        annotation = hints.get(parameter.name)
        is_schema = annotation_types.takes_row_class(annotation)
        unknown = parameter.name not in hints
        return LayerParameter(
            parameter.name,
            # A row class stands in a document by the name of its schema.
            STR if is_schema else self._annotations.parameter(object if unknown else annotation),
            has_default=parameter.default is not parameter.empty,
            keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
            positional_only=parameter.kind is parameter.POSITIONAL_ONLY,
            is_schema=is_schema,
        )

    def _condition(self, condition: Condition) -> Predicate:
        read = self.sources.predicate(condition.predicate, condition.message)
        if not condition.of_result_alone:
            return read
        arguments = read.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        if len(positional) != 1:
            raise ProverConfigError(
                f"{read.place}: a postcondition over the result alone takes it by position"
            )
        if positional[0].arg == "result":
            return read
        return dataclasses.replace(read, node=_over_result(read))

    def _event(self, event: Event, types: Mapping[str, Type], place: str) -> EventUse:
        known = self.events[type(event)]
        uses: dict[str, str] = {}
        for field in known.fields:
            parameter: ParameterRef = getattr(event, field.name)
            if not accepts(field.type, types[parameter.name]):
                raise ProverConfigError(
                    f"{place}: {known.name}.{field.name} is {field.type}, and the parameter"
                    f" {parameter.name} is {types[parameter.name]}; they must agree"
                )
            uses[field.name] = parameter.name
        return EventUse(known.name, uses)

    def _update(self, update: FluentUpdate, types: Mapping[str, Type], place: str) -> FluentUse:
        parts: list[tuple[str | bool | int, bool]] = []
        for given, wanted in ((update.key, update.fluent.key), (update.value, update.fluent.value)):
            if not isinstance(given, ParameterRef):
                parts.append((given, False))
                continue
            if types[given.name] != self._annotations.parameter(wanted):
                raise ProverConfigError(
                    f"{place}: the fluent {update.fluent.name} takes {wanted.__name__}, and the parameter"
                    f" {given.name} is {types[given.name]}; they must agree"
                )
            parts.append((given.name, True))
        (key, key_is_parameter), (value, value_is_parameter) = parts
        return FluentUse(update.fluent.name, key, key_is_parameter, value, value_is_parameter)


def _source(file: ModuleFile) -> FunctionSource:
    return FunctionSource(file.place, decode_source(file.source))


def _is_event(kind: type) -> bool:
    return issubclass(kind, Event) and kind is not Event


def _event_fields(cls: type) -> Mapping[str, object]:
    hints: dict[str, object] = {}
    for kind in reversed(cls.__mro__):
        if _is_event(kind):
            hints.update(annotation_types.resolved(kind))
    return {field.name: hints.get(field.name, object) for field in dataclasses.fields(cls)}


ClassT = TypeVar("ClassT", bound=type)


def _named(classes: list[ClassT]) -> dict[str, ClassT]:
    """Names for classes: their own, with their module's before it where two share one."""
    own = [cls.__name__ for cls in classes]
    named: dict[str, ClassT] = {}
    for cls in classes:
        whole = f"{cls.__module__}_{cls.__qualname__}".replace(".", "_")
        name = cls.__name__ if own.count(cls.__name__) == 1 else whole
        if name in named:
            raise ProverConfigError(f"two classes of the layer are called {name}; rename one")
        named[name] = cls
    return named


def _kin(rows: Mapping[str, type[Row]]) -> Mapping[tuple[str, str], list[str]]:
    """For each column, the other classes above and below its own that have it, too."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, row in sorted(rows.items()):
        for other, kin in sorted(rows.items()):
            if other != name and (issubclass(kin, row) or issubclass(row, kin)):
                for column in row.__lictor_columns__.keys() & kin.__lictor_columns__.keys():
                    found.setdefault((name, column), []).append(other)
    return found


def _over_result(read: Predicate) -> ast.Lambda:
    """The lambda with its one parameter called `result`."""
    node = copy.deepcopy(read.node)
    (own,) = (each.arg for each in (*node.args.posonlyargs, *node.args.args))
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id == "result":
            raise ProverConfigError(
                f"{read.place}: call the parameter of this postcondition `result`"
            )
        if isinstance(part, ast.Name) and part.id == own:
            part.id = "result"
        elif isinstance(part, ast.arg) and part.arg == own:
            part.arg = "result"
    return node
