"""`lictor ir analyze`, and what `lictor prove` tells about coverage and how guarantees stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[5] / "examples"
PROGRAM = EXAMPLES / "programs/newsletter.py"
LAYERS = ("--import-root", EXAMPLES / "layers")
DOCUMENT = """effect-ir v1
program "p" target main
trusted send(addr: str) -> none
"""


def written(folder: Path, name: str, *stated: str) -> Path:
    path = folder / name
    text = "".join(f'guarantee "g{at}" : {each}\n' for at, each in enumerate(stated))
    path.write_text(DOCUMENT + text, "utf-8")
    return path


async def test_redundant_guarantees_and_a_minimal_subset_are_told(cli, tmp_path: Path) -> None:
    path = written(tmp_path, "a.ir", "(count e in send) <= 1", "distinct e in send : e.addr")
    told = await cli("ir", "analyze", path)
    assert told.returncode == 0, told.stderr
    assert "2 guarantees; 1 of them say as much" in told.stdout
    assert "redundant, implied by g0" in told.stdout
    (found,) = map(json.loads, (await cli("ir", "analyze", "--json", path)).stdout.splitlines())
    assert found["minimal"] == ["g0"]
    first, second = found["guarantees"]
    assert (first["redundant"], len(first["because"]["witness"])) == (False, 2)
    assert (second["redundant"], second["implied_by"]) == (True, ["g0"])
    # The certificate: what has no model, for any solver.
    assert all("(check-sat)" in each for each in second["because"]["scripts"])
    assert second["because"]["scripts"]


async def test_what_can_not_be_kept_fails(cli, tmp_path: Path) -> None:
    path = written(tmp_path, "a.ir", "(count e in send) >= 1", "no e in send")
    told = await cli("ir", "analyze", path)
    assert told.returncode == 1
    assert "impossible with the others" in told.stdout
    path = written(tmp_path, "b.ir", "forall e in send : false")
    told = await cli("ir", "analyze", path)
    assert told.returncode == 1
    assert "only_trivial" in told.stdout


async def test_implication_is_told_both_ways_with_a_trace(cli, tmp_path: Path) -> None:
    strict = written(tmp_path, "strict.ir", 'forall e in send : e.addr == "a"')
    loose = written(tmp_path, "loose.ir", 'forall e in send : e.addr in ["a", "b"]')
    told = await cli("ir", "analyze", strict, "--implies", loose)
    assert told.returncode == 0, told.stdout
    assert "implied      g0: no trace of 1 step breaks it" in told.stdout
    assert "not_implied  g0" in told.stdout
    assert "1. send(addr='b')" in told.stdout
    back = await cli("ir", "analyze", "--json", loose, "--implies", strict)
    assert back.returncode == 4
    found = json.loads(back.stdout)["implies"]
    assert [each["verdict"] for each in found["forward"]] == ["not_implied"]
    assert [each["verdict"] for each in found["backward"]] == ["implied"]


async def test_a_program_is_analyzed_under_its_layer(cli) -> None:
    told = await cli("ir", "analyze", "--json", "--timeout", "60", *LAYERS, PROGRAM)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert len(found["minimal"]) == 4
    assert {each["alone"]["possibility"] for each in found["guarantees"]} == {"satisfiable"}


async def test_what_can_not_be_read_is_one_sentence(cli, tmp_path: Path) -> None:
    other = tmp_path / "other.ir"
    other.write_text(DOCUMENT.replace("addr: str", "addr: int"), "utf-8")
    path = written(tmp_path, "a.ir", "no e in send")
    for arguments in (
        (tmp_path / "missing.ir",),
        (path, "--implies", other),
        (path, "--timeout", "0"),
    ):
        told = await cli("ir", "analyze", *arguments)
        assert told.returncode == 1
        assert len(told.stderr.splitlines()) == 1
        assert "Traceback" not in told.stderr


async def test_prove_tells_coverage_by_what_is_proved_or_by_what_is_named(cli) -> None:
    told = await cli("prove", *LAYERS, PROGRAM)
    assert "required_enforced  mail: short_texts is required and not stated;" in told.stdout
    assert "it was added to the proof, and holds" in told.stdout
    told = await cli("prove", "--json", *LAYERS, PROGRAM)
    found = json.loads(told.stdout)["proof"]
    assert found["coverage"]["level"] == "entailment"
    assert [each["name"] for each in found["analysis"]["standings"]] == [
        each["name"] for each in found["guarantees"]
    ]
    told = await cli("prove", "--coverage", "mention", *LAYERS, PROGRAM)
    assert "covered_by_name  mail: at_most(100) is named" in told.stdout
    # What is proved above is not told to be missing below.
    assert "proved    short_texts() (required by the layer)" in told.stdout
    assert "short_texts is required and not stated; it was added to the proof" in told.stdout
    told = await cli("prove", "--coverage", "mention", "--submit", "--task", "t", PROGRAM)
    assert told.returncode == 1
    assert "--coverage" in told.stderr


async def test_prove_tells_what_is_redundant_and_what_holds_of_nothing(cli, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        "from lictor_layer import guarantee\n"
        "from tools.mail.trusted import contracts as mail\n"
        "@guarantee(mail.at_most(5))\n"
        "@guarantee(mail.at_most(3))\n"
        "@guarantee(mail.to_contacts())\n"
        "def main():\n    return 1\n"
    )
    told = await cli("prove", *LAYERS, program)
    assert "redundant  at_most(5): implied by at_most(3)" in told.stdout
    assert "vacuous  to_contacts(): the program never does what it speaks of" in told.stdout


EFFECTS = """
from lictor_layer import requires, trusted

@requires(lambda addr: "@" in addr, message="addr is an address")
@trusted
def send(addr: str) -> None: ...
"""
CONTRACTS = """
from lictor_layer import Spec, contract, effect
from tools.mail.trusted.effects import send

Send = effect(send)

@contract
def addressed() -> Spec:
    return Send.all(lambda e: "@" in e.addr)

@contract
def only(to: list[str]) -> Spec:
    return Send.all(lambda e: e.addr in to)

@contract
def nowhere() -> Spec:
    return Send.all(lambda e: "@" not in e.addr)
"""


@pytest.mark.parametrize(
    ("stated", "redundant", "possible"),
    [
        # What the function demands of its callers is not what anybody promised.
        (["addressed()"], [False], ["satisfiable"]),
        (["addressed()", "only(['a@b', 'c@d'])"], [True, False], ["satisfiable"] * 2),
        (["only(['a@b'])", "only(['a@b', 'c'])"], [False, True], ["satisfiable"] * 2),
        # No call that the function takes can keep it.
        (["nowhere()"], [False], ["only_trivial"]),
    ],
)
async def test_prove_and_analyze_agree_where_a_layer_has_preconditions(
    cli, tmp_path: Path, stated: list[str], redundant: list[bool], possible: list[str]
) -> None:
    trusted = tmp_path / "tools/mail/trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text(EFFECTS)
    (trusted / "contracts.py").write_text(CONTRACTS)
    promises = "".join(f"@guarantee({each})\n" for each in stated)
    (tmp_path / "p.py").write_text(
        "from lictor_layer import guarantee\n"
        "from tools.mail.trusted.contracts import addressed, nowhere, only\n"
        "from tools.mail.trusted.effects import send\n"
        f"{promises}def main():\n    send('a@b')\n"
    )
    told = await cli("prove", "--json", "--import-root", tmp_path, "p.py")
    proved = json.loads(told.stdout)["proof"]["analysis"]["standings"]
    told = await cli(
        "ir", "analyze", "--json", "--timeout", "60", "--import-root", tmp_path, "p.py"
    )
    analyzed = json.loads(told.stdout)["guarantees"]
    assert [each["redundant"] for each in analyzed] == redundant
    assert [each["alone"]["possibility"] for each in analyzed] == possible
    for standing, each in zip(proved, analyzed, strict=True):
        # A proof has less time: it may not know, and it never says otherwise.
        assert standing["redundant"] in (None, each["redundant"])
        assert standing["possibility"] in ("unknown", each["alone"]["possibility"])
        if standing["redundant"]:
            assert standing["implied_by"] == each["implied_by"]
