"""Loading a layer: its files, its run, and what it declares."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Final, cast

from lictor_ir.document import Schema
from lictor_layer import DomainPolicy as DeclaredPolicy
from lictor_layer import Row
from lictor_layer.contracts import contract_declaration
from lictor_prove.coverage.required_contracts import contract_of_domain, recommended
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.layer_model import Layer, LayerPolicy, TrustedFunction, TrustedModule
from lictor_prove.layers.contract_builders import LayerContract
from lictor_prove.layers.contract_checks import check_relations
from lictor_prove.layers.declaration_reader import DeclarationReader
from lictor_prove.layers.files import LayerFiles, read_files
from lictor_prove.layers.isolated_modules import Runtime
from lictor_prove.layers.relation_vocabulary import Vocabulary

MAX_LABEL: Final = 256
"""What a coverage report holds."""


@dataclass(frozen=True, slots=True)
class LivingLayer:
    """A layer, and the modules that it was read from: what a runner calls."""

    layer: Layer
    runtime: Runtime
    rows: Mapping[str, type[Row]]
    """The row classes by the names of their schemas."""

    def function(self, name: str) -> FunctionType:
        """The trusted function of that name, with all its decorators."""
        return getattr(self.runtime.modules[self.layer.functions[name].module], name)


def load_layer(trusted_roots: Sequence[Path], import_roots: Sequence[Path]) -> Layer:
    """The layer of these trusted roots. It runs their code; it fails with ProverConfigError, or it is sound to use."""
    return load_living(read_files(trusted_roots, import_roots)).layer


def load_living(files: LayerFiles) -> LivingLayer:
    """The layer of these files, with its living modules; ProverConfigError as above."""
    runtime = Runtime(files)
    runtime.load()
    with runtime.active():
        reader = DeclarationReader(runtime)
        words = reader.words()
        contracts = _contracts(runtime, reader, words)
        for name, module in runtime.modules.items():
            check_relations(reader.source(name), module, words)
        policies = tuple(
            policy
            for package in files.packages
            for policy in _policies(package, runtime, reader, list(contracts.values()), words)
        )
        modules = _modules(files, runtime, reader, contracts)
    layer = Layer(
        hash=files.hash,
        modules=modules,
        functions=dict(sorted(reader.functions.items())),
        events={event.name: event for event in reader.events.values()},
        fluents=reader.declared_fluents(),
        schemas=reader.schemas,
        policies=policies,
        constancy=reader.changing,
    )
    return LivingLayer(layer, runtime, reader.rows)


def _contracts(
    runtime: Runtime, reader: DeclarationReader, words: Vocabulary
) -> Mapping[int, LayerContract]:
    """The contracts of the layer, by the ids of their functions."""
    found: dict[int, LayerContract] = {}
    for name, module in runtime.modules.items():
        for value in list(module.__dict__.values()):
            if contract_declaration(value) is None or not isinstance(value, FunctionType):
                continue
            if value.__module__ == name and id(value) not in found:
                found[id(value)] = LayerContract(
                    value.__name__,
                    name,
                    value,
                    reader.sources.place(value),
                    runtime,
                    reader.sources,
                    words,
                    reader.rows,
                    reader.schemas,
                )
    return found


def _modules(
    files: LayerFiles,
    runtime: Runtime,
    reader: DeclarationReader,
    contracts: Mapping[int, LayerContract],
) -> Mapping[str, TrustedModule]:
    """The modules, and the packages above them."""
    schemas: dict[int, Schema] = {
        id(row): reader.schemas[name] for name, row in reader.rows.items()
    }

    def meaning(value: object) -> TrustedFunction | LayerContract | Schema | object:
        if id(value) in reader.objects:
            return reader.functions[reader.objects[id(value)]]
        if id(value) in contracts:
            return contracts[id(value)]
        return schemas.get(id(value), value)

    names: dict[str, dict[str, object]] = {}
    for module in files.modules:
        living: ModuleType = runtime.modules[module.name]
        names.setdefault(module.name, {}).update(
            (name, meaning(value))
            for name, value in living.__dict__.items()
            if not (name.startswith("__") and name.endswith("__"))
        )
        parent = module.name
        while "." in parent:
            parent = parent.rpartition(".")[0]
            names.setdefault(parent, {})
    made = {name: TrustedModule(name, inner) for name, inner in names.items()}
    for name in made:
        parent, _, last = name.rpartition(".")
        # A package may bind the name of its submodule to something else.
        if parent and isinstance(names[parent].get(last, made[name]), ModuleType | TrustedModule):
            names[parent][last] = made[name]
    return made


def _policies(
    package: str,
    runtime: Runtime,
    reader: DeclarationReader,
    contracts: Sequence[LayerContract],
    words: Vocabulary,
) -> Sequence[LayerPolicy]:
    """The policies that `policy.py` of a trusted root declares."""
    name = f"{package}.policy"
    module = runtime.modules.get(name)
    if module is None:
        return ()
    place = f"{reader.source(name).place}:{_policy_line(reader.source(name).tree)}"
    given: object = getattr(module, "POLICY", None)
    several = cast(Sequence[object], given) if isinstance(given, list | tuple) else [given]
    policies = [policy for policy in several if isinstance(policy, DeclaredPolicy)]
    if len(policies) != len(several):
        raise ProverConfigError(f"{place}: POLICY must be a domain_policy(...), or a list of them")
    return [_policy(policy, package, place, contracts, words) for policy in policies]


def _policy_line(tree: ast.Module) -> int:
    for node in tree.body:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id == "POLICY":
                return node.lineno
    return 1


def _policy(
    declared: DeclaredPolicy,
    package: str,
    place: str,
    contracts: Sequence[LayerContract],
    words: Vocabulary,
) -> LayerPolicy:
    for trigger in declared.when_used:
        if trigger not in words.functions:
            raise ProverConfigError(
                f"{place}: when_used names {trigger!r}, which is no effect of this layer; it has"
                f" {', '.join(sorted(words.functions)) or 'none'}"
            )
    label = declared.label or " / ".join(declared.when_used)
    if len(label) > MAX_LABEL:
        raise ProverConfigError(f"{place}: the label {label[:40]!r}… is longer than {MAX_LABEL}")
    policy = LayerPolicy(
        label, package, declared.when_used, declared.recommended, declared.required
    )
    for text in policy.recommended:
        try:
            wanted = recommended(text, package, contracts)
            if wanted.arguments is not None:
                wanted.contract()
        except ProveError as error:
            raise ProverConfigError(
                f"{place}: the recommended contract {text!r} of the domain {label} can't be stated: {error}"
            ) from None
    for name in policy.required:
        required = contract_of_domain(name, package, contracts)
        if required is None:
            raise ProverConfigError(
                f"{place}: the required contract {name!r} of the domain {label} is no contract of"
                f" {package}"
            )
        if not required.nullary:
            raise ProverConfigError(
                f"{place}: the required contract {name!r} of the domain {label} takes arguments; only a"
                " contract without arguments can be required, for nobody is there to give them"
            )
    return policy
