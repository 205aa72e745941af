"""What is proved besides what a program states: required contracts, and that columns come from one row.

Both are added to the document that is proved, never to the program: `Guarantee.required_by` says whose they are.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard, TypeVar

from lictor_ir.contracts import FIELD_PREFIX, All, Contract, Relation, leaves
from lictor_ir.document import Document, Guarantee
from lictor_ir.terms import App, Term, Var, and_, apply
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.layer_model import ContractBuilder, Layer, LayerPolicy

ROW_IDENTITY: Final = "row identity"
"""Who requires that two columns come from one row."""

BuilderT = TypeVar("BuilderT", bound=ContractBuilder)


def contract_of_domain(name: str, package: str, contracts: Iterable[BuilderT]) -> BuilderT | None:
    """The contract that a policy means by a bare name: that of its own package, else the only one in the layer."""
    named = [contract for contract in contracts if contract.name == name]
    own = [contract for contract in named if in_package(contract.module, package)]
    candidates = own or named
    return candidates[0] if len(candidates) == 1 else None


@dataclass(frozen=True, slots=True)
class Recommended:
    """What a policy means by a contract: `only`, or with arguments, `at_most(100)`."""

    name: str
    builder: ContractBuilder
    arguments: tuple[Sequence[object], Mapping[str, object]] | None
    """None where it is named without any."""

    @property
    def is_open(self) -> bool:
        """Whether it takes arguments and is named without them: whatever a program gives it would do."""
        return self.arguments is None and not self.builder.nullary

    def contract(self) -> Contract:
        """The contract; ProveError when it can't be called so."""
        return self.builder.build_stated(*(self.arguments or ((), {})))[0]


def recommended(text: str, package: str, contracts: Iterable[ContractBuilder]) -> Recommended:
    """The contract that a policy names; ProveError when there is none."""
    name, arguments = _call(text)
    builder = contract_of_domain(name, package, contracts)
    if builder is None:
        raise ProveError(f"{name!r} is no contract of {package}, and none of the whole layer alone")
    return Recommended(name, builder, arguments)


def _call(text: str) -> tuple[str, tuple[Sequence[object], Mapping[str, object]] | None]:
    """The name, and the literals that it is called with; None where it is not called."""
    if text.isidentifier():
        return text, None
    try:
        match ast.parse(text, mode="eval").body:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                named = {each.arg: ast.literal_eval(each.value) for each in keywords if each.arg}
                if len(named) == len(keywords):
                    return name, ([ast.literal_eval(each) for each in args], named)
            case _:
                pass
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass
    raise ProveError(f"{text!r} is neither a name nor a call with literals, such as at_most(100)")


def in_package(module: str, package: str) -> bool:
    """Whether a module is a package or below it."""
    return module == package or module.startswith(package + ".")


def contracts_of(layer: Layer) -> Sequence[ContractBuilder]:
    """Every contract of the layer, once."""
    found: dict[int, ContractBuilder] = {}
    for module in layer.modules.values():
        for value in module.names.values():
            if is_contract(value):
                found[id(value)] = value
    return list(found.values())


def is_contract(value: object) -> TypeGuard[ContractBuilder]:
    """Whether it is a contract of a layer."""
    return callable(getattr(value, "build", None)) and hasattr(value, "nullary")


def with_required(document: Document, layer: Layer, used: Collection[LayerPolicy]) -> Document:
    """The document with the required contracts of the domains that are used (`coverage.used_policies`)."""
    # Late: loading a layer needs this module, and not the front-end.
    from lictor_prove.coverage.closed_documents import closed

    added: list[Guarantee] = []
    builders = contracts_of(layer)
    for policy in used:
        added.extend(_required(policy, builders))
    known = [guarantee.contract for guarantee in document.guarantees]
    added = [guarantee for guarantee in added if guarantee.contract not in known]
    whole = replace(document, guarantees=(*document.guarantees, *added))
    return closed(whole, [guarantee.contract for guarantee in added], layer)


def _required(policy: LayerPolicy, builders: Sequence[ContractBuilder]) -> Iterable[Guarantee]:
    for name in policy.required:
        builder = contract_of_domain(name, policy.package, builders)
        if builder is None:
            raise ProverConfigError(f"the required contract {name!r} of {policy.label} is unknown")
        contract, description = builder.build((), {})
        yield Guarantee(f"{name}()", contract, description, required_by=policy.label)


# -- columns of one row --------------------------------------------------------------------------------


def with_row_identity(document: Document) -> Document:
    """The document with the demand that columns which are pinned together come from one row.

    `stock_from(Approval)` and `shares_from(Approval)` each say that a field is a column of some approval. Together they
    are meant to say: of the same one. A program that sells one approval's stock in another's quantity keeps each of
    them and breaks what they mean.
    """
    pins: dict[tuple[Relation, str], dict[Var, str]] = {}
    for guarantee in document.guarantees:
        for contract in leaves(guarantee.contract):
            if isinstance(contract, All):
                for value, schema, column in _pins(contract.holds):
                    pins.setdefault((contract.relation, schema), {})[value] = column
    known = [guarantee.contract for guarantee in document.guarantees]
    added: list[Guarantee] = []
    for (relation, schema), fields in _together(pins):
        if len(fields) > 1:
            contract = All(relation, _same_row(schema, fields))
            if contract not in known:
                known.append(contract)
                added.append(_identity(contract, schema, fields))
    return replace(document, guarantees=(*document.guarantees, *added))


Pins = tuple[tuple[Relation, str], dict[Var, str]]


def _pins(holds: Term) -> Iterable[tuple[Var, str, str]]:
    """The fields that a predicate pins to columns: `e.stock` from `Approval.stock`."""
    if isinstance(holds, App) and holds.op == "and":
        for part in holds.args:
            yield from _pins(part)
    elif isinstance(holds, App) and holds.op == "from":
        for value, spelled in zip(holds.args, holds.param.split(","), strict=True):
            schema, _, column = spelled.rpartition(".")
            if isinstance(value, Var):
                yield value, schema, column


def _together(pins: dict[tuple[Relation, str], dict[Var, str]]) -> Iterable[Pins]:
    """Each relation with its pins, and each two relations that share effects, with the pins of both."""
    groups = list(pins.items())
    yield from groups
    for at, ((one, schema), fields) in enumerate(groups):
        for (other, other_schema), other_fields in groups[at + 1 :]:
            if schema == other_schema and one != other:
                both = _overlap(one, other)
                if both is not None:
                    yield (both, schema), {**fields, **other_fields}


def _overlap(one: Relation, other: Relation) -> Relation | None:
    effects = tuple(sorted(set(one.effects) & set(other.effects)))
    events = tuple(sorted(set(one.events) & set(other.events)))
    if not effects and not events:
        return None
    conditions = [where for where in (one.where, other.where) if where is not None]
    return Relation(effects, events, and_(*conditions) if conditions else None)


def _same_row(schema: str, fields: dict[Var, str]) -> Term:
    ordered = sorted(fields, key=lambda value: value.name)
    spelled = ",".join(f"{schema}.{fields[value]}" for value in ordered)
    return apply("same_row", *ordered, param=spelled)


def _identity(contract: All, schema: str, fields: dict[Var, str]) -> Guarantee:
    names = sorted(value.name.removeprefix(FIELD_PREFIX) for value in fields)
    told = f"{', '.join(names[:-1])} and {names[-1]}"
    return Guarantee(
        f"same_row({', '.join(names)})",
        contract,
        f"{told} are columns of one and the same {schema} row.",
        required_by=ROW_IDENTITY,
    )
