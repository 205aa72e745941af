"""Coverage: which domains a program uses, and what it says about them.

This reasons about the guarantees that stand on a program, not about its runs. A domain is used when the program may
call one of its functions, read off the text from the target on: a call in a dead branch counts, a call that can't be
resolved counts for every domain. Erring towards "used" reports too much, never too little; and what a program
was found to call is used, however its text spells it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lictor_ir.analysis.contract_parts import relied_on
from lictor_ir.contracts import Contract, leaves
from lictor_ir.document import Document, Guarantee
from lictor_ir.goals import Strength
from lictor_prove.coverage.required_contracts import (
    Recommended,
    contracts_of,
    in_package,
    is_contract,
    recommended,
)
from lictor_prove.errors import ProveError
from lictor_prove.layer_model import (
    ContractBuilder,
    Layer,
    LayerPolicy,
    TrustedFunction,
    TrustedModule,
)

if TYPE_CHECKING:
    from lictor_schema.proofs.coverage import CoverageReport, DomainCoverage

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

    def triggers(self, policy: LayerPolicy) -> tuple[str, ...]:
        """The functions of a domain that the program may call."""
        called = tuple(name for name in policy.when_used if name in self.calls)
        return policy.when_used if self.anything and not called else called

    def policies(self, layer: Layer) -> tuple[LayerPolicy, ...]:
        """The policies of the domains that are used."""
        return tuple(policy for policy, _ in _used(self, layer))

    def with_calls_of(self, document: Document) -> Use:
        """With what the program was found to call: however its text spells it, that is used."""
        return Use(self.calls | {atom.effect for atom in document.atoms}, self.anything)


@dataclass(frozen=True, slots=True)
class Stated:
    """A contract that a guarantee names: wherever a program imports it from, it is the one that is defined there."""

    name: str
    module: str
    """Where it is defined."""

    def is_of(self, builder: ContractBuilder) -> bool:
        """Whether it is that contract of the layer."""
        return (self.module, self.name) == (builder.module, builder.name)


def used_policies(
    program: str | ast.Module, *, target: str, layer: Layer
) -> tuple[LayerPolicy, ...]:
    """The policies of the domains that the program uses, by its text."""
    return uses(_parsed(program), target, layer).policies(layer)


def report(
    program: str | ast.Module, *, target: str, layer: Layer, program_hash: str
) -> CoverageReport:
    """The coverage of every domain that the program uses by what its text names, worst first; nothing is proved."""
    tree = _parsed(program)
    use, said = uses(tree, target, layer), stated(tree, target, layer)
    return covered(use, said, layer=layer, program_hash=program_hash)


def covered(
    use: Use,
    said: Sequence[Stated],
    *,
    layer: Layer,
    program_hash: str,
    own: Sequence[Contract] = (),
    proved: Sequence[tuple[Guarantee, Strength]] = (),
    is_proved: bool = False,
    entails: Callable[[Sequence[Contract], Contract], bool] | None = None,
) -> CoverageReport:
    """The coverage of every domain that is used, worst first: by what is named, and with `entails` by what is implied.

    `own`: the contracts that the program states. `proved`: what was proved, and of which runs. A contract that the
    program does not state is implied when the program is proved as a whole, and what it states itself entails it. What
    the layer added does not help: it says nothing about what the program's author thought of. Of which runs something
    was proved matters to each part of a contract (`relied_on`).
    """
    # Late: proving without a report does not pay for the models.
    from lictor_prove.coverage.status import StatementKind, judged, reported

    relied = [(each.contract, strength) for each, strength in proved if not each.required_by]
    builders = contracts_of(layer)

    def implied(contract: Contract) -> bool:
        return (
            entails is not None
            and is_proved
            and all(entails(relied_on(leaf, relied), leaf) for leaf in leaves(contract))
        )

    def how(wanted: Recommended) -> StatementKind:
        is_named = any(each.is_of(wanted.builder) for each in said)
        if wanted.builder.nullary and is_named:
            return StatementKind.STATED
        if wanted.is_open or entails is None:
            return StatementKind.BY_NAME if is_named else StatementKind.MISSING
        try:
            contract = wanted.contract()
        except ProveError:
            return StatementKind.MISSING
        if is_named and contract in own:
            return StatementKind.STATED
        return StatementKind.ENTAILED if implied(contract) else StatementKind.MISSING

    found: list[DomainCoverage] = []
    for policy, triggers in _used(use, layer):
        meant = {
            text: recommended(text, policy.package, builders)
            for text in (*policy.required, *policy.recommended)
        }
        names = _about(policy, said, meant.values())
        told = {text: how(wanted) for text, wanted in meant.items()}
        held = {name for name in policy.required if _held(meant[name], policy, proved)}
        found.append(judged(policy, triggers, names, told, held))
    return reported(found, layer, program_hash, "mention" if entails is None else "entailment")


def _used(use: Use, layer: Layer) -> list[tuple[LayerPolicy, tuple[str, ...]]]:
    triggered = [(policy, use.triggers(policy)) for policy in layer.policies]
    return [(policy, triggers) for policy, triggers in triggered if triggers]


def _parsed(program: str | ast.Module) -> ast.Module:
    return ast.parse(program) if isinstance(program, str) else program


def _about(
    policy: LayerPolicy, said: Sequence[Stated], meant: Iterable[Recommended]
) -> tuple[str, ...]:
    """The contracts that are stated of a domain: those that its package defines, and those that its policy means."""
    builders = [wanted.builder for wanted in meant]
    return tuple(
        dict.fromkeys(
            each.name
            for each in said
            if in_package(each.module, policy.package) or any(map(each.is_of, builders))
        )
    )


def _held(
    wanted: Recommended, policy: LayerPolicy, proved: Sequence[tuple[Guarantee, Strength]]
) -> bool:
    """Whether a required contract was added for the domain, and proved; two domains may have one label."""
    added = [each.contract for each, _ in proved if each.required_by == policy.label]
    try:
        return bool(added) and wanted.contract() in added
    except ProveError:
        return False


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
                    found.append(Stated(value.name, value.module))
    return tuple(found)


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
    """What may be called from the target on, and by the module's own statements.

    Whatever a program calls, it names: a function that is kept under another name, in a list or in a parameter was
    named where it was put there. Only what comes in from outside can be anything: parameters of the target, modules
    that are not known, and ways to reach what has no name in the text.
    """
    aliases = _aliases(ast.walk(tree))
    named: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            named.setdefault(node.name, []).append(node)
    exposed = _exposed(layer)
    is_closed = not any(_parameters(each) for each in named.get(target, ()))
    bound = {*aliases, *named, *(_bound(tree) if is_closed else ())}
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
                elif not _harmless(value, whole, is_closed=is_closed):
                    anything = True
            if path.partition(".")[0] not in named:
                continue
        match node:
            case ast.Name(id=name):
                stack.extend(named.get(name, ()))
                anything |= name in _REACHING
            case ast.Attribute(attr=name):
                calls |= exposed.get(name, frozenset())
                anything |= name.startswith("__")
            case ast.MatchClass(kwd_attrs=names):
                calls.update(*(exposed.get(name, frozenset()) for name in names))
            case ast.Call(func=function):
                anything |= not _resolved(function, bound, is_closed=is_closed)
            case _:
                pass
        stack.extend(ast.iter_child_nodes(node))
    return Use(frozenset(calls), anything)


def _exposed(layer: Layer) -> Mapping[str, frozenset[str]]:
    """The trusted functions by the names that modules of the layer have for them."""
    found: dict[str, set[str]] = {name: {name} for name in layer.functions}
    for module in layer.modules.values():
        for name, value in module.names.items():
            if isinstance(value, TrustedFunction):
                found.setdefault(name, set()).add(value.name)
    return {name: frozenset(functions) for name, functions in found.items()}


def _parameters(node: ast.AST) -> bool:
    """Whether a definition takes anything; of a class that is unknown."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    taken = node.args
    return bool(taken.posonlyargs or taken.args or taken.kwonlyargs or taken.vararg or taken.kwarg)


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name that the program gives to a value of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                pass


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


def _resolved(function: ast.expr, bound: Collection[str], *, is_closed: bool) -> bool:
    """Whether it is known what a call calls; methods of values call nothing of a layer."""
    match function:
        case ast.Name(id=name):
            return name in bound or hasattr(builtins, name)
        case ast.Attribute() | ast.Lambda():
            return True
        case _:
            return is_closed


def _harmless(value: object, path: str, *, is_closed: bool) -> bool:
    """Whether reading this can't lead to a trusted function whose name is not there."""
    top = path.partition(".")[0]
    if top in API or top in INERT:
        return True
    # A module that is kept under another name is read by attributes, which are names too.
    return value is not None and (is_closed or not isinstance(value, TrustedModule))


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
