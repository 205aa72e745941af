"""What a layer offers to programs, for whoever writes one: as plain values, and as text that an agent can be given."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from lictor_ir.document import Schema
from lictor_ir.types import Type
from lictor_prove.layer_model import Layer, LayerParameter, Predicate, TrustedFunction

_RULES: Final = """\
Write one Python file. Import what you need from the modules below, at the top of the file. Define `def main() -> None:`
and put what the program promises above it, one `@lictor_layer.guarantee(contract(literals...))` a line, after
`import lictor_layer`. Only the functions below have effects; everything else is computed. Helpers, loops,
comprehensions, f-strings, lists, dicts and sets are ordinary Python.

The program is read, not run: each call is known with its arguments and the condition under which it happens.
- Keep what guarantees and demands read exact: values written out, columns of returned rows, results of calls passed on
  as they are, arithmetic on ints, f-strings, slices with known bounds, comparisons, `len` of a returned list.
- Unknown as values: lower, strip, split, title, formats such as `:.2f`, round, sorted order, sums and texts that a loop
  builds. Use them freely in texts; a guarantee that depends on one can't be proved.
- Test what a function demands with `if` before the call, unless a promise says it.
- Bound the number of calls by what a call promises (`len(result) <= 50`) or by a slice: `for row in rows[:20]:`.
- Bound the length of a text by a slice: `text[:500]`.
- Parameters of `main` are annotated bool, int, float or str and have no defaults. What is proved holds for all values;
  the program is submitted with a value for each, and runs with exactly these.
- What `main` returns is told to whoever submitted the program, and nothing is proved about it: `-> list[str]`."""


@runtime_checkable
class _Contract(Protocol):
    """A contract that was read from the layer's source."""

    @property
    def name(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def signature(self) -> inspect.Signature: ...
    @property
    def documentation(self) -> str: ...


def offered(layer: Layer) -> dict[str, Any]:
    """What programs may call, read and promise, and what they may be written with."""
    # Late: whoever loads a layer does not need the front-end.
    from lictor_prove.python.allowed import allowed

    contracts = [
        {
            "name": held.name,
            "module": name,
            "signature": f"{held.name}{_plain(str(held.signature.replace(return_annotation=inspect.Signature.empty)))}",
            "documentation": held.documentation,
        }
        for name, module in sorted(layer.modules.items())
        for held in module.names.values()
        if isinstance(held, _Contract) and held.module == name
    ]
    return {
        "hash": layer.hash,
        "functions": [_function(each) for _, each in sorted(layer.functions.items())],
        "rows": [_row(layer, schema) for _, schema in sorted(layer.schemas.items())],
        "contracts": contracts,
        "policies": [
            {
                "label": each.label,
                "when_used": list(each.when_used),
                "required": list(each.required),
                "recommended": list(each.recommended),
            }
            for each in layer.policies
        ],
        "allowed": allowed(),
    }


def _function(function: TrustedFunction) -> dict[str, Any]:
    return {
        "name": function.name,
        "module": function.module,
        "signature": f"{function.name}({', '.join(_parameters(function.parameters))}) -> {_result(function)}",
        "documentation": function.documentation,
        "demands": _texts(function.requires),
        "promises": _texts(function.ensures),
        "performs": [each.event for each in function.events],
        "markers": list(function.markers),
    }


def _parameters(parameters: Sequence[LayerParameter]) -> Iterator[str]:
    for at, each in enumerate(parameters):
        if each.keyword_only and not any(before.keyword_only for before in parameters[:at]):
            yield "*"
        type_ = "type[Row]" if each.is_schema else _spelled(each.type)
        yield f"{each.name}: {type_}{' = ...' if each.has_default else ''}"
        following = parameters[at + 1 : at + 2]
        if each.positional_only and not any(after.positional_only for after in following):
            yield "/"


def _result(function: TrustedFunction) -> str:
    if function.result is None:
        return "object"
    told = _spelled(function.result)
    return told.replace("*", function.result_of_schema or "Row")


def _spelled(type_: Type) -> str:
    """A type as Python annotates it."""
    told = re.sub(r"\b(row|enum)<([^<>]*)>", r"\2", str(type_))
    told = re.sub(r"\bmap<", "dict<", told).replace("<", "[").replace(">", "]")
    return re.sub(r"\bnone\b", "None", re.sub(r"\bany\b", "object", told))


def _texts(predicates: Sequence[Predicate]) -> list[str]:
    """The conditions, and the constants that they name."""
    told: list[str] = []
    for each in predicates:
        text = " ".join(each.text.split())
        held = {
            name: value
            for name, value in each.names.items()
            if isinstance(value, bool | int | float | str) and re.search(rf"\b{name}\b", text)
        }
        known = ", ".join(f"{name} = {value!r}" for name, value in sorted(held.items()))
        told.append(f"{text} ({known})" if known else text)
    return told


def _row(layer: Layer, schema: Schema) -> dict[str, Any]:
    # Where the fewest other names stand: others import it from there.
    modules = sorted(
        (len(module.names), name)
        for name, module in layer.modules.items()
        if any(held == schema for held in module.names.values())
    )
    columns = {column.name: _spelled(column.type) for column in schema.columns}
    return {"name": schema.name, "module": modules[0][1] if modules else None, "columns": columns}


def _plain(signature: str) -> str:
    """Without the modules of what it is annotated with."""
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", signature)


def offer_text(offer: Mapping[str, Any]) -> str:
    """The same as text: signatures, what is demanded and promised, contracts, and what programs may use."""
    return "\n".join(_lines(offer)) + "\n"


def _lines(offer: Mapping[str, Any]) -> Iterator[str]:
    yield f"Layer {offer['hash']}"
    yield ""
    yield _RULES
    for title, key in (("Functions", "functions"), ("Contracts, for guarantees", "contracts")):
        yield ""
        yield f"# {title}"
        module = None
        for each in sorted(offer[key], key=lambda one: (one["module"], one["name"])):
            if each["module"] != module:
                module = each["module"]
                yield ""
                yield f"from {module} import ..."
            yield ""
            yield f"  {each['signature']}"
            yield from (
                f"      {line}" for line in each["documentation"].splitlines() if line.strip()
            )
            yield from (f"      demands: {text}" for text in each.get("demands", ()))
            yield from (f"      promises: {text}" for text in each.get("promises", ()))
    yield ""
    yield "# Rows"
    for row in offer["rows"]:
        columns = ", ".join(f"{name}: {type_}" for name, type_ in row["columns"].items())
        where = f" (from {row['module']} import {row['name']})" if row["module"] else ""
        yield f"  {row['name']}({columns}){where}"
    if offer["policies"]:
        yield ""
        yield "# What the layer asks for"
    for policy in offer["policies"]:
        used = ", ".join(policy["when_used"])
        for what, verb in (("required", "must"), ("recommended", "should")):
            if policy[what]:
                yield f"  A program that uses {used} {verb} keep {', '.join(policy[what])}."
    yield ""
    yield "# What programs may use"
    known = offer["allowed"]
    yield f"  builtins: {', '.join(known['builtins'])}"
    for name, members in known["modules"].items():
        yield f"  {name}: {', '.join(members)}"
    for kind, names in known["methods"].items():
        yield f"  methods of {kind}: {', '.join(names)}"
    yield ""
    yield "# What is rejected"
    yield from (f"  {each['what']}: {each['instead']}" for each in known["refused"])
