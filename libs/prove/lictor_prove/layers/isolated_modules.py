"""Runs the modules of a layer, apart from everything else in the process.

Two layers may both have a module `tools.db.trusted`. While a layer is active its modules, and ours for `clauz3` and
`deal`, stand in `sys.modules`; before and after, what stood there stands there again. Contract builders run while their
layer is active, so that imports inside them find the same modules.

A layer may import the standard library and installed packages. What is below its import roots but outside its trusted
roots it may not: that code is neither trusted nor hashed.
"""

from __future__ import annotations

import builtins
import linecache
import math
import re
import string
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import decode_source
from types import ModuleType
from typing import TYPE_CHECKING, Final

from lictor_prove import compat
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers.files import LayerFiles, ModuleFile

if TYPE_CHECKING:
    from collections.abc import Mapping

_STANDARD: Final = frozenset(sys.stdlib_module_names)
_PYTHON: Final = (builtins, math, re, string)
"""What programs name besides their layers."""
_GONE: Final = object()
_ONE_AT_A_TIME: Final = threading.RLock()
"""`sys.modules` belongs to the process."""


class Runtime:
    """The living modules of one layer."""

    def __init__(self, files: LayerFiles) -> None:
        self.files: Final = {file.name: file for file in files.modules}
        self.places: Final = {str(file.path): file.place for file in files.modules}
        self._own: dict[str, ModuleType] = {}
        self._is_active = False
        self._before: tuple[int, str] | None = None
        """How many modules there were when it was active last, and the newest; None when some have to be hidden."""
        self._tops: Final = {name.partition(".")[0] for name in self.files}
        self._swapped: Final = self._tops | {"clauz3", "deal"}
        for top in sorted(self._tops):
            if top in ("clauz3", "deal") or top.startswith("lictor") or top in _STANDARD:
                raise ProverConfigError(
                    f"{top}: a layer's package can't have this name; it means something else here"
                )

    @property
    def modules(self) -> Mapping[str, ModuleType]:
        """The loaded modules of the layer itself."""
        return {name: self._own[name] for name in self.files if name in self._own}

    @contextmanager
    def active(self) -> Generator[None]:
        """Within, importing the layer's names, `clauz3` and `deal` gives what they mean in this layer."""
        with _ONE_AT_A_TIME:
            if self._is_active:
                yield
                return
            self._is_active = True
            finder = _Finder(self.files, self._tops)
            foreign = [] if _newest() == self._before else self._present()
            hidden = {name: sys.modules.pop(name) for name in foreign}
            ours = {**compat.modules(), **self._own}
            sys.modules.update(ours)
            inside = _newest()
            sys.meta_path.insert(0, finder)
            try:
                yield
            finally:
                self._is_active = False
                sys.meta_path.remove(finder)
                for name in ours if _newest() == inside else self._present():
                    module = sys.modules.pop(name)
                    if name.partition(".")[0] in self._tops:
                        self._own[name] = module
                sys.modules.update(hidden)
                self._before = None if hidden else _newest()

    def _present(self) -> list[str]:
        """The modules in the process whose names mean something else in this layer."""
        return [name for name in list(sys.modules) if name.partition(".")[0] in self._swapped]

    def load(self) -> None:
        """Runs every module."""
        with self.active():
            for name, file in self.files.items():
                with _unchanged_python(file.place):
                    self.guarded(file.place, lambda name=name: __import__(name))

    def guarded(self, place: str, run: Callable[[], object]) -> object:
        """What trusted code gives; when it fails in whatever way, an error that names the file and line."""
        try:
            return run()
        except (KeyboardInterrupt, ProverConfigError):
            raise
        except BaseException as error:  # SystemExit too
            raise ProverConfigError(
                f"{self.where(error, place)}: the layer can't be loaded:"
                f" {type(error).__name__}: {error}"
            ) from error

    def where(self, error: BaseException, place: str) -> str:
        """The last line of the layer that the error went through."""
        if isinstance(error, SyntaxError) and error.filename in self.places:
            return f"{self.places[error.filename]}:{error.lineno or 1}"
        frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
        for frame in reversed(frames):
            if frame.filename in self.places:
                return f"{self.places[frame.filename]}:{frame.lineno}"
        return f"{place}:1"


@contextmanager
def _unchanged_python(place: str) -> Generator[None]:
    """Puts back what a module assigns to names of Python itself, and refuses the layer: proofs rest on them, and so
    does everything else in this process."""
    before = {
        module: {
            name: held
            for name, held in vars(module).items()
            # `__import__` is one of the builtins, `_` is anybody's; the rest is the modules' own business.
            if not name.startswith("_") or (module is builtins and name != "_")
        }
        for module in _PYTHON
    }
    changed: list[str] = []
    try:
        yield
    finally:
        for module, names in before.items():
            for name, held in names.items():
                if vars(module).get(name, _GONE) is not held:
                    setattr(module, name, held)
                    changed.append(f"{module.__name__}.{name}")
    if changed:
        raise ProverConfigError(
            f"{place}:1: the layer changes {', '.join(changed)}, which all programs rest on; leave Python as it is"
        )


def _newest() -> tuple[int, str]:
    """Different whenever a module came or went: names stand in the order in which they came."""
    return len(sys.modules), next(reversed(sys.modules))


class _Finder(MetaPathFinder):
    """Finds the modules of a layer, and nothing else below their names."""

    def __init__(self, files: Mapping[str, ModuleFile], tops: set[str]) -> None:
        self._files = files
        self._tops = tops
        self._parents = {
            parent for name in files for parent in _parents(name) if parent not in files
        }

    def find_spec(
        self,
        fullname: str,
        _path: object = None,
        _target: object = None,
    ) -> ModuleSpec | None:
        """The spec of a module of the layer."""
        top = fullname.partition(".")[0]
        if top in ("clauz3", "deal"):
            raise ModuleNotFoundError(
                f"{fullname!r} has no meaning here: Lictor knows {', '.join(compat.MODULES)}",
                name=fullname,
            )
        if top not in self._tops:
            return None
        file = self._files.get(fullname)
        if file is not None:
            package = file.is_package or fullname in {
                parent for name in self._files for parent in _parents(name)
            }
            spec = ModuleSpec(
                fullname, _SourceLoader(file), origin=str(file.path), is_package=package
            )
            spec.has_location = True
            return spec
        if fullname in self._parents:
            return ModuleSpec(fullname, _NamespaceLoader(), is_package=True)
        raise ModuleNotFoundError(
            f"{fullname!r} is in no trusted root; a layer imports nothing beside them below"
            f" {top!r}",
            name=fullname,
        )


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


class _SourceLoader(Loader):
    """Runs the bytes that were hashed; writes no cache files."""

    def __init__(self, file: ModuleFile) -> None:
        self._file = file

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 -- importlib's
        """The text of the module."""
        return decode_source(self._file.source)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module."""
        name = str(self._file.path)
        code = compile(self._file.source, name, "exec", dont_inherit=True)
        # `inspect.getsource` and the like get the text that runs, not what the file holds by then.
        text = self.get_source(module.__name__)
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(code, module.__dict__)  # noqa: S102 -- loading a trusted layer is running it


class _NamespaceLoader(Loader):
    """A folder above trusted roots: a package with nothing in it."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs."""
