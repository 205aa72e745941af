"""Domain policies: what should or must be said when a domain is used.

POLICY = domain_policy(when_used="send_email", recommended=["only"], required=["unique"], label="email")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lictor_layer.errors import DeclarationError


@dataclass(frozen=True, slots=True)
class DomainPolicy:
    """What should or must be said about a domain when it is used."""

    when_used: tuple[str, ...]
    recommended: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    label: str | None = None


def domain_policy(
    *,
    when_used: str | Sequence[str | Callable[..., object]] | Callable[..., object],
    recommended: Sequence[str] = (),
    required: Sequence[str] = (),
    label: str | None = None,
) -> DomainPolicy:
    """A policy: `recommended` contracts are missed in the report, `required` ones are proved whether stated or not.

    A recommended contract that takes arguments is named with them, `"at_most(100)"`: what is proved has to imply it.
    """
    several = (when_used,) if isinstance(when_used, str) or callable(when_used) else when_used
    names = tuple(name if isinstance(name, str) else name.__name__ for name in several)
    if not names:
        raise DeclarationError("when_used names the trusted functions that make the domain used")
    for what, given in (("recommended", recommended), ("required", required)):
        if isinstance(given, str) or not all(isinstance(name, str) for name in list[object](given)):
            raise DeclarationError(f"{what} is a list of names of contracts")
    if label is not None and not label:
        raise DeclarationError("label is a word for people, or left out")
    return DomainPolicy(names, tuple(recommended), tuple(required), label)
