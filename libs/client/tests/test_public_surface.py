"""What the package shows, and what loading it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lictor

LOADED = """
import sys
before = set(sys.modules)
{statement}
print("\\n".join(sorted(set(sys.modules) - before)))
"""


def modules_loaded_by(statement: str) -> set[str]:
    answer = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(answer.stdout.split())


def test_the_public_surface_is_exactly_this() -> None:
    assert lictor.__all__ == [
        "ActionDenied",
        "AdapterCapabilities",
        "DecisionRefused",
        "GovernedDecision",
        "Governor",
        "Guard",
        "GuardCallbackHandler",
        "LictorError",
        "Program",
        "Published",
        "StopBlocked",
        "SyncGuard",
        "ToolDenied",
        "__version__",
        "connect",
        "guard_sync",
        "guarded",
    ]
    assert dir(lictor) == sorted(lictor.__all__)
    assert all(getattr(lictor, name) is not None for name in lictor.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = lictor.nothing


def test_importing_the_package_loads_nothing_else() -> None:
    assert modules_loaded_by("import lictor") == {"lictor"}


def test_the_help_loads_nothing_but_the_command() -> None:
    assert modules_loaded_by(
        "import io, contextlib, lictor_cli.main\n"
        "before |= set(sys.modules) - {'lictor', 'lictor_cli.main'}\n"
        "with contextlib.redirect_stdout(io.StringIO()): lictor_cli.main.main(['--help'])"
    ) == {"lictor_cli", "lictor_cli.main"}
    assert modules_loaded_by("import lictor_cli.main") == {"lictor", "lictor_cli.main"}


@pytest.mark.parametrize("heavy", ["faststream", "rich", "lictor_seal"])
def test_the_sdk_does_not_load_what_only_services_and_commands_need(heavy: str) -> None:
    assert heavy not in modules_loaded_by("import lictor; lictor.connect")


def test_every_error_has_one_root() -> None:
    from lictor import errors
    from lictor_local import embedded_servers

    for error in (
        errors.Unreachable,
        errors.InvalidEvent,
        errors.EventRefused,
        errors.InvalidReceipt,
        errors.NotInTime,
        errors.SessionRefused,
        errors.StopBlocked,
        errors.ToolDenied,
        embedded_servers.EmbeddedError,
    ):
        assert issubclass(error, lictor.LictorError)


def test_no_module_has_the_name_of_something_public():
    """Importing the module would put it in the place of the name."""
    modules = {path.stem for path in Path(lictor.__file__).parent.glob("*.py")}
    assert not modules & set(lictor.__all__)
