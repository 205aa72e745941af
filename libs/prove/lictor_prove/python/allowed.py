"""What programs may be written with, from the tables that the front-end asks."""

from __future__ import annotations

from typing import Any

from lictor_prove.python.attributes import ATTRIBUTES
from lictor_prove.python.operations.builtin_functions import BUILTINS, STANDARD
from lictor_prove.python.syntax.subset import SUPPORTED, refused_syntax


def allowed() -> dict[str, Any]:
    """Builtins, members of modules, methods by kind, and the syntax that is refused with what to write instead."""
    kinds = dict.fromkeys(kind for kind, _ in ATTRIBUTES)
    return {
        "builtins": sorted(BUILTINS),
        "modules": {name: sorted(members) for name, members in sorted(STANDARD.items())},
        "methods": {
            kind.value: sorted(name for owner, name in ATTRIBUTES if owner == kind)
            for kind in kinds
        },
        "statements": sorted(
            node.__name__ for node in SUPPORTED if node.__module__ == "ast" and _is_statement(node)
        ),
        "refused": [
            {"what": what, "instead": instead} for what, instead in refused_syntax().items()
        ],
    }


def _is_statement(node: type) -> bool:
    return any(base.__name__ == "stmt" for base in node.__mro__)
