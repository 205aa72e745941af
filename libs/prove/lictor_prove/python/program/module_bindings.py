"""What the module binds: imports, classes, helpers and literals. Nothing else may stand at module level.

Every name is bound once. Imports are resolved to the trusted layer, to the package that programs are written with, or
to the few standard modules that are modelled; what is not there is refused, whether it is used or not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final, NoReturn, cast

import lictor_layer
from lictor_ir.document import Parameter, Schema
from lictor_ir.types import BOOL, FLOAT, INT, STR, Type
from lictor_prove.layer_model import Layer, TrustedFunction, TrustedModule
from lictor_prove.python.interpreter.calls import function_value
from lictor_prove.python.library import unknown_members
from lictor_prove.python.library.signatures import MEMBERS
from lictor_prove.python.machine.control_paths import Frame
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    BuiltinV,
    ContractV,
    DataClassV,
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
from lictor_prove.python.program.dataclass_declarations import (
    assigned_attributes,
    is_dataclass,
    read_dataclass,
)
from lictor_prove.python.program.placement import check_placement
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.scopes import stored_names
from lictor_prove.python.syntax.subset import started_as_script
from lictor_prove.python.syntax.walking import nodes_below

LANGUAGE: Final = frozenset({"lictor", "lictor_layer", "clauz3", "deal"})
"""Packages that programs are written with."""
"""Exactly these: what a class below them does with an operator or a format is its own."""
_STATED: Final = frozenset({"guarantee", "Row"})
_TYPES: Final[dict[str, Type]] = {"str": STR, "int": INT, "bool": BOOL, "float": FLOAT}


class Module:
    """The names of a program's module."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.bound: dict[str, SymbolicValue] = {}
        self.schemas: dict[str, Schema] = dict(layer.schemas)
        self._packages = {
            name.rsplit(".", cut)[0] for name in layer.modules for cut in range(name.count(".") + 1)
        }
        self._assigned = frozenset[str]()
        """The attributes that the program assigns to."""
        self._imported: set[str] = set()
        """Modules of the layer that the program imported, with the packages above them: no others are there."""

    # -- the file ----------------------------------------------------------------------------------

    def read(self, machine: Machine, tree: ast.Module, target: str) -> ast.FunctionDef:
        """Bind everything, and give the target."""
        for statement in tree.body:
            self.attempt(partial(check_placement, statement, target), statement)
        machine.frame = Frame(0, None, frozenset(stored_names(tree.body)))
        machine.frames[0] = machine.frame
        found: ast.FunctionDef | None = None
        self._assigned = assigned_attributes(tree)
        late = annotations.are_late(tree)
        for statement in tree.body:
            machine.at = statement
            if not late:
                check = partial(annotations.check_at_load, statement, self.bound, self.member)
                self.attempt(check, statement)
            if isinstance(statement, ast.FunctionDef) and statement.name == target:
                found = statement
                self.attempt(partial(self._target, machine, statement), statement)
            elif found is not None and started_as_script(statement) == target:
                continue
            else:
                self.attempt(partial(self._statement, machine, statement), statement)
        if found is None:
            refuse(
                "target.missing",
                f"there is no function {target} at the top level of the file",
                f"Define `def {target}() -> None:` there.",
            )
        for statement in () if late else tree.body:
            for function in annotations.functions_of(statement):
                check = partial(annotations.check_nested, function, self.bound, self.member)
                self.attempt(check, statement)
        for name, value in self.bound.items():
            machine.store.written[(0, name)] = value
        return found

    def attempt(self, step: Callable[[], None], node: ast.stmt) -> None:
        """Take a step of reading the file, about this statement; whoever looks for every reason goes on after a
        refusal."""
        del node
        step()

    def _target(self, machine: Machine, node: ast.FunctionDef) -> None:
        self._check_order(node, machine.frame.names)
        self._bind(node, node.name, Opaque(f"the target {node.name}"))

    def _check_order(self, target: ast.FunctionDef, names: Collection[str]) -> None:
        """Guarantees are evaluated where they stand: what they name is bound, and imported, above them."""
        for decorator in target.decorator_list:
            for node in (decorator, *nodes_below(decorator)):
                if isinstance(node, ast.Attribute):
                    self.resolve(node)
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
            case ast.ClassDef() if is_dataclass(node, self.resolve):
                made = read_dataclass(
                    machine, node, self.resolve, machine.frame.names, self._assigned
                )
                self._bind(node, node.name, DataClassV(made))
            case ast.ClassDef():
                self._row_class(node)
            case ast.Assign(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
                value = literal_value(machine, node.value, self.resolve)
                for each in targets:
                    assert isinstance(each, ast.Name)
                    self._bind(each, each.id, value)
            case ast.AnnAssign(target=ast.Name(id=name)):
                if node.value is not None:
                    self._bind(node, name, literal_value(machine, node.value, self.resolve))
            case _:
                refuse(
                    "module.statement",
                    "at module level only imports, functions, dataclasses, row classes and literals may stand",
                    'Move it into the function. At the end of the file, `if __name__ == "__main__":` may call the '
                    "target without arguments.",
                    node,
                )

    # -- imports -----------------------------------------------------------------------------------

    def _import(self, alias: ast.alias) -> None:
        self._load(alias.name, alias)
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
            self._load(node.module, node)
            full = f"{node.module}.{alias.name}"
            if not self._binds(node.module, alias.name) and self._is_module(full):
                self._load(full, alias)
            value = self.member(node.module, alias.name, alias)
            self._bind(alias, alias.asname or alias.name, value)

    def _is_module(self, name: str) -> bool:
        return name in LANGUAGE or name in STANDARD or name == "typing" or name in self._packages

    def _load(self, name: str, node: ast.AST) -> None:
        """Import a module, and with it the packages above it."""
        if not self._is_module(name):
            self._unknown(name, node)
        for end in [at for at, char in enumerate(name) if char == "."]:
            package, last = name[:end], name[end + 1 :].partition(".")[0]
            self._imported.add(f"{package}.{last}")
            if self._binds(package, last):
                refuse(
                    "import.ambiguous",
                    f"{package} has a submodule {last}, and binds that name to something else",
                    "Import what you need by `from … import …`.",
                    node,
                )

    def _binds(self, module: str, name: str) -> bool:
        """Whether a module of the layer binds the name itself; its submodules are there once they are imported."""
        trusted = self.layer.modules.get(module)
        return (
            trusted is not None
            and name in trusted.names
            and not isinstance(trusted.names[name], TrustedModule)
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
        if self._binds(module, name):
            self._check_constant(module, name, node)
            return self._meaning(full, self.layer.modules[module].names[name], node)
        if full in self._imported:
            return ModuleV(full)
        if full in self._packages:
            refuse(
                "import.missing",
                f"the program does not import {full}",
                f"Write `import {full}`.",
                node,
            )
        refuse("import.missing", f"{module} has no {name}", "Correct the name.", node)

    def _check_constant(self, module: str, name: str, node: ast.AST | None) -> None:
        if self.layer.constancy is not None:
            held = self.layer.modules[module].names[name]
            why = self.layer.constancy.of_global(module, name, held)
            if why is not None:
                refuse(
                    "import.changing",
                    f"{module}.{name} is no constant: {why}",
                    "Let a trusted function return it.",
                    node,
                )

    def _meaning(self, name: str, held: object, node: ast.AST | None) -> SymbolicValue:
        if held is None or type(held) in (bool, int, float, str):
            # Of these types alone: an enum's text, hash and order are its own.
            return known(cast(Any, held))
        match held:
            case TrustedFunction():
                return TrustedV(held)
            case Schema():
                return SchemaV(held)
            case TrustedModule():
                return ModuleV(held.name)
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
                "classes are outside the subset, but for dataclasses and row classes",
                "Write @dataclass above it, `class UserRow(Row): email: str`, or use dicts and tuples.",
                node,
            )
        columns: list[Parameter] = []
        for statement in node.body:
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                # `(email): str` is no annotation of the class: only a bare name makes a column.
                case ast.AnnAssign(
                    target=ast.Name(id=name), annotation=ast.Name(id=type_), value=None, simple=1
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
        # Where two classes of the layer share a name, their modules stand before it. Tables have names without case.
        known = [f"_{name}".lower() for name in self.schemas]
        if any(name.endswith(f"_{node.name}".lower()) for name in known):
            # A trusted function that is given it may read the table of that name; contracts speak of the layer's.
            refuse(
                "row.name",
                f"{node.name} is the name of a row class of the layer",
                "Import that one, or rename this one.",
                node,
            )
        schema = Schema(node.name, tuple(columns))
        self.schemas[node.name] = schema
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
                if isinstance(module, BuiltinV):
                    return unknown_members.of_class(module, name)
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


def literal_value(
    machine: Machine, node: ast.expr, resolve: Callable[[ast.expr], SymbolicValue | None]
) -> SymbolicValue:
    """A literal at module level, or what a member of the standard library makes of literals: `Template("…")`."""
    if isinstance(node, ast.Call):
        function = resolve(node.func)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if (
            isinstance(function, BuiltinV)
            and function.name in {*MEMBERS, "re.compile"}
            and all(map(is_literal, given))
        ):
            keywords = [(each.arg or "", machine.evaluate(each.value)) for each in node.keywords]
            return machine.call(function, [machine.evaluate(each) for each in node.args], keywords)
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
