"""Verification methods of installed packages, found by their entry points.

A package names a `Method` under the group below, by the method's own name. One that can't be had is an error, and not
left out: an envelope that lists it would be held to less than it says.
"""

from importlib.metadata import EntryPoint, entry_points

from lictor_contracts.action.verification import METHODS, Method, Methods
from lictor_contracts.errors import MethodUnusable

GROUP = "lictor.verification_methods"
_ERROR_TEXT = 500


def installed_methods(base: Methods = METHODS) -> Methods:
    """The methods that come with Lictor and those of installed packages; MethodUnusable names the package at fault."""
    # Sorted, so that of two that clash always the same one is named.
    points = sorted(entry_points(group=GROUP), key=lambda point: (point.name, _stamp(point)))
    methods = base
    for point in points:
        found = _loaded(point)
        if found.name in methods.names:
            raise MethodUnusable(
                f"{_told(point)}: there is a method {found.name} already; rename it, or remove one of the packages"
            )
        methods = methods.plus(found)
    return methods


def _loaded(point: EntryPoint) -> Method:
    try:
        found = point.load()
    except Exception as error:
        # Importing a package of anybody's may raise anything.
        text = str(error)[:_ERROR_TEXT]
        raise MethodUnusable(
            f"{_told(point)} can't be loaded: {type(error).__name__}: {text}; mend or remove the package"
        ) from error
    if not isinstance(found, Method):
        raise MethodUnusable(
            f"{_told(point)} is a {type(found).__name__}, and no Method; decorate its reader with"
            f' @method("{point.name}")'
        )
    if found.name != point.name:
        raise MethodUnusable(
            f"{_told(point)} calls itself {found.name!r}; give it one name in both places"
        )
    return found


def _told(point: EntryPoint) -> str:
    return f"verification method {point.name!r} of {_stamp(point)} ({point.value})"


def _stamp(point: EntryPoint) -> str:
    return (
        "an unknown package" if point.dist is None else f"{point.dist.name}=={point.dist.version}"
    )
