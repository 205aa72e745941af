"""`lictor approvals`: what a person gets when it is refused, at a terminal, and without a broker."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from approval_samples import LAYER
from nats.aio.client import Client
from nats.aio.msg import Msg
from stored_requests import stored_request

from lictor_bus.names import subjects
from lictor_schema.approvals.approval import ApprovalOrder
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus, DomainCoverage
from lictor_schema.proofs.inputs import written_inputs
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_seal import TrustStore

COMMAND = Path(sys.executable).with_name("lictor")
NOBODY = "00000000-0000-5000-8000-000000000001"


async def test_a_key_is_made_once_and_no_two_approvers_have_one_name(cli, tmp_path: Path) -> None:
    made = await cli("approvals", "keygen", "a.pem", "--name", "ann", "--add", "all.json")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "a.pem").stat().st_mode & 0o077 == 0
    again = await cli("approvals", "keygen", "a.pem", "--name", "bob")
    assert (again.returncode, again.stdout) == (1, "")
    twin = await cli("approvals", "keygen", "b.pem", "--name", "ANN", "--add", "all.json")
    assert twin.returncode == 1
    assert "one name" in twin.stderr
    assert not (tmp_path / "b.pem").exists()
    assert [each.key.name for each in TrustStore.load(tmp_path / "all.json").keys] == ["ann"]


async def test_a_policy_is_checked_with_an_exit_code(cli, tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text("format: lictor-approval-policy/v1\nrules: []\n")
    told = await cli("approvals", "policy", "lint", good, "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["rules"] == 0
    (tmp_path / "bad.yaml").write_text("format: lictor-approval-policy/v1\nrules:\n  - {}\n")
    bad = await cli("approvals", "policy", "lint", "bad.yaml")
    assert bad.returncode == 1
    assert "bad.yaml: line 3: rules.0.name is required" in bad.stderr


async def test_a_contract_that_no_layer_can_read_is_found_before_it_decides_nothing(
    cli, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    layers = {"LICTOR_LAYERS": str(Path(__file__).parents[4] / "examples/layers")}
    for contract, told in (
        ("only_to, arguments: [[ann@example.org]]", ""),
        ("only_to, arguments: [ann@example.org]", "decides nothing: only_to: addresses takes list"),
        ("olny_to, arguments: [[ann@example.org]]", "decides nothing: the layer has no contract"),
    ):
        policy.write_text(
            "format: lictor-approval-policy/v1\n"
            "rules:\n"
            "  - {name: a, decision: reject, reason: r, when: {entails:\n"
            f"      [{{contract: tools.mail.trusted.contracts.{contract}}}]}}}}\n"
        )
        found = await cli("approvals", "policy", "lint", policy, **layers)
        assert (found.returncode, told in found.stderr) == (1 if told else 0, True), found.stderr


@pytest.mark.parametrize("verb", ["list", "show", "approve"])
async def test_without_a_broker_it_is_said_so(cli, verb: str) -> None:
    await cli("approvals", "keygen", "a.pem", "--name", "ann")
    more = {"list": (), "show": (NOBODY,), "approve": (NOBODY, "--key", "a.pem")}[verb]
    told = await cli("approvals", verb, *more, "--url", "nats://127.0.0.1:1")
    assert told.returncode == 3, told.stderr


async def test_the_list_shows_the_worst_coverage_of_each_request_as_a_badge(
    cli, broker: Client
) -> None:
    assert broker.connected_url is not None
    domain = DomainCoverage(
        domain="mail",
        when_used=("send",),
        used_calls=("send",),
        status=CoverageStatus.SILENT_GAP,
        missing_recommended=("only",),
    )
    report = CoverageReport(
        program_hash=content_hash("p"),
        layer_hash=LAYER,
        level="entailment",
        domains=(domain.model_copy(update={"status": CoverageStatus.COVERED}), domain),
    )
    asked = await stored_request(broker, coverage=report)
    url = broker.connected_url.geturl()
    told = await cli("approvals", "list", "--url", url, COLUMNS="200")
    assert told.returncode == 0, told.stderr
    (line,) = [each for each in told.stdout.splitlines() if asked.request_id in each]
    assert "silent_gap" in line
    shown = await cli("approvals", "show", asked.request_id, "--url", url)
    assert "silent_gap             mail (uses send): only is recommended" in shown.stdout


async def test_the_values_of_a_program_are_shown_as_they_are(cli, broker: Client) -> None:
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    given = written_inputs({"to": "two  blanks\n\x1b[2J", "limit": 2**60})
    asked = await stored_request(broker, inputs=given, runtime="alpha")
    shown = await cli("approvals", "show", asked.request_id, "--program", "--url", url)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    at = lines.index("It runs with these values, and no others:")
    assert lines[at + 1 : at + 3] == [
        f"  limit = {2**60}",
        r"  to = 'two  blanks\n\x1b[2J'",
    ]
    assert "agent      agent-7 in task t-1 of runtime alpha" in lines
    listed = await cli("approvals", "list", "--url", url, COLUMNS="300")
    assert "  alpha    agent-7  " in listed.stdout
    assert f"with limit = {2**60}" in listed.stdout


async def test_what_was_not_rehearsed_is_said_in_the_list_and_in_the_first_lines(
    cli, broker: Client
) -> None:
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    asked = await stored_request(broker, rehearsal=None)
    told = await cli("approvals", "list", "--url", url, COLUMNS="250")
    (line,) = [each for each in told.stdout.splitlines() if asked.request_id in each]
    assert "proved, not rehearsed" in line
    shown = await cli("approvals", "show", asked.request_id, "--url", url)
    assert "verdict    proved, not rehearsed" in "\n".join(shown.stdout.splitlines()[:5])


async def test_a_rule_that_lifts_the_rehearsal_is_warned_of(cli, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "format: lictor-approval-policy/v1\n"
        "rules:\n"
        "  - {name: lax, decision: allow, reason: r, when: {rehearsed: false, coverage_at_most: covered,\n"
        "      entails: [{contract: tools.mail.trusted.contracts.at_most, arguments: [5]}]}}\n"
    )
    told = await cli("approvals", "policy", "lint", policy)
    assert told.returncode == 0, told.stderr
    assert "rule lax allows what was never compared with Python" in told.stderr
    policy.write_text(
        "format: lictor-approval-policy/v1\n"
        "rules:\n"
        "  - {name: mixed, decision: reject, reason: r, when: {inputs: {rate: {one_of: [1, 2.5]}}}}\n"
    )
    told = await cli("approvals", "policy", "lint", policy)
    assert told.returncode == 0, told.stderr
    assert "rule mixed names values of several types in one_of of rate" in told.stderr


async def test_a_request_that_is_not_there_and_a_service_that_does_not_answer(
    cli, broker: Client
) -> None:
    assert broker.connected_url is not None
    url = broker.connected_url.geturl()
    none = await cli("approvals", "list", "--url", url)
    assert none.returncode == 1
    assert "no APPROVALS stream" in none.stderr
    asked = await stored_request(broker)
    missing = await cli("approvals", "show", NOBODY, "--url", url)
    assert missing.returncode == 1
    assert "there is no request" in missing.stderr
    await cli("approvals", "keygen", "a.pem", "--name", "ann")
    silent = await cli(
        *("approvals", "approve", asked.request_id, "--key", "a.pem", "--yes", "--url", url)
    )
    assert silent.returncode == 3
    assert "`approvals` does not answer" in silent.stderr
    keyless = await cli("approvals", "approve", asked.request_id, "--url", url)
    assert keyless.returncode == 2
    absent = await cli("approvals", "approve", asked.request_id, "--key", "none.pem", "--url", url)
    assert absent.returncode == 1
    assert absent.stderr.startswith("lictor: none.pem does not exist")


@pytest.mark.parametrize("typed", ["approve", "yes"])
async def test_at_a_terminal_the_request_is_shown_and_the_word_has_to_be_typed(
    cli, broker: Client, environment: dict[str, str], tmp_path: Path, typed: str
) -> None:
    assert broker.connected_url is not None
    asked = await stored_request(broker)
    orders: list[ApprovalOrder] = []

    async def desk(message: Msg) -> None:
        orders.append(ApprovalOrder.from_json(message.data))
        done = DeskAnswer(request_id=asked.request_id, outcome="done", state="approved", sequence=2)
        await message.respond(done.to_json())

    await broker.subscribe(subjects.desk("approval"), cb=desk)
    await cli("approvals", "keygen", "a.pem", "--name", "ann")
    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    told = await asyncio.to_thread(
        subprocess.run,
        [COMMAND, "approvals", "approve", asked.request_id, "--key", "a.pem"],
        stdin=theirs,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment, "LICTOR_NATS_URL": broker.connected_url.geturl()},
        timeout=60,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert asked.binding_hash in told.stdout
    assert "nothing is sent [however early the run ends]" in told.stdout
    assert told.returncode == (0 if typed == "approve" else 1), told.stderr
    assert len(orders) == (1 if typed == "approve" else 0)
