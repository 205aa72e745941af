"""Where authors of verification methods imported from before `lictor_contracts.api` existed; for one release."""

from importlib import import_module
from warnings import warn


def __getattr__(name: str) -> object:
    if not name.startswith("_"):
        api = import_module("lictor_contracts.api")
        if name in api.__all__:
            warn(f"import {name} from lictor_contracts.api", DeprecationWarning, stacklevel=2)
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
