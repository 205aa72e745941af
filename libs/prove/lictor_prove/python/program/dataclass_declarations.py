"""Dataclasses that a program declares.

What annotations say of a field is of no interest: Python does not look at it, but for the few names that make it no
field. Everything else that a class statement may do is refused, with what to write instead.
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Callable, Collection, Iterator
from typing import Final, NoReturn

from lictor_prove.python.interpreter.calls import function_value, literal_default
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    DataClass,
    DataField,
    FunctionV,
    HintV,
    LanguageV,
    SymbolicValue,
    is_known,
)
from lictor_prove.python.program.annotations import of_function
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.error_names import check_error_names
from lictor_prove.python.syntax.walking import nodes_below

Resolve = Callable[[ast.expr], SymbolicValue | None]
"""What a dotted name means at module level; None for anything else."""

_EITHER: Final = (True, False)
_OPTIONS: Final[dict[str, tuple[bool, ...]]] = {
    "frozen": _EITHER,
    "slots": _EITHER,
    "kw_only": _EITHER,
    "match_args": _EITHER,
    "init": (True,),
    "repr": (True,),
    "eq": (True,),
    "order": (False,),
    "unsafe_hash": (False,),
}
"""What `@dataclass(…)` may say."""
_INSTEAD: Final = {
    "order": "Sort with a key: sorted(lines, key=lambda line: line.amount).",
    "eq": "Compare fields.",
    "unsafe_hash": "Write frozen=True.",
}
_LOOKED_UP: Final = ("NotImplemented", "hash", "super", "type")
"""What the methods that Python writes look up in the module of the class."""
_FACTORIES: Final = ("list", "dict", "set")


def assigned_attributes(tree: ast.AST) -> frozenset[str]:
    """The attributes that a program assigns to, of whatever it may be."""
    return frozenset(
        node.attr
        for node in nodes_below(tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    )


def read_dataclass(
    machine: Machine,
    node: ast.ClassDef,
    resolve: Resolve,
    names: Collection[str],
    assigned: Collection[str],
) -> DataClass:
    """The dataclass that a statement declares.

    `names` are those that the module binds, and `assigned` the attributes that the program assigns to.
    """
    options = _options(node, resolve)
    if node.bases or node.keywords:
        refuse(
            "dataclass.bases",
            "a dataclass inherits from nothing here",
            "Repeat the fields, or hold the other instance in a field.",
            (node.bases or [keyword.value for keyword in node.keywords])[0],
        )
    _check_name(node.name, node)
    for name in _LOOKED_UP:
        if name in names:
            refuse(
                "dataclass.name",
                f"the module binds {name}, and what Python writes for a dataclass would use it",
                "Rename it.",
                node,
            )
    fields: list[DataField] = []
    methods: dict[str, FunctionV] = {}
    for statement in node.body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                continue
            case ast.AnnAssign(target=ast.Name(id=name), simple=1):
                _check_annotation(statement.annotation, resolve)
                fields.append(_field(machine, statement, name, options, resolve, names))
            case ast.FunctionDef(name=name):
                methods[name] = _method(machine, statement)
            case _:
                refuse(
                    "dataclass.body",
                    "the body of a dataclass holds fields and methods, and nothing else",
                    "Write `name: str`, or `amount: int = 0`; bind constants at module level.",
                    statement,
                )
        _check_name(name, statement)
        if [*(each.name for each in fields), *methods].count(name) > 1:
            refuse("dataclass.name", f"{name} stands there twice", "Rename one.", statement)
    _check_shadows(node)
    _check_order(node, fields)
    return DataClass(
        node.name,
        tuple(fields),
        is_frozen=options.get("frozen", False),
        is_assigned=any(each.name in assigned for each in fields),
        methods=methods,
    )


def is_dataclass(node: ast.ClassDef, resolve: Resolve) -> bool:
    """Whether a class is decorated as a dataclass, however it goes on."""
    return any(_is(each, "dataclass", resolve) for each in node.decorator_list)


def _is(node: ast.expr, name: str, resolve: Resolve) -> bool:
    value = resolve(node.func if isinstance(node, ast.Call) else node)
    return isinstance(value, LanguageV) and value.name == name


def _options(node: ast.ClassDef, resolve: Resolve) -> dict[str, bool]:
    if len(node.decorator_list) > 1:
        refuse(
            "dataclass.decorator",
            "a dataclass has one decorator",
            "Leave the others out.",
            next(
                (each for each in node.decorator_list if not _is(each, "dataclass", resolve)),
                node.decorator_list[1],
            ),
        )
    (decorator,) = node.decorator_list
    if not isinstance(decorator, ast.Call):
        return {}
    if decorator.args:
        _option(decorator, "an argument without a name", "Leave it out.")
    found: dict[str, bool] = {}
    for keyword in decorator.keywords:
        name = str(keyword.arg)
        allowed = _OPTIONS.get(name, ())
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if not isinstance(value, bool) or value not in allowed:
            remedy = "Use frozen, slots and kw_only, with True or False."
            _option(keyword, ast.unparse(keyword), _INSTEAD.get(name, remedy))
        found[name] = value
    return found


def _option(node: ast.AST, what: str, remedy: str) -> NoReturn:
    refuse("dataclass.option", f"{what} is not supported for dataclasses", remedy, node)


def _check_name(name: str, node: ast.AST) -> None:
    if name.startswith("__") and name.endswith("__"):
        refuse(
            "dataclass.special",
            f"{name} changes what Python does with the class",
            "Write a function that takes the instance, and call it.",
            node,
        )
    if not name.isascii() or name.startswith("_"):
        refuse(
            "dataclass.name",
            f"names of dataclasses, and of what is in them, begin with an ASCII letter, not {name!r}",
            "Rename it.",
            node,
        )


# -- fields ----------------------------------------------------------------------------------------


def _field(
    machine: Machine,
    node: ast.AnnAssign,
    name: str,
    options: dict[str, bool],
    resolve: Resolve,
    names: Collection[str],
) -> DataField:
    is_named = options.get("kw_only", False)
    if node.value is None:
        return DataField(name, is_named=is_named)
    if not isinstance(node.value, ast.Call):
        return DataField(name, _default(machine, node.value, resolve), is_named=is_named)
    if not _is(node.value, "field", resolve):
        refuse(
            "dataclass.default",
            "a default is a literal, or field(default_factory=list)",
            "Compute the value where the instance is made.",
            node.value,
        )
    default: SymbolicValue | None = None
    factory = ""
    for keyword in node.value.keywords:
        match keyword:
            case ast.keyword(arg="default"):
                default = _default(machine, keyword.value, resolve)
            case ast.keyword(arg="default_factory", value=ast.Name(id=factory)) if (
                factory in _FACTORIES and factory not in names
            ):
                pass
            case ast.keyword(arg="kw_only", value=ast.Constant(value=bool(is_named))):
                pass
            case ast.keyword(arg="default_factory"):
                _field_option(
                    keyword, "Use list, dict or set; make other values where the instance is made."
                )
            case _:
                _field_option(keyword, "Use default, or default_factory.")
    if node.value.args or (default is not None and factory):
        _field_option(node.value, "Pass default=…, or default_factory=….")
    return DataField(name, default, factory, is_named)


def _field_option(node: ast.AST, remedy: str) -> NoReturn:
    refuse("dataclass.field", f"{ast.unparse(node)} is not supported for a field", remedy, node)


def _default(machine: Machine, node: ast.expr, resolve: Resolve) -> SymbolicValue:
    held = resolve(node)
    if held is not None and is_known(held):
        return held
    if isinstance(node, ast.List | ast.Dict | ast.Set):
        refuse(
            "dataclass.default",
            "all instances would share this container: Python raises ValueError",
            "Write field(default_factory=list).",
            node,
        )
    return literal_default(machine, node)


def _check_order(node: ast.ClassDef, fields: Collection[DataField]) -> None:
    before: DataField | None = None
    for each in fields:
        if each.is_named:
            continue
        if before is not None and not each.is_optional:
            refuse(
                "dataclass.order",
                f"{each.name} has no default, and {before.name} before it has one: Python raises TypeError",
                f"Move {each.name} before {before.name}.",
                node,
            )
        before = each if each.is_optional else before


def _check_annotation(annotation: ast.expr, resolve: Resolve) -> None:
    """Refuse what makes it no field: a ClassVar. Python looks into strings, too."""
    todo: list[ast.AST] = [annotation, *nodes_below(annotation)]
    for node in todo:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                refuse(
                    "annotation.expression",
                    f"the annotation {node.value!r} is no expression",
                    "Write a type.",
                    annotation,
                )
            todo += [inner, *nodes_below(inner)]
        held = resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if isinstance(held, HintV) and held.hint is typing.ClassVar:
            refuse(
                "dataclass.class-variable",
                "class variables are outside the subset",
                "Bind the constant at module level.",
                annotation,
            )


# -- methods ---------------------------------------------------------------------------------------


def _method(machine: Machine, node: ast.FunctionDef) -> FunctionV:
    if node.decorator_list:
        refuse(
            "dataclass.decorator",
            "methods have no decorators here: no properties, no class methods",
            "Write a method without it and call it, or a function that takes the instance.",
            node.decorator_list[0],
        )
    for inner in nodes_below(node):
        names = (getattr(inner, each, None) for each in ("id", "arg", "name", "attr"))
        if any(isinstance(name, str) and name.startswith("__") for name in names):
            refuse(
                "dataclass.name",
                "Python gives names with two underscores other names in a class",
                "Rename it.",
                inner if hasattr(inner, "lineno") else node,
            )
    check_error_names(node)
    return function_value(machine, node)


def _check_shadows(node: ast.ClassDef) -> None:
    """Refuse a name that means something else in the class, from the statement on that binds it there."""
    bound: set[str] = set()
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name):
                bound.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                bound.add(name)
            case _:
                pass
    for read in _read_in_class(node):
        for inner in (read, *nodes_below(read)):
            if isinstance(inner, ast.Name) and inner.id in bound:
                refuse(
                    "dataclass.shadow",
                    f"{inner.id} is a name of the class, so it does not mean here what it means outside of it",
                    f"Rename {inner.id} in the class.",
                    inner,
                )


def _read_in_class(node: ast.ClassDef) -> Iterator[ast.expr]:
    """What is evaluated while the class is made."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            yield statement.annotation
            if statement.value is not None:
                yield statement.value
        elif isinstance(statement, ast.FunctionDef):
            yield from of_function(statement)
