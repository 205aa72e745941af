"""What a program promises: decorators of the target, resolved once, from the imports of the module.

The contract that a guarantee names is found before and outside of any execution, and its arguments are literals;
nothing that the program does or defines can change what was promised.
"""

from __future__ import annotations

import ast
import copy
from typing import Any, NoReturn

from lictor_ir.document import Guarantee
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.python.machine.symbolic_values import ContractV, LanguageV, LiteralV, SchemaV
from lictor_prove.python.program.module_bindings import Module
from lictor_prove.python.refusals import refuse
from lictor_prove.python.syntax.subset import ProgramSource


def read_guarantees(
    module: Module, target: ast.FunctionDef, source: ProgramSource
) -> list[Guarantee]:
    """The guarantees of the target, from top to bottom."""
    return [read_guarantee(module, node, source) for node in target.decorator_list]


def read_guarantee(module: Module, node: ast.expr, source: ProgramSource) -> Guarantee:
    """What one decorator of the target promises."""
    if not isinstance(node, ast.Call):
        if _is_guarantee(module, node):
            _grammar("guarantee is called with a contract", node)
        _unknown(node)
    if not _is_guarantee(module, node.func):
        _unknown(node)
    if len(node.args) != 1 or node.keywords:
        _grammar("a guarantee takes exactly one contract", node)
    stated = node.args[0]
    if not isinstance(stated, ast.Call):
        _grammar("a guarantee takes a call of a contract", stated)
    contract = module.resolve(stated.func)
    if not isinstance(contract, ContractV):
        _grammar("a guarantee names a contract of the trusted layer", stated)
    args = [literal(module, argument) for argument in stated.args]
    kwargs = {str(keyword.arg): literal(module, keyword.value) for keyword in stated.keywords}
    builder = contract.builder
    told = _told(module, builder.name, stated)
    try:
        built, description = builder.build(args, kwargs)
    except ProverConfigError:
        raise
    except ProveError as error:
        refuse(
            "guarantee.arguments",
            f"the guarantee {told} can't be stated: {error}",
            "Pass what the contract asks for.",
            stated,
        )
    return Guarantee(told, built, description, span=source.span(node))


def _told(module: Module, name: str, stated: ast.Call) -> str:
    """The call as people read it. A program may import `Rejected as Approved`: what it calls things is not told."""

    class Named(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            meaning = module.resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
            match meaning:
                case SchemaV(schema):
                    return ast.Name(schema.name, ast.Load())
                case LiteralV(made):
                    return ast.Name(made.__name__, ast.Load())
                case _:
                    return self.generic_visit(node)

    call = ast.Call(ast.Name(name, ast.Load()), stated.args, stated.keywords)
    arguments = (*stated.args, *(each.value for each in stated.keywords))
    if any(
        isinstance(node, ast.Name | ast.Attribute) for each in arguments for node in ast.walk(each)
    ):
        call.args = [Named().visit(each) for each in copy.deepcopy(stated.args)]
        call.keywords = [Named().visit(each) for each in copy.deepcopy(stated.keywords)]
    return ast.unparse(call)


def _is_guarantee(module: Module, node: ast.expr) -> bool:
    value = module.resolve(node)
    return isinstance(value, LanguageV) and value.name == "guarantee"


def _unknown(node: ast.expr) -> NoReturn:
    refuse(
        "decorator.unknown",
        f"@{ast.unparse(node)[:80]} is no guarantee; other decorators could replace the function",
        "Decorate the target with guarantees only.",
        node,
    )


def _grammar(message: str, node: ast.expr) -> NoReturn:
    refuse(
        "guarantee.grammar",
        message,
        "Write @guarantee(contracts.only([...])), with literal arguments.",
        node,
    )


def literal(module: Module, node: ast.expr) -> Any:
    """The value of an argument that is written out: literals, row classes, and paths."""
    match node:
        case ast.Constant(value=value) if value is None or isinstance(
            value, bool | int | float | str
        ):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=(int() | float()) as value)):
            return -value
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=(int() | float()) as value)):
            return +value
        case ast.List(elts=items):
            return [literal(module, item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(literal(module, item) for item in items)
        case ast.Set(elts=items):
            return _hashed(lambda: {literal(module, item) for item in items}, node)
        case ast.Dict(keys=keys, values=values):
            pairs = [
                (literal(module, key), literal(module, value))
                for key, value in zip(keys, values, strict=True)
                if key is not None
            ]
            if len(pairs) != len(keys):
                _grammar("`**` can't stand in a guarantee", node)
            return _hashed(lambda: dict(pairs), node)
        case ast.Name() | ast.Attribute():
            value = module.resolve(node)
            if isinstance(value, SchemaV):
                return value.schema
        case ast.Call(func=function, args=arguments, keywords=keywords):
            made = module.resolve(function)
            if isinstance(made, LiteralV):
                args = [literal(module, argument) for argument in arguments]
                named = {str(keyword.arg): literal(module, keyword.value) for keyword in keywords}
                try:
                    return made.made(*args, **named)
                except (TypeError, ValueError) as error:
                    refuse("guarantee.literal", str(error), "Correct the literal.", node)
        case _:
            pass
    _grammar("the arguments of a guarantee are literals, row classes or paths", node)


def _hashed(make: Any, node: ast.expr) -> Any:
    try:
        return make()
    except TypeError as error:
        refuse("guarantee.literal", str(error), "Use keys that can be hashed.", node)
