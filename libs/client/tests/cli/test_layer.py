"""`lictor layer`: what a layer offers, for people, agents and pipelines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

LAYERS = Path(__file__).parents[4] / "examples/layers"


async def test_an_agent_is_told_what_it_may_call_and_promise(cli) -> None:
    told = await cli("layer", "show", LAYERS)
    assert told.returncode == 0, told.stderr
    assert "\n  send_mail(addr: str, name: str, text: str) -> None\n" in told.stdout
    assert "\n      demands: addr is an e-mail address\n" in told.stdout
    assert "\n  only_to(addresses: list[str])\n" in told.stdout
    offer = json.loads((await cli("layer", "show", "--json", LAYERS)).stdout)
    assert list(offer) == ["hash", "functions", "rows", "contracts", "policies", "allowed"]


async def test_layers_are_listed_with_what_is_wrong_with_them(cli, tmp_path: Path) -> None:
    told = await cli("layer", "list", "--json", LAYERS)
    assert told.returncode == 0, told.stderr
    row = json.loads(told.stdout)
    assert (row["functions"], row["rows"], row["contracts"], row["problem"]) == (2, 1, 6, None)
    told = await cli("layer", "list", LAYERS, tmp_path)
    assert told.returncode == 5
    assert "there is no tools/<domain>/trusted" in told.stdout


async def test_a_layer_is_named_as_other_commands_name_it(cli) -> None:
    for command in ("show", "list"):
        plain = await cli("layer", command, LAYERS)
        assert plain.returncode == 0, plain.stderr
        assert (await cli("layer", command, "--import-root", LAYERS)).stdout == plain.stdout
    package = LAYERS / "tools/mail/trusted"
    told = await cli("layer", "show", "--import-root", LAYERS, "--trusted-root", package)
    assert "\n  send_mail(addr: str, name: str, text: str) -> None\n" in told.stdout


async def test_without_a_layer_there_is_nothing_to_show(cli) -> None:
    told = await cli("layer", "show")
    assert told.returncode == 5
    assert "LICTOR_LAYERS" in told.stderr


async def test_a_layer_is_linted(cli, tmp_path: Path) -> None:
    told = await cli("layer", "lint", LAYERS)
    assert (told.returncode, "0 warnings, 1 note" in told.stdout) == (0, True), told.stdout
    assert "send_mail  [undo.impossible]" in told.stdout
    trusted = tmp_path / "tools/odd/trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text(
        "from lictor_layer import trusted\n\n\n@trusted\ndef launch(what):\n    pass\n"
    )
    found = await cli("layer", "lint", "--json", "--import-root", tmp_path)
    assert found.returncode == 1, found.stderr
    codes = [each["code"] for each in json.loads(found.stdout)["findings"]]
    assert codes == [
        "function.no_policy",
        "function.undocumented",
        "parameter.untyped",
        "result.unread",
        "undo.impossible",
    ]
    (trusted / "effects.py").write_text("raise RuntimeError\n")
    assert (await cli("layer", "lint", tmp_path)).returncode == 5


async def test_the_examples_of_a_layer_get_what_they_say(cli, tmp_path: Path) -> None:
    told = await cli("layer", "test", LAYERS)
    assert (told.returncode, "3 examples, 0 failed" in told.stdout) == (0, True), told.stdout
    shutil.copytree(LAYERS, tmp_path, dirs_exist_ok=True)
    examples = tmp_path / "tools/mail/examples"
    (examples / "long_text.py").write_text(
        (examples / "long_text.py").read_text().replace("verdict: refuted", "verdict: proved")
    )
    (examples / "silent.lictor").write_text("lictor-commands v1\n")
    found = await cli("layer", "test", "--json", tmp_path)
    assert found.returncode == 1, found.stderr
    rows = {Path(each["file"]).name: each for each in map(json.loads, found.stdout.splitlines())}
    assert {name: (each["said"], each["found"], each["ok"]) for name, each in rows.items()} == {
        "long_text.py": ("proved", "refuted", False),
        "past_the_layer.py": ("rejected import.unknown", "rejected import.unknown", True),
        "silent.lictor": (None, "proved", False),
        "to_the_list.py": ("proved", "proved", True),
    }
    shutil.rmtree(examples)
    nothing = await cli("layer", "test", tmp_path)
    assert (nothing.returncode, "nothing is tested" in nothing.stderr) == (1, True)
