"""Authors of verification methods import from one module; the former one works for one release, with a warning."""

from importlib import import_module

import pytest

from lictor_contracts import api


@pytest.mark.parametrize("name", api.__all__)
def test_the_former_import_works_and_names_the_new_place(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"import {name} from lictor_contracts.api"):
        assert getattr(import_module("lictor_contracts.verifying"), name) is getattr(api, name)


def test_the_former_module_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = import_module("lictor_contracts.verifying").Nonsense
