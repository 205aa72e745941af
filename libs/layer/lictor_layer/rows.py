"""Rows of tables, as trusted functions return them.

    class UserRow(Row):
        name: str
        email: str

An instance is a value: it is made with keywords, its columns have the types they are declared with, and it never
changes. The class itself names its columns: `UserRow.email` says "the column email of a UserRow" in a contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NoReturn, cast

from lictor_layer.errors import DeclarationError, LayerError

COLUMN_TYPES: Final[Mapping[str, type]] = {"str": str, "int": int, "bool": bool, "float": float}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row class: in a predicate, `e.addr == UserRow.email` says whence the value came."""

    __lictor_column__: ClassVar[bool] = True

    schema: str
    column: str
    row: type | None = None
    """The class that it is a column of; two classes may share a name."""


class RowType(type):
    """The class of row classes: columns come from annotations, and are told by their names."""

    __lictor_columns__: dict[str, type]
    __lictor_schema__: str
    """What documents call it: its name, unless two classes of a layer share it."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> RowType:
        columns: dict[str, type] = {}
        _check_meaning(name, bases, namespace)
        for base in bases:
            assert isinstance(base, RowType)
            columns.update(base.__lictor_columns__)
        for column, annotation in _annotations(namespace).items():
            if not bases:
                continue
            if column.startswith("_"):
                raise DeclarationError(
                    f"{name}.{column}: the name of a column begins with a letter"
                )
            if column in namespace:
                raise DeclarationError(f"{name}.{column} has a default; a column has none")
            columns[column] = _column_type(f"{name}.{column}", annotation)
        methods = {name for base in bases for kind in base.__mro__ for name in vars(kind)}
        shadowed = [column for column in columns if column in namespace or column in methods]
        if shadowed:
            raise DeclarationError(f"{name} redefines the columns {', '.join(shadowed)}")
        namespace["__slots__"] = ("_columns",) if bases == () else ()
        # Layers read `Schema.__annotations__` for their columns, evaluated or not.
        namespace["__annotations__"] = dict(columns)
        made = super().__new__(mcs, name, bases, namespace)
        made.__lictor_columns__ = columns
        made.__lictor_schema__ = name
        return made

    def __getattribute__(cls, name: str) -> Any:
        if not name.startswith("_"):
            columns = type.__getattribute__(cls, "__lictor_columns__")
            if name in columns:
                return Column(cls.__lictor_schema__, name, cls)
        return type.__getattribute__(cls, name)

    def __setattr__(cls, name: str, value: object) -> None:
        # Python finds what the class has before what the row holds.
        if not name.startswith("_") and any(
            name in kind.__lictor_columns__ for kind in _below(cls)
        ):
            raise DeclarationError(f"{cls.__name__}.{name} is a column, which can't be assigned")
        super().__setattr__(name, value)


def _below(row: RowType) -> Iterator[RowType]:
    """The class, and all below it."""
    yield row
    for kind in row.__subclasses__():
        yield from _below(kind)


def _check_meaning(name: str, bases: tuple[type, ...], namespace: Mapping[str, Any]) -> None:
    """Proofs rest on what a row is: equal by its columns, always true, iterated as pairs. No class says otherwise."""
    for base in bases:
        if not isinstance(base, RowType):
            raise DeclarationError(f"{name} is a {base.__name__} too; a row is a row only")
    for given in namespace:
        if bases and given.startswith("_") and given not in _METADATA:
            raise DeclarationError(
                f"{name}.{given} changes what Python does with a row; a row has columns, and methods under plain names"
            )


_METADATA: Final = frozenset(
    {
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__classcell__",
        "__classdictcell__",
        "__conditional_annotations__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__qualname__",
        "__static_attributes__",
        "__type_params__",
    }
)
"""What Python itself puts into the body of a class."""


def _annotations(namespace: Mapping[str, Any]) -> Mapping[str, Any]:
    if "__annotations__" in namespace:
        return namespace["__annotations__"]
    annotate = namespace.get("__annotate_func__") or namespace.get("__annotate__")
    # Python 3.14 evaluates annotations late; 1 asks for their values.
    return cast(Mapping[str, Any], annotate(1)) if callable(annotate) else {}


def _column_type(where: str, annotation: object) -> type:
    known = COLUMN_TYPES.get(annotation) if isinstance(annotation, str) else annotation
    if isinstance(known, type) and known in COLUMN_TYPES.values():
        return known
    raise DeclarationError(f"{where} is {annotation!r}; a column is a str, int, bool or float")


class Row(metaclass=RowType):
    """Base of row classes."""

    _columns: Mapping[str, Any]

    def __init__(self, /, **columns: Any) -> None:
        declared = type(self).__lictor_columns__
        for problem, names in (
            ("lacks", declared.keys() - columns.keys()),
            ("has no columns", columns.keys() - declared.keys()),
        ):
            if names:
                raise TypeError(f"{type(self).__name__} {problem} {', '.join(sorted(names))}")
        for name, wanted in declared.items():
            # Proofs rest on these types; a bool is no int here, for it prints differently.
            if type(columns[name]) is not wanted:
                raise TypeError(
                    f"{type(self).__name__}.{name} is a {wanted.__name__},"
                    f" not {type(columns[name]).__name__}"
                )
        object.__setattr__(self, "_columns", {name: columns[name] for name in declared})

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_columns")[name]
        except (AttributeError, KeyError):
            raise AttributeError(f"{type(self).__name__} has no column {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._columns.items())

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Row):
            return NotImplemented
        return self._columns == other._columns

    def __hash__(self) -> int:
        return hash((type(self), *self._columns.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), dict(self))


def _remade(row: type[Row], columns: dict[str, Any]) -> Row:
    return row(**columns)


def row_class(name: str, columns: Mapping[str, type]) -> type[Row]:
    """A row class made from data."""
    return cast(type[Row], RowType(name, (Row,), {"__annotations__": dict(columns)}))


ORIGIN_ATTRIBUTE: Final = "__lictor_origin__"


def comes_from(value: object, column: object) -> bool:
    """The value is this column of a row that a trusted call returned, unchanged."""
    _only_proved("comes_from", value, column)


def same_row(*pairs: tuple[object, object]) -> bool:
    """The values are these columns of one and the same row that a trusted call returned."""
    _only_proved("same_row", *pairs)


def _only_proved(name: str, *_: object) -> NoReturn:
    raise LayerError(f"{name} is decided by the prover, in the lambdas of contracts; it can't run")


setattr(comes_from, ORIGIN_ATTRIBUTE, "from")
setattr(same_row, ORIGIN_ATTRIBUTE, "same_row")
