"""The table of attributes in docs/python-subset.md, from the one that the front-end asks."""

from __future__ import annotations

from page_tables import Tables, table

from lictor_prove.python.attributes import ATTRIBUTES


def table_of_attributes() -> str:
    kinds = dict.fromkeys(kind for kind, _ in ATTRIBUTES)
    names = {kind: sorted(name for of, name in ATTRIBUTES if of == kind) for kind in kinds}
    return table(
        ("kind", "attributes"),
        ((f"`{kind}`", " ".join(f"`{name}`" for name in names[kind])) for kind in kinds),
    )


SUBSET: Tables = {"attributes": table_of_attributes}
