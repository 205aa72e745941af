"""Coverage: which domains a program uses, and what it says about them.

This reasons about the guarantees that stand on a program, not about its runs. A domain is used when the program may
call one of its functions, read off the text from the target on: a call in a dead branch counts, a call that can't be
resolved counts for every domain. Erring towards "used" tells a reader too much, never too little.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lictor_ir.analysis.leaves import relied_on
from lictor_ir.contracts import Contract, leaves
from lictor_ir.document import Guarantee
from lictor_ir.goals import Strength
from lictor_prove.errors import ProveError
from lictor_prove.layer_model import (
    ContractBuilder,
    DomainPolicy,
    Layer,
    TrustedFunction,
    TrustedModule,
)
from lictor_prove.policies import contract_of_domain, contracts_of, in_package, is_contract

if TYPE_CHECKING:
    from lictor_schema.coverage import CoverageReport, DomainCoverage

API: Final = ("clauz3", "deal", "lictor", "lictor_layer")
"""What programs are written with."""
INERT: Final = frozenset(
    [
        "__future__",
        "collections",
        "dataclasses",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "itertools",
        "json",
        "math",
        "re",
        "statistics",
        "string",
        "typing",
    ]
)
"""Modules that call nothing but what they are given."""
_REACHING: Final = frozenset(
    ["eval", "exec", "compile", "__import__", "getattr", "globals", "locals", "vars", "breakpoint"]
)
"""Builtins through which a program may call what its text does not name."""
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Use:
    """What a program may call."""

    calls: frozenset[str]
    """Trusted functions, by name."""
    anything: bool
    """Some call can't be resolved; it may be any."""

    def triggers(self, policy: DomainPolicy) -> tuple[str, ...]:
        """The functions of a domain that the program may call."""
        called = tuple(name for name in policy.when_used if name in self.calls)
        return policy.when_used if self.anything and not called else called


@dataclass(frozen=True, slots=True)
class Stated:
    """A contract that a guarantee names."""

    name: str
    modules: tuple[str, ...]
    """Where it is defined, and whence the program imports it."""


def used_policies(
    program: str | ast.Module, *, target: str, layer: Layer
) -> tuple[DomainPolicy, ...]:
    """The policies of the domains that the program uses."""
    use = uses(_parsed(program), target, layer)
    return tuple(policy for policy, _ in _used(use, layer))


def report(
    program: str | ast.Module, *, target: str, layer: Layer, program_hash: str
) -> CoverageReport:
    """The coverage of every domain the program uses by what it names, worst first."""
    tree = _parsed(program)
    return covered(
        uses(tree, target, layer),
        stated(tree, target, layer),
        layer=layer,
        program_hash=program_hash,
    )


def covered(use: Use, said: Sequence[Stated], *, layer: Layer, program_hash: str) -> CoverageReport:
    """The coverage of every domain that is used, by what is named, worst first."""
    # Late: proving without a report does not pay for the models.
    from lictor_prove.coverage_status import mentioned, reported

    used = _used(use, layer)
    found = [mentioned(policy, triggers, _about(policy, said)) for policy, triggers in used]
    return reported(found, layer, program_hash, "mention")


def entailed(
    use: Use,
    said: Sequence[Stated],
    *,
    layer: Layer,
    program_hash: str,
    proved: Sequence[tuple[Guarantee, Strength]],
    entails: Callable[[Sequence[Contract], Contract], bool],
) -> CoverageReport:
    """The coverage of every domain that is used by what is proved, worst first.

    `proved`: what was proved of a program that was proved as a whole, and of which runs; nothing, if it was not. A
    contract that the program does not name is covered when what the program states itself entails it. What the layer
    added does not help: it says nothing about what the program's author thought of. Of which runs something was proved
    matters to each part of a contract (`relied_on`).
    """
    from lictor_prove.coverage_status import judged, reported

    own = [(each.contract, strength) for each, strength in proved if not each.required_by]
    builders = contracts_of(layer)

    def implied(policy: DomainPolicy, name: str) -> bool:
        builder = contract_of_domain(name, policy.package, builders)
        if builder is None or not builder.nullary:
            return False
        try:
            contract, _ = builder.build((), {})
        except ProveError:
            return False
        return all(entails(relied_on(leaf, own), leaf) for leaf in leaves(contract))

    found: list[DomainCoverage] = []
    for policy, triggers in _used(use, layer):
        names = _about(policy, said)
        unnamed = dict.fromkeys(
            name for name in (*policy.required, *policy.recommended) if name not in names
        )
        following = tuple(name for name in unnamed if implied(policy, name))
        held = {each.name for each, _ in proved if each.required_by == policy.label}
        found.append(judged(policy, triggers, names, following, held))
    return reported(found, layer, program_hash, "entailment")


def _used(use: Use, layer: Layer) -> list[tuple[DomainPolicy, tuple[str, ...]]]:
    triggered = [(policy, use.triggers(policy)) for policy in layer.policies]
    return [(policy, triggers) for policy, triggers in triggered if triggers]


def _parsed(program: str | ast.Module) -> ast.Module:
    return ast.parse(program) if isinstance(program, str) else program


def _about(policy: DomainPolicy, said: Sequence[Stated]) -> tuple[str, ...]:
    """The contracts of a domain's package that are stated."""
    return tuple(
        dict.fromkeys(
            contract.name
            for contract in said
            if any(in_package(module, policy.package) for module in contract.modules)
        )
    )


# -- what is stated ------------------------------------------------------------------------------------


def stated(tree: ast.Module, target: str, layer: Layer) -> tuple[Stated, ...]:
    """The contracts in the guarantees on the target, through whatever they were imported as."""
    aliases = _aliases(tree.body)
    found: list[Stated] = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != target:
            continue
        for decorator in node.decorator_list:
            contract = _guaranteed(decorator, aliases)
            name = _dotted(contract.func) if contract is not None else None
            # A name that is imported twice means nobody knows what; it covers nothing.
            paths = _paths(name, aliases) if name is not None else ()
            if len(paths) == 1:
                value = _meaning(paths[0], layer)
                if is_contract(value):
                    found.append(_stated(value, paths[0]))
    return tuple(found)


def _stated(contract: ContractBuilder, path: str) -> Stated:
    return Stated(contract.name, (contract.module, path.rpartition(".")[0]))


def _guaranteed(decorator: ast.expr, aliases: Mapping[str, frozenset[str]]) -> ast.Call | None:
    """The contract call in `@guarantee(contract(...))`."""
    if not isinstance(decorator, ast.Call) or len(decorator.args) != 1:
        return None
    name, inner = _dotted(decorator.func), decorator.args[0]
    guarantees = [f"{module}.guarantee" for module in API]
    if name is None or not any(path in guarantees for path in _paths(name, aliases)):
        return None
    return inner if isinstance(inner, ast.Call) else None


# -- what is used --------------------------------------------------------------------------------------


def uses(tree: ast.Module, target: str, layer: Layer) -> Use:
    """What may be called from the target on, and by the module's own statements."""
    aliases = _aliases(ast.walk(tree))
    named: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            named.setdefault(node.name, []).append(node)
    triggers = {name for policy in layer.policies for name in policy.when_used}
    calls: set[str] = set()
    anything = "*" in aliases or target not in named
    reached: set[int] = set()
    stack: list[ast.AST] = [*_at_load(tree), *named.get(target, ())]
    while stack:
        node = stack.pop()
        if isinstance(node, _Definition):
            if id(node) in reached:
                continue
            reached.add(id(node))
        path = _dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None
        if path is not None and path.partition(".")[0] in aliases:
            for whole in _paths(path, aliases):
                value = _meaning(whole, layer)
                if isinstance(value, TrustedFunction):
                    calls.add(value.name)
                elif not _harmless(value, whole):
                    anything = True
            if path.partition(".")[0] not in named:
                continue
        if isinstance(node, ast.Name):
            stack.extend(named.get(node.id, ()))
            anything |= node.id in _REACHING
        elif isinstance(node, ast.Attribute) and node.attr in triggers:
            calls.add(node.attr)
        elif isinstance(node, ast.Call):
            anything |= not _resolved(node.func, aliases, named)
        stack.extend(ast.iter_child_nodes(node))
    return Use(frozenset(calls), anything)


def _at_load(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs when the module is loaded: its statements, and the decorators and defaults of its definitions."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from node.decorator_list
                yield from (default for default in _defaults(node.args))
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                yield node


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    yield from arguments.defaults
    yield from (default for default in arguments.kw_defaults if default is not None)


def _resolved(
    function: ast.expr, aliases: Mapping[str, frozenset[str]], named: Mapping[str, object]
) -> bool:
    """Whether it is known what a call calls; methods of values call nothing of a layer."""
    match function:
        case ast.Name():
            return function.id in aliases or function.id in named or hasattr(builtins, function.id)
        case ast.Attribute() | ast.Lambda():
            return True
        case _:
            return False


def _harmless(value: object, path: str) -> bool:
    """Whether reading this can't lead to a trusted function whose name is not there."""
    top = path.partition(".")[0]
    if top in API or top in INERT:
        return True
    return value is not None and not isinstance(value, TrustedModule)


# -- names ---------------------------------------------------------------------------------------------


def _aliases(nodes: Sequence[ast.stmt] | Iterator[ast.AST]) -> Mapping[str, frozenset[str]]:
    """What imported names stand for; `*` when a wildcard hides them."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found.setdefault(alias.asname or top, set()).add(
                    alias.name if alias.asname else top
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                path = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                found.setdefault(alias.asname or alias.name, set()).add(path)
    return {name: frozenset(paths) for name, paths in found.items()}


def _dotted(node: ast.expr) -> str | None:
    """`a.b.c` of such an expression."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(names)])


def _paths(name: str, aliases: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """The full names that a name may stand for."""
    first, dot, rest = name.partition(".")
    return tuple(sorted(f"{path}{dot}{rest}" for path in aliases.get(first, ())))


def _meaning(path: str, layer: Layer) -> object:
    """What a full name is in the layer; None when it is nothing there."""
    module, names = path, list[str]()
    while module not in layer.modules and "." in module:
        module, _, last = module.rpartition(".")
        names.insert(0, last)
    value: object = layer.modules.get(module)
    for name in names:
        if not isinstance(value, TrustedModule):
            # An attribute of a function or contract is still about that one.
            return value
        value = value.names.get(name)
    return value
