"""The public surface is exactly `__all__`."""

import types

import lictor_seal


def test_all_lists_every_public_name() -> None:
    public = {
        name
        for name, value in vars(lictor_seal).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public == set(lictor_seal.__all__)
    assert list(lictor_seal.__all__) == sorted(
        lictor_seal.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )


def test_every_error_has_the_one_root() -> None:
    errors = [getattr(lictor_seal, n) for n in lictor_seal.__all__ if n.endswith("Error")]
    assert len(errors) == 11
    assert all(issubclass(error, lictor_seal.SealError) for error in errors)
