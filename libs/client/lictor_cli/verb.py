"""One verb of several that share a module."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verb:
    """What a module with a single verb has as its own names."""

    HELP: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int | Coroutine[Any, Any, int]]
