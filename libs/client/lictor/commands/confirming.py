"""Asking the person at the terminal before something is done for good."""

import sys

from lictor.errors import LictorError


def need_terminal(instead: str) -> None:
    """Raises unless somebody is there to confirm; says what to do instead."""
    if not sys.stdin.isatty():
        raise LictorError(f"nobody is at a terminal to confirm; {instead}.")


def confirmed(word: str, what: str) -> bool:
    """Whether the person typed the word."""
    sys.stdout.write(f"\nType `{word}` to {word} {what}: ")
    sys.stdout.flush()
    return sys.stdin.readline().strip() == word
