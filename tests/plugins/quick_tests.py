"""`pytest --quick`: only tests that start no process and reach no server, property tests with fewer examples.

Which these are is read from the code: a test is left out when it, a fixture that it uses, or a function of the
repository that they may call names something that starts a process. Nobody has to mark anything; a test that
starts one in a way that can't be read so fails, and says what to do.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[2]

STARTERS = (
    frozenset({"subprocess"}),
    frozenset({"create_subprocess_exec"}),
    frozenset({"multiprocessing"}),
    frozenset({"os", "fork"}),
    frozenset({"os", "posix_spawn"}),
)
"""Names that together start a process; our own functions that do so are found by these."""

_EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec"})

# Where Hypothesis keeps what `@settings` was told; it has no public name.
_OWN_SETTINGS = "_hypothesis_internal_use_settings"

settings.register_profile("quick", deadline=None, max_examples=10)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="run only tests that start no process, with fewer examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.load_profile("quick")
        config.pluginmanager.register(_Quick(), "lictor-quick")


class _Quick:
    def __init__(self) -> None:
        self._running = ""
        self._started: list[str] = []
        sys.addaudithook(self._heard)

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        if self._running and event in _EVENTS:
            self._started.append(f"{event} {details[0] if details else ''}")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        kept = [each for each in items if is_quick(each)]
        for each in kept:
            _with_fewer_examples(each)
        config.hook.pytest_deselected(items=[each for each in items if not is_quick(each)])
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self._running = item.nodeid
        self._started.clear()
        try:
            return (yield)
        finally:
            self._running = ""
            if self._started:
                pytest.fail(
                    f"a quick test started a process ({self._started[0]}), but nothing that it names"
                    f" says so: name what starts it in STARTERS, {Path(__file__).name}",
                    pytrace=False,
                )


def _with_fewer_examples(item: pytest.Item) -> None:
    """A property test that names a number of examples gets no more than the profile says."""
    test = getattr(item, "obj", None)
    own = getattr(test, _OWN_SETTINGS, None)
    if own is not None and own.max_examples > settings().max_examples:
        fewer = settings(own, max_examples=settings().max_examples)
        setattr(getattr(test, "__func__", test), _OWN_SETTINGS, fewer)


@functools.cache
def is_quick(item: pytest.Item) -> bool:
    """Whether neither the test nor a fixture that it uses starts a process, and it may not take for ever."""
    patience = item.get_closest_marker("timeout")
    if not isinstance(item, pytest.Function) or (patience and patience.args == (0,)):
        return False
    fixtures = item._fixtureinfo.name2fixturedefs  # pyright: ignore[reportPrivateUsage]
    used = [found[-1].func for name in item.fixturenames if (found := fixtures.get(name))]
    return not any(_starts_a_process(each) for each in (item.function, *used))


@functools.cache
def _starts_a_process(made: Any) -> bool:
    """Whether a function of ours, or one that may run when it is called, names a starter."""
    seen: dict[int, Any] = {}
    waiting = [made]
    while waiting:
        thing = _unwrapped(waiting.pop())
        if id(thing) in seen or id(thing) in _HARMLESS:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, type):
            waiting += vars(thing).values()
        elif not isinstance(thing, FunctionType):
            waiting.append(type(thing))
        elif _is_ours(thing.__code__.co_filename):
            if any(each <= _names(thing.__code__) for each in STARTERS):
                return True
            waiting += _named(thing)
    _HARMLESS.update(seen)
    return False


_HARMLESS: dict[int, Any] = {}
"""What was looked through, by its identity: kept alive, so that no identity is used again."""


def _unwrapped(thing: Any) -> Any:
    """The function behind a property, static or class method, partial or decorator."""
    if isinstance(thing, property):
        thing = thing.fget
    if isinstance(thing, staticmethod | classmethod):
        thing = thing.__func__
    if isinstance(thing, functools.partial):
        thing = thing.func
    # Hypothesis keeps the test apart from the function that it gives pytest.
    if isinstance(thing, FunctionType) and (given := getattr(thing, "hypothesis", None)):
        thing = given.inner_test
    return inspect.unwrap(thing) if isinstance(thing, FunctionType) else thing


def _named(function: FunctionType) -> Iterator[Any]:
    names = _names(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            yield from (vars(value).get(each) for each in names)
        else:
            yield value
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


@functools.cache
def _names(code: CodeType) -> frozenset[str]:
    """All names that the code uses, its inner functions too."""
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return frozenset(code.co_names).union(*inner)


@functools.cache
def _is_ours(file: str) -> bool:
    """Whether it is a file of this repository, and not of what is installed beside it."""
    path = Path(file)
    return path.is_relative_to(ROOT) and ".venv" not in path.parts
