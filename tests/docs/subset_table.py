"""The tables in docs/python-subset.md: what the front-end says when it is asked for each operation on each kind.

The enumeration (tests/prover/enumeration) holds these answers against Python; its layer gives the values here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from page_tables import NONE, ROOT, Tables, table

from lictor_prove.errors import Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.python import read_program
from lictor_prove.python.attributes import ATTRIBUTES
from lictor_prove.python.kinds import OBJECTS
from lictor_prove.python.library.signatures import OF_OBJECTS
from lictor_prove.python.operations.builtin_functions import STANDARD

LAYERS = ROOT / "tests/prover/enumeration/layers"
HOME = LAYERS / "tools/probe/trusted"

KINDS: Mapping[str, str] = {
    "bool": "a_bool()",
    "int": "an_int()",
    "float": "a_float()",
    "str": "a_str()",
    "row": "a_row()",
    "list returned": "strs()",
    "list": "[a_str(), a_str()]",
    "tuple": "(a_str(), an_int())",
    "dict": "{a_str(): an_int()}",
    "set": "{a_str()}",
    "frozen dataclass": "Cold(a_str(), an_int())",
    "dataclass": "Warm(a_str(), an_int())",
}
"""One value of each kind that nobody knows."""

OPERATIONS: Mapping[str, Sequence[str]] = {
    "truth, comparison": (
        *("x == x", "x < x", "x is None", "x in [x]", '"a" in x', "1 if x else 2"),
        *("isinstance(x, str)", "len({x: 1})"),
    ),
    "arithmetic": (
        *("x + x", "x - x", "x * 2", "x / 2", "x // 2", "x % 2", "x ** 2", "-x"),
        *("x & x", "x | x", "x << 1", "abs(x)", "round(x, 2)", "divmod(x, 2)"),
    ),
    "conversion, text": (
        *("str(x)", "repr(x)", "int(x)", "float(x)", "bool(x)", 'f"{x}"', 'f"{x:>8}"', 'f"{x:.2f}"'),
        *('"%s" % x', '"{}".format(x)', "print(x)"),
    ),
    "items": (
        *("len(x)", "x[0]", "x[-1]", 'x["a"]', "x[1:]", "x[:an_int()]", "x[::2]", "a, b = x"),
        *("a, *b = x", "x[0] = 1", "x[1:] = []", "del x[0]"),
    ),
    "fields": ("x.count", "x.count = 1", "x.count += 1", "x.nothing = 1", "asdict(x)", "replace(x, count=1).count"),
    "iteration": (
        *("[i for i in x]", "[i for i in x if i]", "{i for i in x}", "{i: 1 for i in x}", "sum(1 for i in x)"),
        *("sorted(x)", "min(x)", "sum(x)", "any(x)", "list(x)", "tuple(x)", "set(x)", "list(reversed(x))"),
        *("list(enumerate(x))", "list(zip(x, x))", "list(map(str, x))", "next(iter(x))", "[*x]"),
    ),
}  # fmt: skip

STATEMENTS = ("x[0] =", "x[1:] =", "del ", "a, ", "x.count =", "x.count +=", "x.nothing =")
ARGUMENTS = ("", '"a"', '"a", "b"', "1", "0, 1", '["a"]', '{"a"}', '{"a": 1}', '"a", 1')
"""A method is called with the first of these that it takes."""

DATACLASSES = "from dataclasses import asdict, dataclass, replace\n" + "".join(
    f"{decorator}\nclass {name}:\n    text: str\n    count: int = 1\n"
    for decorator, name in (("@dataclass(frozen=True)", "Cold"), ("@dataclass", "Warm"))
)

EXACT, CHECKED, UNKNOWN, RAISING, REFUSED = "exact", "exact *", "unknown", "unknown *", "refused"


@cache
def _layer() -> Layer:
    return load_layer([HOME], [LAYERS])


def answer(value: str, operation: str) -> str:
    """What the front-end makes of the operation on this value."""
    is_statement = operation.startswith(STATEMENTS)
    lines = [operation] if is_statement else [f"y = {operation}", "observe(y)"]
    names = [name for name in _layer().functions if f"{name}(" in f"{value} {operation} observe("]
    # Where a field is assigned, an instance is no value.
    lines = [*(["x.count = 2"] if value.startswith("Warm") else ()), *lines]
    source = "\n    ".join(
        (
            f"from tools.probe.trusted.effects import {', '.join(names)}\n{DATACLASSES}def main() -> None:",
            f"x = {value}",
            *lines,
        )
    )
    try:
        document = read_program(source, name="asked.py", layer=_layer())
    except Rejected as refused:
        return NONE if refused.reasons[0].code == "error.certain" else REFUSED
    if document.unknowns:
        return RAISING if any(each.may_raise for each in document.unknowns) else UNKNOWN
    return CHECKED if document.obligations else EXACT


def table_of_operations() -> str:
    def rows() -> Iterator[Sequence[str]]:
        for group, operations in OPERATIONS.items():
            yield (f"**{group}**", *("" for _ in KINDS))
            for operation in operations:
                spelled = operation.replace("|", "\\|")
                yield (f"`{spelled}`", *(answer(value, operation) for value in KINDS.values()))

    return table(("", *KINDS), rows())


def table_of_attributes() -> str:
    """The methods of each kind, by what is known of their results when the value is not known."""
    rows: list[Sequence[str]] = []
    for kind, value in KINDS.items():
        of = kind.partition(" ")[0]
        names = sorted(name for owner, name in ATTRIBUTES if owner == of)
        if not names:
            continue
        found: dict[str, list[str]] = {EXACT: [], UNKNOWN: [], REFUSED: []}
        for name in names:
            found[_method(value, name)].append(f"`{name}`")
        rows.append((kind, *(" ".join(found[each]) or NONE for each in found)))
    # No program writes these out: a layer holds them, or functions return them.
    for kind in dict.fromkeys(owner for owner, _ in ATTRIBUTES):
        if kind not in KINDS:
            names = sorted(name for owner, name in ATTRIBUTES if owner == kind)
            rows.append((str(kind.value), " ".join(f"`{name}`" for name in names), NONE, NONE))
    return table(("", EXACT, UNKNOWN, REFUSED), rows)


def _method(value: str, name: str) -> str:
    """What comes of the call that the front-end knows most of; a view or iterator is made a list."""
    calls = [f"x.{name}({given})" for given in ARGUMENTS]
    found = {answer(value, call) for call in (*calls, *(f"list({call})" for call in calls))}
    if found & {EXACT, CHECKED}:
        return EXACT
    return UNKNOWN if found & {UNKNOWN, RAISING} else REFUSED


def table_of_library() -> str:
    return table(
        ("module", "names"),
        (
            (f"`{module}`", " ".join(f"`{name}`" for name in sorted(held)))
            for module, held in sorted(STANDARD.items())
        ),
    )


def table_of_objects() -> str:
    names: dict[str, list[str]] = {}
    for full in OF_OBJECTS:
        kind, _, name = full.partition(".")
        if name and kind in OBJECTS:
            names.setdefault(kind, []).append(name)
    return table(
        ("type", "attributes"),
        (
            (f"`{kind}`", " ".join(f"`{name}`" for name in sorted(held)))
            for kind, held in names.items()
        ),
    )


SUBSET: Tables = {
    "operations": table_of_operations,
    "attributes": table_of_attributes,
    "library": table_of_library,
    "objects": table_of_objects,
}
