"""Names that plugins imported from elsewhere before `lictor_guard.api` existed; for one release, with a warning."""

from collections.abc import Callable
from importlib import import_module
from warnings import warn


def served_by_api(module: str) -> Callable[[str], object]:
    """A module's `__getattr__` that takes the names of `lictor_guard.api` from there."""

    def getattr_(name: str) -> object:
        # Not before a name is asked for: the api needs some of these modules itself.
        if not name.startswith("_"):
            api = import_module("lictor_guard.api")
            if name in api.__all__:
                warn(f"import {name} from lictor_guard.api", DeprecationWarning, stacklevel=2)
                return getattr(api, name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return getattr_
