"""What the module binds: imports, row classes, helpers and literals. Nothing else may stand at module level.

Every name is bound once. Imports are resolved to the trusted layer, to the package that programs are written with, or
to the few standard modules that are modelled; what is not there is refused, whether it is used or not.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Final, NoReturn

import lictor_layer
from lictor_ir.document import Parameter, Schema
from lictor_ir.types import BOOL, FLOAT, INT, STR, Type
from lictor_prove.layer_model import Layer, TrustedFunction, TrustedModule
from lictor_prove.python.interpreter.calls import function_value
from lictor_prove.python.machine.control_paths import Frame
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    ContractV,
    LanguageV,
    LiteralV,
    ModuleV,
    Opaque,
    SchemaV,
    SymbolicValue,
    TrustedV,
    known,
)
from lictor_prove.python.operations.builtin_functions import STANDARD
from lictor_prove.python.program import annotations
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.scopes import stored_names

LANGUAGE: Final = frozenset({"lictor", "lictor_layer", "clauz3", "deal"})
"""Packages that programs are written with."""
_STATED: Final = frozenset({"guarantee", "Row"})
_TYPES: Final[dict[str, Type]] = {"str": STR, "int": INT, "bool": BOOL, "float": FLOAT}
_ANNOTATION: Final = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
)


class Module:
    """The names of a program's module."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.bound: dict[str, SymbolicValue] = {}
        self.schemas: dict[str, Schema] = dict(layer.schemas)
        self._packages = {
            name.rsplit(".", cut)[0] for name in layer.modules for cut in range(name.count(".") + 1)
        }

    # -- the file ----------------------------------------------------------------------------------

    def read(self, machine: Machine, tree: ast.Module, target: str) -> ast.FunctionDef:
        """Bind everything, and give the target."""
        _check_placement(tree, target)
        machine.frame = Frame(0, None, frozenset(stored_names(tree.body)))
        machine.frames[0] = machine.frame
        found: ast.FunctionDef | None = None
        late = annotations.are_late(tree)
        for statement in tree.body:
            machine.at = statement
            if not late:
                annotations.check_at_load(statement, self.bound, self.member)
            if isinstance(statement, ast.FunctionDef) and statement.name == target:
                self._check_order(statement, machine.frame.names)
                self._bind(statement, target, Opaque(f"the target {target}"))
                found = statement
            else:
                self._statement(machine, statement)
        if found is None:
            refuse(
                "target.missing",
                f"there is no function {target} at the top level of the file",
                f"Define `def {target}() -> None:` there.",
            )
        for statement in () if late else tree.body:
            if isinstance(statement, ast.FunctionDef):
                annotations.check_nested(statement, self.bound, self.member)
        for name, value in self.bound.items():
            machine.store.written[(0, name)] = value
        return found

    def _check_order(self, target: ast.FunctionDef, names: Collection[str]) -> None:
        """Guarantees are evaluated where they stand: what they name is bound above them."""
        for decorator in target.decorator_list:
            for node in ast.walk(decorator):
                if isinstance(node, ast.Name) and node.id in names and node.id not in self.bound:
                    refuse(
                        "guarantee.order",
                        f"{node.id} is bound below the guarantee that names it",
                        "Move it above the function.",
                        node,
                    )

    def _bind(self, node: ast.AST, name: str, value: SymbolicValue) -> None:
        before = self.bound.get(name)
        if before is not None and not (
            isinstance(before, ModuleV) and isinstance(value, ModuleV) and before.name == value.name
        ):
            refuse(
                "module.rebound",
                f"{name} is bound twice at module level",
                "Give each thing a name of its own.",
                node,
            )
        self.bound[name] = value

    def _statement(self, machine: Machine, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Import():
                for alias in node.names:
                    self._import(alias)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.FunctionDef():
                self._bind(node, node.name, function_value(machine, node))
            case ast.ClassDef():
                self._row_class(node)
            case ast.Assign(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
                value = literal_value(machine, node.value)
                for each in targets:
                    assert isinstance(each, ast.Name)
                    self._bind(each, each.id, value)
            case ast.AnnAssign(target=ast.Name(id=name)):
                if node.value is not None:
                    self._bind(node, name, literal_value(machine, node.value))
            case _:
                refuse(
                    "module.statement",
                    "at module level only imports, functions, row classes and literals may stand",
                    "Move it into the function.",
                    node,
                )

    # -- imports -----------------------------------------------------------------------------------

    def _import(self, alias: ast.alias) -> None:
        if not self._is_module(alias.name):
            self._unknown(alias.name, alias)
        if alias.asname is not None:
            self._bind(alias, alias.asname, ModuleV(alias.name))
        else:
            top = alias.name.partition(".")[0]
            self._bind(alias, top, ModuleV(top))

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None:
            refuse(
                "import.relative", "relative imports are not resolved", "Name the package.", node
            )
        for alias in node.names:
            if alias.name == "*":
                refuse("import.star", "`import *` binds names nobody sees", "Name them.", node)
            if node.module == "__future__":
                if alias.name != "annotations" or alias.asname is not None:
                    refuse(
                        "import.future",
                        f"{alias.name} of __future__ is not known",
                        "Import annotations, or nothing, from it.",
                        alias,
                    )
                continue
            if not self._is_module(node.module):
                self._unknown(node.module, node)
            value = self.member(node.module, alias.name, alias)
            self._bind(alias, alias.asname or alias.name, value)

    def _is_module(self, name: str) -> bool:
        return (
            name in LANGUAGE
            or name in STANDARD
            or name == "typing"
            or name in self.layer.modules
            or name in self._packages
        )

    def _unknown(self, name: str, node: ast.AST) -> NoReturn:
        top = name.partition(".")[0]
        if top in LANGUAGE:
            _declares(name, node)
        refuse(
            "import.unknown",
            f"{name} is no module of the trusted layer, and none that is modelled",
            f"Import from the layer, or {', '.join(sorted(STANDARD))}; let trusted functions do the rest.",
            node,
        )

    def member(self, module: str, name: str, node: ast.AST | None = None) -> SymbolicValue:
        """What a module binds to a name."""
        if module in LANGUAGE:
            if name in _STATED and module != "deal":
                return LanguageV(name)
            held = getattr(lictor_layer, name, None)
            if isinstance(held, type) and getattr(held, "__lictor_literal__", False):
                return LiteralV(held)
            _declares(f"{module}.{name}", node)
        if module in STANDARD:
            if name in STANDARD[module]:
                return STANDARD[module][name]
            refuse(
                "import.unmodelled",
                f"{module}.{name} is not modelled",
                f"There are {', '.join(sorted(STANDARD[module]))}.",
                node,
            )
        if module == "typing":
            hint = annotations.hint(name)
            if hint is not None:
                return hint
            refuse("import.missing", f"typing has no {name}", "Correct the name.", node)
        full = f"{module}.{name}"
        trusted = self.layer.modules.get(module)
        if trusted is not None and name in trusted.names:
            return self._meaning(full, trusted.names[name], node)
        if full in self.layer.modules or full in self._packages:
            return ModuleV(full)
        refuse("import.missing", f"{module} has no {name}", "Correct the name.", node)

    def _meaning(self, name: str, held: object, node: ast.AST | None) -> SymbolicValue:
        match held:
            case TrustedFunction():
                return TrustedV(held)
            case Schema():
                return SchemaV(held)
            case TrustedModule():
                return ModuleV(held.name)
            case bool() | int() | float() | str() | None:
                return known(held)
            case type() if getattr(held, "__lictor_literal__", False):
                return LiteralV(held)
            case _:
                pass
        if callable(getattr(held, "build", None)) and hasattr(held, "nullary"):
            return ContractV(held)  # pyright: ignore[reportArgumentType] -- it has the members of a ContractBuilder
        refuse(
            "import.object",
            f"{name} is part of the layer, and neither a trusted function, a contract nor a row class",
            "Import what the layer offers to programs.",
            node,
        )

    def attribute(self, module: ModuleV, name: str) -> SymbolicValue:
        """`module.name` in the program."""
        if module.name not in LANGUAGE and not self._is_module(module.name):
            refuse("import.unknown", f"{module.name} is no module", "Import it.")
        return self.member(module.name, name)

    # -- row classes -------------------------------------------------------------------------------

    def _row_class(self, node: ast.ClassDef) -> None:
        if (
            len(node.bases) != 1
            or node.keywords
            or node.decorator_list
            or not self._is_row(node.bases[0])
        ):
            refuse(
                "unsupported.class",
                "classes are outside the subset, but for row classes",
                "Write `class UserRow(Row): email: str`, or use dicts and tuples.",
                node,
            )
        columns: list[Parameter] = []
        for statement in node.body:
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.AnnAssign(
                    target=ast.Name(id=name), annotation=ast.Name(id=type_), value=None
                ) if type_ in _TYPES and type_ not in self.bound:
                    if not name.isascii() or name.startswith("_"):
                        refuse(
                            "row.column",
                            f"the name of a column begins with an ASCII letter, not {name!r}",
                            "Rename it.",
                            statement,
                        )
                    columns.append(Parameter(name, _TYPES[type_]))
                case _:
                    refuse(
                        "row.column",
                        "a row class holds columns of type str, int, bool or float, and nothing else",
                        "Write `email: str`.",
                        statement,
                    )
        if not node.name.isascii():
            refuse("row.name", "the name of a row class is ASCII", "Rename it.", node)
        if len({column.name for column in columns}) != len(columns):
            refuse("row.column", "a column stands there twice", "Remove one.", node)
        name = node.name
        while name in self.schemas:
            name = f"program.{name}"
        schema = Schema(name, tuple(columns))
        self.schemas[name] = schema
        self._bind(node, node.name, SchemaV(schema))

    def _is_row(self, node: ast.expr) -> bool:
        value = self.resolve(node)
        return isinstance(value, LanguageV) and value.name == "Row"

    def resolve(self, node: ast.expr) -> SymbolicValue | None:
        """What a dotted name means at module level; None for anything else."""
        match node:
            case ast.Name(id=name):
                return self.bound.get(name)
            case ast.Attribute(value=owner, attr=name):
                module = self.resolve(owner)
                return self.member(module.name, name, node) if isinstance(module, ModuleV) else None
            case _:
                return None


def _declares(name: str, node: ast.AST | None) -> NoReturn:
    refuse(
        "agent.declares",
        f"{name} is for trusted layers: a program can't declare effects, contracts or policies",
        "A program uses `guarantee`, `Row`, and what its layer offers.",
        node,
    )


def literal_value(machine: Machine, node: ast.expr) -> SymbolicValue:
    """A literal at module level."""
    if not is_literal(node):
        refuse(
            "module.literal",
            "a name at module level is bound to a literal",
            "Compute it in the function.",
            node,
        )
    return machine.evaluate(node)


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is written out, all of it."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(is_literal(item) for item in items)
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and is_literal(key) for key in keys) and all(
                is_literal(value) for value in values
            )
        case _:
            return False


# -- the whole file --------------------------------------------------------------------------------


def _check_placement(tree: ast.Module, target: str) -> None:
    """What holds for the whole file, also for what is never executed."""
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() if id(node) not in top:
                refuse("import.nested", "imports stand at the top of the file", "Move it.", node)
            case ast.ClassDef() if id(node) not in top:
                refuse("unsupported.class", "classes are outside the subset", "Use a dict.", node)
            case ast.FunctionDef():
                is_target = id(node) in top and node.name == target
                if node.decorator_list and not is_target:
                    refuse(
                        "decorator.unknown",
                        "only the target may be decorated, and only with guarantees",
                        f"State the guarantee on {target}.",
                        node.decorator_list[0],
                    )
                for annotation in annotations.of_function(node):
                    _check_annotation(annotation)
            case ast.AnnAssign():
                _check_annotation(node.annotation)
            case _:
                pass


def _check_annotation(annotation: ast.expr) -> None:
    for node in ast.walk(annotation):
        if not isinstance(node, _ANNOTATION):
            refuse(
                "annotation.expression",
                "an annotation may be evaluated, so it holds names and subscripts only",
                "Write a type.",
                node if hasattr(node, "lineno") else annotation,
            )
