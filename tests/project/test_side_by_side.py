"""Nothing that a service does goes on for nobody: see `lictor_bus.concurrency`."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ("libs/bus/lictor_bus/**/*.py", "services/*/lictor_*/**/*.py")


def careless(source: str) -> list[int]:
    """The lines of calls of `asyncio.gather` that leave the others at work when one fails."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "gather"
        and not any(keyword.arg == "return_exceptions" for keyword in node.keywords)
    ]


def test_nobody_gathers_what_goes_on_when_one_fails() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for place in PLACES
        for path in sorted(ROOT.glob(place))
        if path != ROOT / "libs/bus/lictor_bus/concurrency.py"
        for line in careless(path.read_text("utf-8"))
    ]
    assert not found, "use lictor_bus.concurrency.together, which ends the others"


def test_such_a_call_is_found() -> None:
    assert careless("import asyncio\nasync def f(): await asyncio.gather(a(), b())") == [2]
    assert not careless("async def f(): await asyncio.gather(a(), return_exceptions=True)")
