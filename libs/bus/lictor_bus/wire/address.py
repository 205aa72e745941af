"""Addresses of servers as people may see them: the only way in which one is printed, logged or put into an error."""

import re

_NEXT = re.compile(r",\s*(?=[a-z][a-z0-9+]*://)")
_SERVER = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+]*://)"
    r"(?P<place>[A-Za-z0-9._-]*(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.%]+\](?::[0-9]{1,5})?)"
    r"(?P<path>/[^?#@]*)?(?:\?db=[0-9]+)?"
)


def shown(url: str) -> str:
    """Addresses, separated by commas, without user, password or token; of what is no address, nothing at all."""
    return ", ".join(map(_shown_one, _NEXT.split(url.strip())))


def _shown_one(url: str) -> str:
    scheme, marked, rest = url.partition("://")
    # Up to the last @: a password that was not escaped may hold another.
    without = f"{scheme}{marked}{rest.rpartition('@')[2]}"
    if _SERVER.fullmatch(without) and ("@" in rest or _SERVER.fullmatch(url)):
        return without
    return "an address that can't be read"
