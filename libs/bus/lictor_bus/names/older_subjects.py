"""Subjects as version 0.1 had them: what a runtime may follow did not carry the runtime's token yet."""

# Behind `lictor` and the kind.
_PLACE = 2
_KINDS = frozenset(("dec", "guide", "prog", "proof", "appr", "run", "ep", "gated", "rcpt"))


def without_runtime(subject: str) -> str:
    """A subject, or a pattern, as 0.1 had it; one that has no other form is the same."""
    tokens = subject.split(".")
    if tokens[1] not in _KINDS:
        return subject
    return ".".join((*tokens[:_PLACE], *tokens[_PLACE + 1 :]))


def with_runtime(subject: str, runtime: str) -> str:
    """A subject, or a pattern, of 0.1 with the runtime's token, or with a wildcard for it."""
    tokens = subject.split(".")
    if tokens[1] not in _KINDS:
        return subject
    return ".".join((*tokens[:_PLACE], runtime, *tokens[_PLACE:]))
