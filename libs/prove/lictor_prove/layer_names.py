"""What the free names of a layer's function mean: captured variables, globals, builtins, in this order."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Protocol


class Constancy(Protocol):
    """Tells what of a layer is constant. Each answer is why a name is not, or None."""

    def of_global(self, module: str, name: str, held: object) -> str | None:
        """Of a global of a module."""
        ...

    def of_captured(self, module: str, name: str, held: object, *, lasts: bool) -> str | None:
        """Of a variable of a function around; `lasts`: what reads it is called again later."""
        ...


class FunctionNames(Mapping[str, object]):
    """The names that a function of a layer sees."""

    def __init__(self, function: FunctionType, constancy: Constancy | None, *, lasts: bool) -> None:
        self._function = function
        self._constancy = constancy
        self._lasts = lasts
        self._captured: dict[str, object] = {}
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                self._captured[name] = cell.cell_contents
            except ValueError:
                continue

    def of(self, function: FunctionType) -> FunctionNames:
        """The names of a function that this one calls."""
        return FunctionNames(function, self._constancy, lasts=self._lasts)

    def why_changing(self, name: str) -> str | None:
        """Why a name is no constant; None when it is one."""
        if self._constancy is None:
            return None
        module = self._module()
        if name in self._captured:
            held = self._captured[name]
            return self._constancy.of_captured(module, name, held, lasts=self._lasts)
        # A builtin, too: a function may bind a global of its name later.
        held = self._function.__globals__.get(name, self._builtins().get(name))
        return self._constancy.of_global(module, name, held)

    def why_member_changing(self, module: ModuleType, name: str) -> str | None:
        """The same of an attribute of a module."""
        if self._constancy is None:
            return None
        return self._constancy.of_global(module.__name__, name, getattr(module, name))

    def why_default_changing(self, name: str, held: object) -> str | None:
        """The same of a parameter's default."""
        if self._constancy is None:
            return None
        return self._constancy.of_captured(self._module(), name, held, lasts=True)

    def _module(self) -> str:
        return str(self._function.__globals__.get("__name__"))

    def _builtins(self) -> Mapping[str, object]:
        """Those of the function itself: a module that binds `__builtins__` gives its functions others."""
        return getattr(self._function, "__builtins__", vars(builtins))

    def __getitem__(self, name: str) -> object:
        for space in (self._captured, self._function.__globals__, self._builtins()):
            if name in space:
                return space[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._builtins(), **self._function.__globals__, **self._captured})

    def __len__(self) -> int:
        return len(list(iter(self)))
