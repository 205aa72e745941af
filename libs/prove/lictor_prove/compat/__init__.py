"""What `import clauz3` and `import deal` mean in a layer or program of ours.

Layers written for clauz3 load unchanged: these modules give its names our meaning. They stand under their own names
in `sys.modules` only while a layer is loaded or runs (`lictor_prove.layers.isolated_modules`), and then before any
package of that name that is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

_HERE: Final = __name__

MODULES: Final = (
    "clauz3",
    "clauz3._path_safety",
    "clauz3.conditions",
    "clauz3.effects",
    "clauz3.events",
    "clauz3.fluent",
    "clauz3.paths",
    "clauz3.policy",
    "clauz3.row",
    "clauz3.spec",
    "deal",
)


@cache
def modules() -> Mapping[str, ModuleType]:
    """The modules by the names under which layers import them."""
    return {name: import_module(f"{_HERE}.{name}") for name in MODULES}
