"""Calls: helpers are executed in place, trusted functions become atoms, the rest is modelled.

Arguments are bound as Python binds them. A call of one of several functions is made on each path with its own.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from lictor_ir.terms import Term, apply
from lictor_prove.python import attributes
from lictor_prove.python.interpreter import generators
from lictor_prove.python.machine.control_paths import Frame
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    NONE_VALUE,
    BuiltinV,
    ContractV,
    DataClassV,
    ForeignV,
    FunctionV,
    InstanceRef,
    InstanceV,
    LanguageV,
    LiteralV,
    MethodV,
    Opaque,
    SchemaV,
    Sym,
    SymbolicValue,
    TrustedV,
    TupleV,
    described,
)
from lictor_prove.python.operations import builtin_functions, instances
from lictor_prove.python.operations.container_contents import configurations, term_of
from lictor_prove.python.operations.unknown.containers import is_unknown
from lictor_prove.python.refusals import MAX_CALL_DEPTH, Raises, refuse
from lictor_prove.python.syntax.scopes import has_inner_scopes, local_names, parameters

Keywords = Sequence[tuple[str, SymbolicValue]]


def evaluate_call(machine: Machine, node: ast.Call) -> SymbolicValue:
    """A call expression: the function first, then the arguments from left to right."""
    function = machine.evaluate(node.func)
    pending: generators.Pending | None = None
    args: list[SymbolicValue] = []
    for argument in node.args:
        if isinstance(argument, ast.GeneratorExp):
            if argument is not node.args[0]:
                generators.refuse_generator(argument)
            pending = generators.reached(machine, argument)
        elif isinstance(argument, ast.Starred):
            args += _spread(machine, argument, function)
        else:
            args.append(machine.evaluate(argument))
    keywords: list[tuple[str, SymbolicValue]] = []
    for keyword in node.keywords:
        assert keyword.arg is not None
        keywords.append((keyword.arg, machine.evaluate(keyword.value)))
    if pending is not None:
        return generators.call(machine, function, pending, args, keywords)
    return call(machine, function, args, keywords)


def _spread(
    machine: Machine, node: ast.Starred, function: SymbolicValue
) -> Sequence[SymbolicValue]:
    """`f(*items)`: an argument for each item, as they are where this stands."""
    value = machine.evaluate(node.value)
    listed = machine.make_list(())
    attributes.call(machine, MethodV(listed, "extend"), [value], {})
    if isinstance(function, BuiltinV) and function.name == "print":
        # How many it prints is nothing that anybody sees.
        return [listed]
    if is_unknown(machine, listed):
        refuse("call.starred", "how many arguments `*` gives is not known", "Write them out.", node)
    options = configurations(machine, machine.content(listed))
    if len(options) > 1:
        refuse(
            "call.starred",
            "how many arguments `*` gives depends on the path",
            "Write them out.",
            node,
        )
    return [entry.value for entry in options[0][1]]


def call(
    machine: Machine, function: SymbolicValue, args: Sequence[SymbolicValue], keywords: Keywords
) -> SymbolicValue:
    """The function applied to values."""
    return machine.on_each_path(
        machine.cases(function), lambda one: _call(machine, one, args, keywords)
    )


def _call(
    machine: Machine, function: SymbolicValue, args: Sequence[SymbolicValue], keywords: Keywords
) -> SymbolicValue:
    match function:
        case FunctionV():
            return inline(machine, function, args, keywords)
        case TrustedV(target):
            return machine.hooks.call_trusted(machine, target, args, _unique(keywords))
        case BuiltinV(name):
            return builtin_functions.call(machine, name, args, _unique(keywords))
        case DataClassV(made):
            return instances.construct(machine, made, args, _unique(keywords))
        case MethodV(InstanceV() | InstanceRef() as owner, name):
            return inline(machine, owner.made.methods[name], [owner, *args], keywords)
        case MethodV():
            return attributes.call(machine, function, args, _unique(keywords))
        case SchemaV():
            return _row(machine, function, args, _unique(keywords))
        case ForeignV():
            return machine.hooks.call_foreign(machine, function, args, keywords)
        case ContractV(builder):
            refuse(
                "contract.called",
                f"{builder.name} is a contract; it stands in a guarantee, above the function",
                "Remove the call.",
            )
        case LanguageV() | LiteralV():
            refuse(
                "language.called",
                "this name is for guarantees and row classes, not for the body of a function",
                "Remove the call.",
            )
        case Opaque():
            refuse("value.opaque", f"{described(function)} can't be called", "Don't call it.")
        case _:
            raise Raises("TypeError", f"{described(function)} is not callable")


def _unique(keywords: Keywords) -> Mapping[str, SymbolicValue]:
    return dict(keywords)


# -- rows ------------------------------------------------------------------------------------------


def _row(
    machine: Machine,
    function: SchemaV,
    args: Sequence[SymbolicValue],
    keywords: Mapping[str, SymbolicValue],
) -> SymbolicValue:
    schema = function.schema
    columns = {column.name: column.type for column in schema.columns}
    if args or set(keywords) != set(columns):
        raise Raises(
            "TypeError",
            f"{schema.name} is made with the keywords {', '.join(columns)}",
            "Name every column.",
        )
    terms: list[Term] = []
    for name, type_ in columns.items():
        term = term_of(machine, keywords[name])
        if term.type != type_:
            raise Raises("TypeError", f"{schema.name}.{name} is a {type_}, not a {term.type}")
        terms.append(term)
    return Sym(apply("row", *terms, param=f"{schema.name}:{','.join(columns)}"))


# -- helpers ---------------------------------------------------------------------------------------


def function_value(machine: Machine, node: ast.FunctionDef | ast.Lambda) -> FunctionV:
    """A function of the program, with its defaults, which are literals."""
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        refuse(
            "decorator.unknown",
            "a helper can't have decorators: they could replace it",
            "Remove the decorator, or state the guarantee on the target.",
            node.decorator_list[0],
        )
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(
            positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True
        ),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    defaults: dict[str, SymbolicValue] = {}
    for argument, default in pairs:
        if default is not None:
            defaults[argument.arg] = literal_default(machine, default)
    frame = machine.frame
    return FunctionV(node, frame.id, defaults)


def literal_default(machine: Machine, node: ast.expr) -> SymbolicValue:
    """A default is evaluated once, when the function is defined: only values that never change are taken."""
    match node:
        case ast.Constant():
            return machine.evaluate(node)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
            return machine.evaluate(node)
        case ast.Tuple(elts=items):
            return TupleV(tuple(literal_default(machine, item) for item in items))
        case _:
            refuse(
                "default.literal",
                "a default must be a literal that does not change",
                "Use None, a number, a string or a tuple of them, and make containers in the body.",
                node,
            )


def inline(
    machine: Machine,
    function: FunctionV,
    args: Sequence[SymbolicValue],
    keywords: Keywords,
) -> SymbolicValue:
    """Execute a helper in place."""
    node = function.node
    if node in machine.active:
        refuse(
            "call.recursion",
            f"{function.name} calls itself",
            "Use a `for` loop with a known number of rounds.",
        )
    if len(machine.active) >= MAX_CALL_DEPTH:
        refuse(
            "limits.calls", f"helpers call each other deeper than {MAX_CALL_DEPTH}", "Inline some."
        )
    bound = bound_arguments(node, function.name, args, keywords, function.defaults)
    at, via = machine.at, machine.via
    machine.active.append(node)
    machine.go_into(node)
    value = executed(machine, function, bound)
    machine.at, machine.via = at, via
    machine.active.pop()
    return value


def executed(
    machine: Machine, function: FunctionV, bound: Mapping[str, SymbolicValue]
) -> SymbolicValue:
    """What the body gives, in a frame of its own where the parameters are these."""
    node, outer = function.node, machine.frame
    frame = Frame(machine.fresh_id(), machine.frames[function.frame], local_names(node))
    machine.frames[frame.id] = frame
    target = machine.enter("function")
    machine.frame = frame
    for name, value in bound.items():
        machine.bind(name, value)
    value: SymbolicValue = NONE_VALUE
    if isinstance(node, ast.Lambda):
        value = machine.evaluate(node.body)
    else:
        machine.hooks.run(machine, node.body)
    machine.frame = outer
    return machine.close(target, value, None if has_inner_scopes(node) else frame.id)


def bound_arguments(
    node: ast.FunctionDef | ast.Lambda,
    name: str,
    args: Sequence[SymbolicValue],
    keywords: Keywords,
    defaults: Mapping[str, SymbolicValue],
) -> dict[str, SymbolicValue]:
    """Parameters and what they are given, as Python binds them."""
    arguments = node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    by_keyword = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
    if len(args) > len(positional):
        raise Raises(
            "TypeError", f"{name} takes {len(positional)} positional arguments, not {len(args)}"
        )
    bound: dict[str, SymbolicValue] = dict(zip(positional, args, strict=False))
    for keyword, value in keywords:
        if keyword not in by_keyword:
            raise Raises("TypeError", f"{name} has no parameter {keyword!r} to pass by name")
        if keyword in bound:
            raise Raises("TypeError", f"{name} is given {keyword!r} twice")
        bound[keyword] = value
    for parameter in parameters(node):
        if parameter.arg not in bound:
            if parameter.arg not in defaults:
                raise Raises("TypeError", f"{name} is not given {parameter.arg!r}")
            bound[parameter.arg] = defaults[parameter.arg]
    return bound
