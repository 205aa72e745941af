"""`lictor layer`: what a layer offers, for people, agents and pipelines."""

from __future__ import annotations

import json
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
