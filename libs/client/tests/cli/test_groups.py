"""The table of nouns and verbs: everything in it exists, and nothing exists that it does not reach."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import lictor_cli
from lictor_cli.groups import GROUPS, HOMES
from lictor_cli.main import COMMANDS, OK, USAGE, home_of, main

ROOT = Path(lictor_cli.__file__).parent
NAMES = [
    *(name for name in COMMANDS if name not in GROUPS),
    *(f"{noun} {verb}" for noun, (_, verbs) in GROUPS.items() for verb in verbs),
]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_home_with_help_and_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(name)
    assert home.HELP.strip()
    assert callable(home.run)
    with pytest.raises(SystemExit, match=r"^0$"):
        main([*name.split(), "--help"])
    told = capsys.readouterr().out
    assert told.startswith(f"usage: lictor {name} ")
    assert "exit codes:" in told
    # What `lictor mcp` writes is the protocol itself.
    assert ("--json" in told) == (name != "mcp")


def test_the_table_is_of_commands_and_of_all_that_have_verbs() -> None:
    assert set(GROUPS) | set(HOMES) <= set(COMMANDS)
    assert not set(GROUPS) & set(HOMES)
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {*GROUPS, *HOMES, "output"}


@pytest.mark.parametrize("noun", GROUPS)
def test_a_noun_lists_its_verbs_and_hints_at_a_misspelt_one(
    noun: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([noun, "--help"]) == OK
    told = capsys.readouterr()
    if noun != "hook":  # which answers an event then
        assert main([noun]) == USAGE
        bare = capsys.readouterr()
        assert (bare.out, bare.err, told.err) == ("", told.out, "")
    verbs = GROUPS[noun][1]
    for verb, (_, summary) in verbs.items():
        assert any(line.split(None, 1) == [verb, summary] for line in told.out.splitlines())
    verb = min(verbs)
    assert main([noun, f"{verb}x"]) == USAGE
    hint = f"lictor: there is no command '{verb}x'; did you mean `lictor {noun} {verb}`?\n"
    assert capsys.readouterr().err == hint


def imported_by(module: str) -> Iterator[str]:
    """The modules of this package that another one imports, at its start or later."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lictor_cli"):
            yield str(node.module)
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_no_module_is_unused() -> None:
    verbs = [home for _, verbs in GROUPS.values() for home, _ in verbs.values()]
    alone = [HOMES.get(name, name) for name in COMMANDS if name not in GROUPS]
    waiting = {
        "lictor_cli.main",
        *(f"lictor_cli.{home.partition(':')[0]}" for home in (*verbs, *alone)),
    }
    modules = {
        ".".join(("lictor_cli", *path.relative_to(ROOT).with_suffix("").parts))
        for path in ROOT.rglob("*.py")
        if path.name != "__init__.py"
    }
    reached: set[str] = set()
    while waiting:
        module = waiting.pop()
        reached.add(module)
        waiting |= (set(imported_by(module)) & modules) - reached
    assert modules == reached
