"""The first answers to questions that no log holds: a caller that got no answer and asks again gets the same one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

_MAX_REMEMBERED = 4_096
_MAX_REMEMBERED_BYTES = 16 * 1024 * 1024
# As long as a client goes on asking because no answer came; what happens later in the task must count.
_REMEMBERED_S = 5.0


class JudgedAnswer(NamedTuple):
    """An answer's bytes, and whether asking again gets them again."""

    body: bytes
    is_final: bool


class _First(NamedTuple):
    request: Any
    size: int
    until: float
    body: "asyncio.Future[bytes | None]"
    """None when there is no answer that could be given again."""


class FirstAnswers:
    """The last answers: a question that is asked again gets its first one, also while that is still being judged."""

    def __init__(self) -> None:
        self._firsts: dict[tuple[str, str, str], _First] = {}
        self._bytes = 0

    async def answer(
        self,
        name: tuple[str, str, str],
        request: Any,
        size: int,
        judge: Callable[[], Awaitable[JudgedAnswer]],
    ) -> bytes:
        """The first answer to this question of so many bytes, judged now if there is none."""
        loop = asyncio.get_running_loop()
        known = self._firsts.get(name)
        if known is not None and known.until > loop.time() and _is_same(known.request, request):
            body = await asyncio.shield(known.body)
            if body is not None:
                return body
        first = _First(request, size, loop.time() + _REMEMBERED_S, loop.create_future())
        self._remember(name, first)
        judged: JudgedAnswer | None = None
        try:
            judged = await judge()
            return judged.body
        finally:
            first.body.set_result(None if judged is None else judged.body)
            if (judged is None or not judged.is_final) and self._firsts.get(name) is first:
                self._forget(name)

    def _remember(self, name: tuple[str, str, str], first: _First) -> None:
        self._forget(name)
        self._firsts[name] = first
        self._bytes += first.size
        while len(self._firsts) > _MAX_REMEMBERED or self._bytes > _MAX_REMEMBERED_BYTES:
            self._forget(next(iter(self._firsts)))

    def _forget(self, name: tuple[str, str, str]) -> None:
        first = self._firsts.pop(name, None)
        if first is not None:
            self._bytes -= first.size


def _is_same(first: Any, again: Any) -> bool:
    """Whoever had no answer asks again, later."""
    asked_at = getattr(first, "requested_at", None)
    if asked_at is None:
        return first == again
    return first == again.model_copy(update={"requested_at": asked_at})
