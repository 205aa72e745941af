"""A test that leaves a connection open fails itself.

The garbage collector finds such a connection long after, in a test that has nothing to do with it. Here the event loop
is asked when it closes: whatever socket it still has then was closed by nobody.
"""

import gc
import warnings
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Generator
from typing import Any

import pytest

_LEFT: list[str] = []


def _open_transports(loop: Any) -> list[Any]:
    """Private to asyncio; `test_open_connections` fails if it changes."""
    return [each for each in list(loop._transports.values()) if each._sock is not None]


def pytest_configure(config: pytest.Config) -> None:
    close = BaseSelectorEventLoop.close

    def close_and_look(self: BaseSelectorEventLoop) -> None:
        if not self.is_closed():
            _LEFT.extend(str(each._sock) for each in _open_transports(self))
        close(self)

    BaseSelectorEventLoop.close = close_and_look
    config.add_cleanup(lambda: setattr(BaseSelectorEventLoop, "close", close))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, None, None]:
    try:
        return (yield)
    finally:
        if _LEFT:
            left = list(_LEFT)
            _LEFT.clear()
            # What is collected here is reported here, and not once more by the next test.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()
            pytest.fail("the test left open: " + ", ".join(left), pytrace=False)
