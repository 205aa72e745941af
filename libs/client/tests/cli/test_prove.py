"""`lictor prove` and `lictor ir show`: what a person and a pipeline get, also for files that are no programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import z3  # pyright: ignore[reportMissingTypeStubs]

from lictor.errors import LictorError
from lictor_cli.prove.proof_output import FileReport
from lictor_cli.prove.proof_output import told as told_of
from lictor_cli.prove.suggestions import write
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.proof import GuaranteeResult, ProofReason, ProofResult, ProofVerdict

EXAMPLES = Path(__file__).parents[4] / "examples"
PROVED = EXAMPLES / "programs/newsletter.py"
REFUTED = EXAMPLES / "programs/newsletter_with_a_copy.py"
COMMANDS = EXAMPLES / "programs/newsletter.lictor"
LAYERS = ("--import-root", EXAMPLES / "layers")


def proof_in(line: str) -> dict[str, Any]:
    """The proof of one line of `--json`: whatever was found, it is what the prover would publish."""
    report = json.loads(line)
    assert list(report) == [
        *("file", "proof", "broken", "certificate", "smtlib", "request_id", "fixable", "fix")
    ]
    proof = report["proof"]
    assert list(proof) == list(ProofResult.model_fields)
    assert json.loads(ProofResult.from_json(json.dumps(proof)).to_json()) == proof
    return proof


async def test_one_object_a_file_and_success_only_when_all_are_proved(cli) -> None:
    told = await cli("prove", "--json", *LAYERS, PROVED, REFUTED)
    assert told.returncode == 1, told.stderr
    lines = told.stdout.splitlines()
    assert [json.loads(line)["file"] for line in lines] == [str(PROVED), str(REFUTED)]
    first, second = map(proof_in, lines)
    assert (first["verdict"], second["verdict"]) == ("proved", "refuted")
    assert [each["verdict"] for each in first["guarantees"]] == ["proved"] * 4
    assert first["elapsed_ms"] > 0
    assert first["reasons"] == []
    again = proof_in((await cli("prove", "--json", *LAYERS, PROVED)).stdout)
    assert (again["task_id"], again["submission_id"]) == ("local", first["submission_id"])
    assert (await cli("prove", *LAYERS, PROVED)).returncode == 0


async def test_what_is_proved_is_rehearsed_unless_that_is_not_wanted(cli, tmp_path: Path) -> None:
    told = await cli("prove", *LAYERS, PROVED, COMMANDS)
    first, second, *_ = told.stdout.splitlines()
    assert first.startswith("proved    ")
    assert " runs, 2 of 2 call sites, 4 of 4 branch outcomes" in second
    assert told.stdout.count("    rehearsed: ") == 2
    done = proof_in((await cli("prove", "--json", *LAYERS, PROVED)).stdout)
    assert done["rehearsal"]["refused"] is None
    assert done["rehearsal"]["sites_reached"] == 2
    seed = done["rehearsal"]["seed"]
    assert len(seed) == 32
    same = proof_in((await cli("prove", "--seed", seed, "--json", *LAYERS, PROVED)).stdout)
    assert same["rehearsal"] == done["rehearsal"]
    wrong = await cli("prove", "--seed", "7", *LAYERS, PROVED)
    assert wrong.returncode != 0
    assert "--seed" in wrong.stderr
    left_out = await cli("prove", "--no-rehearsal", *LAYERS, PROVED)
    assert left_out.returncode == 0
    assert left_out.stdout.startswith("proved, not rehearsed ")
    assert "    not rehearsed: it was not asked for" in left_out.stdout
    as_json = proof_in((await cli("prove", "--no-rehearsal", "--json", *LAYERS, PROVED)).stdout)
    assert (as_json["verdict"], as_json["rehearsal"]["runs"]) == ("proved", 0)
    document = tmp_path / "document.ir"
    document.write_text('effect-ir v1\nprogram "p" target main\n')
    assert "not rehearsed: it is a document, not a program" in (await cli("prove", document)).stdout


def test_a_person_sees_both_traces_where_python_differs() -> None:
    report = FileReport(
        file="p.py",
        proof=ProofResult(
            submission_id="s",
            task_id="t",
            program_hash=content_hash("p"),
            verdict=ProofVerdict.UNKNOWN,
            reasons=(
                ProofReason(
                    code="prover.differs", message="first\n> 1: - | pay()", remedy="report it"
                ),
            ),
            guarantees=(GuaranteeResult(name="g", verdict=ProofVerdict.UNKNOWN),),
            decided_at=datetime(2026, 1, 1, tzinfo=UTC),
            elapsed_ms=1,
        ),
    )
    lines = list(told_of(report, []))
    assert "    first  [prover.differs]" in lines
    assert "      > 1: - | pay()" in lines
    assert "        to do: report it" in lines


async def test_a_person_sees_the_run_that_breaks_a_guarantee(cli) -> None:
    told = await cli("prove", *LAYERS, REFUTED)
    assert "refuted   to_contacts()" in told.stdout
    assert "> line 19: send_mail(addr='press@example.org'" in told.stdout
    # What happens again and again is told once.
    assert len(told.stdout.splitlines()) < 40


@pytest.mark.parametrize("command", [("prove",), ("ir", "show"), ("ir", "analyze")])
async def test_a_folder_beside_a_program_is_no_layer_and_is_not_run(
    cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    shutil.copytree(EXAMPLES / "layers/tools", tmp_path / "tools")
    ran = tmp_path / "ran"
    planted = tmp_path / "tools/mail/trusted/effects.py"
    planted.write_text(f"open({str(ran)!r}, 'w').close()\n" + planted.read_text("utf-8"), "utf-8")
    shutil.copy(PROVED, tmp_path / "p.py")
    told = await cli(*command, tmp_path / "p.py", cwd=tmp_path)
    assert told.returncode == 5, told.stdout + told.stderr
    assert "--import-root" in told.stdout + told.stderr
    assert not ran.exists()


async def test_a_folder_beside_a_document_is_not_run_either(cli, tmp_path: Path) -> None:
    trusted = tmp_path / "tools/mail/trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text("raise RuntimeError('it was run')\n")
    shown = await cli("ir", "show", *LAYERS, PROVED)
    (tmp_path / "p.ir").write_text(shown.stdout, "utf-8")
    told = await cli("prove", "--json", tmp_path / "p.ir", cwd=tmp_path)
    assert proof_in(told.stdout)["layer_hash"] is None, told.stderr


async def test_a_layer_is_named_by_the_environment_or_by_its_own_roots(cli, tmp_path: Path) -> None:
    layers = str(EXAMPLES / "layers")
    told = await cli("prove", PROVED, cwd=tmp_path, LICTOR_LAYERS=layers)
    assert told.returncode == 0, told.stdout + told.stderr
    root = EXAMPLES / "layers/tools/mail/trusted"
    told = await cli("prove", PROVED, "--trusted-root", root, cwd=EXAMPLES / "layers")
    assert told.returncode == 0, told.stdout + told.stderr
    told = await cli("prove", PROVED, "--import-root", tmp_path)
    assert told.returncode == 5
    assert "tools/<domain>/trusted" in told.stdout


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "source.unreadable"),
        (b"", "target.missing"),
        (b"\xff\xfe", "source.unreadable"),
        (b"def main(:\n", "source.syntax"),
        (b"def main():\n    pass\n\x00", "source.syntax"),
        (b"def main():\n    x = " + b"(" * 10_000 + b")" * 10_000, "source.syntax"),
        (b"def main():\n    pass\n" + b"#" * 1_000_000, "limits.source"),
        (b"# -*- coding: latin-1 -*-\ndef main():\n    pass\n", "source.encoding"),
        (b"def main():\n    eval('1')\n", "builtin.dangerous"),
    ],
)
async def test_what_is_no_program_is_rejected_with_a_reason(
    cli, tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "p.py"
    if content is not None:
        path.write_bytes(content)
    told = await cli("prove", "--json", *LAYERS, path)
    assert told.returncode == 1
    document = proof_in(told.stdout)
    assert document["verdict"] == "rejected"
    assert [each["code"] for each in document["reasons"]] == [code]
    assert "Traceback" not in told.stderr


async def test_what_is_not_decided_in_time_has_the_same_shape_and_names_its_layer(
    cli, tmp_path: Path
) -> None:
    program = tmp_path / "hard.py"
    program.write_text(
        "from lictor_layer import guarantee\n"
        "from tools.mail.trusted import contracts as mail\n"
        "from tools.mail.trusted.effects import send_mail\n"
        "@guarantee(mail.at_most(0))\n"
        "def main(x: int, y: int, z: int) -> None:\n"
        "    if x > 0 and y > 0 and z > 0 and x * x * x + y * y * y == z * z * z:\n"
        "        send_mail('a@b', 'A', 'hello')\n"
    )
    told = await cli("prove", "--json", "--timeout", "0.2", *LAYERS, program)
    assert told.returncode == 1
    proof = proof_in(told.stdout)
    assert (proof["verdict"], proof["guarantees"][0]["verdict"]) == ("unknown", "unknown")
    assert proof["layer_hash"] is not None
    shown = await cli("prove", "--timeout", "0.2", *LAYERS, program)
    # Why it is undecided stands below the guarantee.
    guarantee, why, remedy = shown.stdout.splitlines()[1:4]
    assert guarantee.startswith("    unknown   at_most(0)")
    assert why.startswith(" " * 8)
    # And what to do about it, once.
    assert remedy == f"        to do: {proof['reasons'][0]['remedy']}"
    assert shown.stdout.count("to do:") == 1
    assert proof["reasons"][0]["message"].startswith("at_most(0) can't be decided: ")


async def test_the_timeout_ends_solvers_that_do_not_look_at_the_clock(cli, tmp_path: Path) -> None:
    """Z3 takes minutes for one step with such numbers. What needs no solver is decided all the same."""
    program = tmp_path / "hard.py"
    program.write_text(
        "from lictor_layer import guarantee\n"
        "from tools.mail.trusted import contracts as mail\n"
        "from tools.mail.trusted.effects import send_mail\n"
        "@guarantee(mail.at_most(0))\n"
        "def main(x: int, y: int, z: int) -> None:\n"
        "    if x > 10**5000 and y > x and z > y and x * x * x + y * y * y == z * z * z:\n"
        "        send_mail('a@b', 'A', 'hello')\n"
    )
    begun = time.monotonic()
    told = await cli("prove", "--json", "--timeout", "2", *LAYERS, program)
    assert time.monotonic() - begun < 60
    proof = proof_in(told.stdout)
    assert [(each["name"], each["verdict"]) for each in proof["guarantees"]] == [
        ("at_most(0)", "unknown"),
        ("short_texts()", "proved"),
    ]
    assert re.search(
        "Z3 did not decide it within|the time of 2000 ms is up", proof["reasons"][0]["message"]
    )


async def test_a_condition_that_can_break_is_told_with_a_run_around_the_proof(
    cli, tmp_path: Path
) -> None:
    program = tmp_path / "asserts.py"
    program.write_text(
        "from tools.mail.trusted.effects import list_contacts\n"
        "def main() -> None:\n"
        "    for contact in list_contacts('newsletter'):\n"
        "        assert len(contact.name) < 5\n"
    )
    told = await cli("prove", "--json", *LAYERS, program)
    assert proof_in(told.stdout)["verdict"] == "refuted"
    (broken,) = json.loads(told.stdout)["broken"]
    assert (broken["kind"], broken["line"], broken["verdict"]) == ("assertion", 4, "refuted")
    assert "list_contacts (c1) returns" in broken["counterexample"]
    assert broken["counterexample"].splitlines()[1] in (await cli("prove", *LAYERS, program)).stdout


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text("now = 1\n")
    with pytest.raises(LictorError, match="was changed"):
        write(program, "before = 1\n", "after = 1\n")
    assert program.read_text() == "now = 1\n"
    write(program, "now = 1\n", "after = 1\n")
    assert program.read_text() == "after = 1\n"


async def test_a_file_name_that_is_no_text_is_no_trouble(cli, tmp_path: Path) -> None:
    for suffix, content in ((b".py", PROVED.read_bytes()), (b".ir", b"effect-ir v9")):
        path = tmp_path / os.fsdecode(b"n\xff" + suffix)
        path.write_bytes(content)
        told = await cli("prove", "--json", *LAYERS, path)
        wanted = "proved" if suffix == b".py" else "rejected"
        assert proof_in(told.stdout)["verdict"] == wanted, told.stderr


async def test_a_layer_that_does_not_load_judges_nothing(cli, tmp_path: Path) -> None:
    trusted = tmp_path / "tools/bad/trusted"
    trusted.mkdir(parents=True)
    (trusted / "effects.py").write_text("raise RuntimeError('no')\n")
    told = await cli("prove", "--json", "--import-root", tmp_path, PROVED, tmp_path / "none.py")
    assert told.returncode == 5
    document, unreadable = map(proof_in, told.stdout.splitlines())
    assert document["verdict"] == unreadable["verdict"] == "rejected"
    assert document["reasons"][0]["code"] == "layer.broken"
    assert "effects.py" in document["reasons"][0]["message"]
    for command in (("ir", "show"), ("ir", "summary"), ("ir", "analyze")):
        told = await cli(*command, "--import-root", tmp_path, PROVED)
        assert (told.returncode, told.stdout) == (5, "")
        assert "effects.py" in told.stderr


async def test_a_program_that_can_not_run_is_told_so_with_its_proof(cli, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(PROVED.read_text("utf-8").replace("def main()", "def main(count: int)"))
    told = await cli("prove", *LAYERS, program)
    assert told.returncode == 0, told.stderr
    assert "can't be approved or run: main takes count" in told.stdout
    document = proof_in((await cli("prove", "--json", *LAYERS, program)).stdout)
    assert (document["executable"], document["cannot_run"]["code"]) == (False, "inputs.not_run")
    assert document["parameters"] == [{"name": "count", "type": "int"}]


async def test_values_are_read_as_the_program_says(cli, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    takes = "def main(count: int, rate: float, to: str, loud: bool)"
    program.write_text(PROVED.read_text("utf-8").replace("def main()", takes))
    (tmp_path / "v.json").write_text('{"count": 12345678901234567890, "rate": 5, "to": "5"}')
    found = await cli(
        "prove", "--json", *LAYERS, program, "--inputs", tmp_path / "v.json", "--input", "loud=true"
    )
    assert found.returncode == 0, found.stderr
    document = proof_in(found.stdout)
    assert (document["executable"], document["cannot_run"]) == (True, None)
    (tmp_path / "deep.json").write_text('{"count": ' + "[" * 100_000 + "}")
    (tmp_path / "twice.json").write_text('{"count": 1, "count": 2}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "large.json").write_text(" " * 1_100_000)
    for given, told in (
        (("--input", "count=x"), "count is of type int"),
        (("--input", "loud=yes"), "loud is true or false"),
        (("--input", "count"), "write NAME=VALUE"),
        (("--inputs", tmp_path / "none.json"), "can't be read"),
        (("--inputs", tmp_path / "deep.json"), "nested"),
        (("--inputs", tmp_path / "twice.json"), "stands twice"),
        (("--inputs", tmp_path / "list.json"), "holds no JSON object"),
        (("--inputs", tmp_path / "large.json"), "has more than"),
        (("--inputs", tmp_path), "can't be read"),
        ((program, "--input", "count=1"), "are for one program"),
    ):
        refused = await cli("prove", *LAYERS, program, *given)
        assert (refused.returncode, told in refused.stderr) == (1, True), refused.stderr


async def test_a_program_without_its_values_is_not_submitted(cli, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(PROVED.read_text("utf-8").replace("def main()", "def main(count: int)"))
    nowhere = ("--submit", "--task", "t", "--url", "nats://127.0.0.1:1")
    for given, told in (
        ((), "main takes count: int, and no value is given for count"),
        (("--input", "count=1", "--input", "more=1"), "a value is given for more"),
        (("--input", "count=1", "--input", f"more={'[' * 50_000}"), "a value is given for more"),
    ):
        refused = await cli("prove", program, *given, *nowhere)
        assert (refused.returncode, told in refused.stderr) == (1, True), refused.stderr


async def test_the_effect_ir_can_be_shown_named_and_shown_again(cli, tmp_path: Path) -> None:
    text = await cli("ir", "show", *LAYERS, PROVED)
    assert "guarantee" in text.stdout
    named = await cli("ir", "show", "--hash", *LAYERS, PROVED)
    for form in ((), ("--json",)):
        shown = await cli("ir", "show", *form, *LAYERS, PROVED)
        kept = tmp_path / "document.ir"
        kept.write_text(shown.stdout, "utf-8")
        again = await cli("ir", "show", "--hash", kept)
        assert again.stdout == named.stdout, again.stderr


async def test_commands_are_told_by_their_name_or_by_an_option(cli, tmp_path: Path) -> None:
    named = await cli("prove", "--json", *LAYERS, COMMANDS)
    other = tmp_path / "newsletter.txt"
    shutil.copy(COMMANDS, other)
    said = await cli("prove", "--json", "--language", "commands", *LAYERS, other)
    for told in (named, said):
        assert told.returncode == 0, told.stdout + told.stderr
        document = proof_in(told.stdout)
        assert (document["verdict"], document["executable"]) == ("proved", True)
    shown = await cli("ir", "show", *LAYERS, COMMANDS)
    assert "effect c2: send_mail(" in shown.stdout


async def test_a_document_is_proved_and_is_no_program(cli, tmp_path: Path) -> None:
    shown = await cli("ir", "show", *LAYERS, COMMANDS)
    described = tmp_path / "newsletter.ir"
    described.write_text(shown.stdout, "utf-8")
    told = await cli("prove", *LAYERS, described)
    assert told.returncode == 0, told.stdout
    assert "this is a description" in told.stdout
    refused = await cli("prove", "--json", "--language", "commands", *LAYERS, described)
    assert refused.returncode == 1
    assert proof_in(refused.stdout)["reasons"][0]["code"] == "program.descriptive"


async def test_a_document_is_proved_without_any_layer_and_that_is_said(cli, tmp_path: Path) -> None:
    for program, code in ((PROVED, 0), (REFUTED, 1)):
        shown = await cli("ir", "show", *LAYERS, program)
        described = tmp_path / "described.ir"
        described.write_text(shown.stdout, "utf-8")
        told = await cli("prove", described)
        assert told.returncode == code, told.stdout + told.stderr
        assert "no trusted layer: what its calls demand and promise is the document's own" in (
            told.stdout
        )
        alone = proof_in((await cli("prove", "--json", described)).stdout)
        bound = proof_in((await cli("prove", "--json", *LAYERS, described)).stdout)
        assert (alone["verdict"], alone["layer_hash"]) == (bound["verdict"], None)
        assert bound["layer_hash"] is not None


async def test_every_goal_is_written_whatever_was_found_and_says_what_was_found(
    cli, tmp_path: Path
) -> None:
    told = await cli("prove", "--json", *LAYERS, "--smtlib", "goals", PROVED, REFUTED)
    assert told.returncode == 1, told.stderr
    for line in told.stdout.splitlines():
        document = json.loads(line)
        answers: dict[int, set[str]] = {}
        for goal in document["smtlib"]["goals"]:
            assert goal["missing"] is None
            solver = z3.Solver()
            solver.from_string((tmp_path / goal["file"]).read_text("utf-8"))
            kind, at = goal["goal"].split(".")[:2]
            if kind == "guarantee":
                answers.setdefault(int(at), set()).add(str(solver.check()))
        # Of a guarantee that is refuted one part can be broken; of the others none.
        assert {at: "sat" in found for at, found in answers.items()} == {
            at: each["verdict"] == "refuted"
            for at, each in enumerate(document["proof"]["guarantees"])
        }
    shown = await cli("prove", *LAYERS, "--smtlib", "goals", REFUTED)
    assert "smtlib  " in shown.stdout


async def test_what_is_no_document_is_one_sentence(cli, tmp_path: Path) -> None:
    kept = tmp_path / "document.ir"
    for content in ("", "{", "effect-ir v9", "{}", "\x00"):
        kept.write_text(content, "utf-8")
        told = await cli("ir", "show", kept)
        assert told.returncode == 1
        assert len(told.stderr.splitlines()) == 1
        assert "Traceback" not in told.stderr


async def test_a_mechanical_rewriting_is_shown_and_written_only_when_asked_to(
    cli, tmp_path: Path
) -> None:
    program = tmp_path / "both.py"
    before = (
        "from tools.mail.trusted.effects import send_mail\n\n\ndef main() -> None:\n"
        '    for addr in {"a@b", "c@d"}:\n        send_mail(addr, "Ann", "hello")\n'
    )
    program.write_text(before, "utf-8")
    told = await cli("prove", *LAYERS, program)
    assert "`lictor prove --fix` shows how" in told.stdout
    told = await cli("prove", "--fix", *LAYERS, program)
    assert told.returncode == 1
    assert "rewritten so, it is proved (not written; --write does that):" in told.stdout
    assert '    +    for addr in sorted({"a@b", "c@d"}):\n' in told.stdout
    assert program.read_text("utf-8") == before
    report = json.loads((await cli("prove", "--fix", "--write", "--json", *LAYERS, program)).stdout)
    assert report["proof"]["verdict"] == "rejected"
    assert report["fixable"]
    assert (report["fix"]["verdict"], report["fix"]["written"]) == ("proved", True)
    assert report["fix"]["diff"].startswith("--- a/")
    assert (await cli("prove", *LAYERS, program)).returncode == 0
    assert (await cli("prove", "--write", *LAYERS, program)).returncode != 0
