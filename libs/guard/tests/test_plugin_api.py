"""Plugin authors import from one module; what the guides named before works for one release, with a warning."""

from importlib import import_module
from types import ModuleType

import pytest

from lictor_guard import api


def test_the_public_names_are_exactly_all() -> None:
    public = {
        name
        for name, value in vars(api).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public == set(api.__all__)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("lictor_guard.provider", "PlainProvider"),
        ("lictor_guard.facts", "Fact"),
        ("lictor_guard.policy", "PolicyDecision"),
        ("lictor_guard.policy", "StatelessPolicy"),
        ("lictor_guard.policy", "ToolPolicy"),
        ("lictor_guard.completion", "PlainChecker"),
        ("lictor_guard.completion", "CompletionResult"),
    ],
)
def test_a_former_import_works_and_names_the_new_place(module: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"import {name} from lictor_guard.api"):
        assert getattr(import_module(module), name) is getattr(api, name)


def test_a_former_module_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match=r"'lictor_guard\.policy' has no attribute 'Nonsense'"):
        _ = import_module("lictor_guard.policy").Nonsense
