"""What the package shows, and what loading it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import BaseModel

import lictor
from lictor import models, tasks

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
        "RunReport",
        "StopBlocked",
        "SyncGuard",
        "ToolAsked",
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
        "before |= set(sys.modules) - {'lictor_cli', 'lictor_cli.main'}\n"
        "with contextlib.redirect_stdout(io.StringIO()): lictor_cli.main.main(['--help'])"
    ) == {"lictor_cli", "lictor_cli.main"}
    assert modules_loaded_by("import lictor_cli.main") == {"lictor_cli", "lictor_cli.main"}


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
    modules = {path.stem for path in Path(lictor.__file__).parent.iterdir()}
    assert not modules & set(lictor.__all__)


# Not classes, or named by no signature: an event is of one of the types, `ask` takes any question.
ALSO = {"Event", "EventType", "FieldProblem", "MarkKind"} | {
    f"{gate}GateRequest" for gate in ("Action", "Dispatch", "Report", "Tool")
}


def models_in(annotation: object, known: set[type]) -> Iterator[type]:
    """The models that an annotation names, and those that they are made of."""
    for part in typing.get_args(annotation):
        yield from models_in(part, known)
    if not isinstance(annotation, type) or annotation in known:
        return
    if annotation.__module__.startswith(("lictor_schema.", "lictor.fast.verdicts")):
        known.add(annotation)
        yield annotation
        if issubclass(annotation, BaseModel):
            parts = [each.annotation for each in annotation.model_fields.values()]
        else:
            parts = list(annotations_of(annotation))
        for part in parts:
            yield from models_in(part, known)


def annotations_of(thing: object) -> Iterator[object]:
    names = {
        **vars(typing),
        **vars(import_module("collections.abc")),
        **vars(import_module("lictor.fast.verdicts")),
        **{name: getattr(lictor, name) for name in lictor.__all__},
        **vars(sys.modules[thing.__module__]),
    }
    yield from typing.get_type_hints(thing, localns=names).values()


def public_functions() -> Iterator[object]:
    for thing in (tasks.Task, *(getattr(lictor, name) for name in lictor.__all__)):
        if inspect.isfunction(thing):
            yield thing
        if inspect.isclass(thing):
            yield thing
            for name, member in vars(thing).items():
                function = member.fget if isinstance(member, property) else member
                if inspect.isfunction(function) and not (name[0] == "_" and name != "__init__"):
                    yield function


def test_the_models_are_those_that_public_signatures_are_about() -> None:
    known: set[type] = set()
    named = {
        model.__name__
        for function in public_functions()
        for annotation in annotations_of(function)
        for model in models_in(annotation, known)
    }
    named |= {model.__name__ for name in ALSO for model in models_in(getattr(models, name), known)}
    assert models.__all__ == sorted(named | ALSO)
    assert dir(models) == models.__all__
    for model in known:
        assert getattr(models, model.__name__) is model


def test_importing_the_models_loads_those_that_are_named() -> None:
    assert modules_loaded_by("import lictor.models") == {"lictor", "lictor.models"}
    loaded = modules_loaded_by("from lictor.models import Claim")
    assert "lictor_schema.events.claim" in loaded
    assert "lictor_schema.contracts.envelope" not in loaded
