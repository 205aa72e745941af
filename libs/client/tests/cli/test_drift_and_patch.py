"""`lictor drift` and `lictor patch` against a real broker and the sealer's desk: from drift to a new pack version."""

from __future__ import annotations

import asyncio
import json
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from learning_bus import PACK, Bus, learning_bus, learning_supervisor, sighting
from nats.aio.client import Client

from lictor.desk_orders import ask_desk, new_request_id
from lictor_cli.patch import apply
from lictor_cli.patch.application import Prepared, prepare
from lictor_local.embedded_servers import Endpoints
from lictor_policy.packs.bundle import bundle_directory
from lictor_schema.contracts.drift import DriftType
from lictor_schema.contracts.patch import PatchStep
from lictor_schema.services.desk_answer import DeskAnswer

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
ROOT = Path(__file__).parents[4]


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shipped pack with its examples, and an envelope in it."""
    folder = tmp_path / "packs/no-silence"
    folder.mkdir(parents=True)
    shipped = ROOT / "policy-packs/no-silence"
    text = (shipped / "policy.yaml").read_text()
    envelopes = PACK[PACK.index("  envelopes:") :]
    text = text.replace("reporting-governance/v1alpha1", "lictor/v1").rstrip() + "\n" + envelopes
    (folder / "policy.yaml").write_text(text)
    (folder / "tests.yaml").write_bytes((shipped / "tests.yaml").read_bytes())
    monkeypatch.setenv("LICTOR_PACKS", str(folder.parent))
    return folder.parent


@pytest.fixture
async def bus(clean_infra: Endpoints, packs: Path) -> AsyncIterator[Bus]:
    assert packs.name == "packs", "the sealer suggests changes of these"
    async with learning_bus(clean_infra) as ready, learning_supervisor(clean_infra):
        yield ready


class Operator:
    """Runs commands, and reads what they print."""

    def __init__(self, cli: Cli, bus: Bus, packs: Path) -> None:
        self.cli, self.bus, self.packs = cli, bus, packs

    async def run(
        self, *arguments: str | Path, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        environment = {"LICTOR_PACKS": str(self.packs)}
        url = self.bus.endpoints.nats_url
        return await self.cli(*arguments, "--url", url, stdin=stdin, **environment)

    async def told(self, *arguments: str | Path, stdin: str = "") -> list[dict[str, Any]]:
        done = await self.run(*arguments, "--json", stdin=stdin)
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    async def drifted(self, kind: DriftType = DriftType.BYPASS) -> str:
        """Three sightings of one cause; returns the patch that they ask for."""
        await self.bus.see(*(sighting(f"e{number}", drift_type=kind) for number in range(3)))
        await self.bus.until_drift(3)
        (patch,) = await self.told("patch", "list")
        return patch["patch_id"]

    async def cycle(self, status: str) -> dict[str, Any]:
        """The one cycle of a status, as soon as there is one."""
        async with asyncio.timeout(30):
            while not (found := await self.told("claim", "cycles", "--status", status)):
                await asyncio.sleep(0.1)
        assert len(found) == 1
        return found[0]


@pytest.fixture
def operator(cli: Cli, bus: Bus, packs: Path) -> Operator:
    return Operator(cli, bus, packs)


async def test_drift_is_listed_shown_and_moved_forward(operator: Operator) -> None:
    await operator.drifted()
    listed = await operator.told("drift", "list")
    assert [each["event"]["severity"] for each in listed] == ["green", "yellow", "red"]
    (red,) = await operator.told("drift", "list", "--severity", "red")
    drift = red["event"]["driftId"]
    (moved,) = await operator.told("drift", "triage", drift, "triaged", "--by", "ada")
    assert moved["state"] == "triaged"
    refused = await operator.run("drift", "triage", drift, "verified", "--by", "ada")
    assert refused.returncode == 1
    assert "it may become patch_planned" in refused.stderr
    shown = await operator.run("drift", "show", drift[:8])
    assert "refund dispatched: no contract" in shown.stdout
    assert "triaged" in shown.stdout
    assert (await operator.run("drift", "show", "nonesuch")).returncode == 1
    assert "too short" in (await operator.run("drift", "show", drift[:3])).stderr


async def test_an_approved_patch_becomes_a_new_version_that_pack_diff_shows(
    operator: Operator, tmp_path: Path
) -> None:
    patch = await operator.drifted()
    before = tmp_path / "before"
    (before / "no-silence").mkdir(parents=True)
    old = (operator.packs / "no-silence/policy.yaml").read_bytes()
    (before / "no-silence/policy.yaml").write_bytes(old)
    early = await operator.run("patch", "apply", patch, "--by", "ada")
    assert early.returncode == 1
    assert "has approved" in early.stderr
    shown = await operator.run("patch", "show", patch[:8])
    assert "-        - {step: bypass, approver: duty-officer}" in shown.stdout
    reach = "spec.envelopes.refund.safeAction.blastRadiusMax: tighter, lowered, large -> medium"
    assert f"tightens  {reach}" in shown.stdout
    assert "loosens" not in shown.stdout
    own = await operator.run("patch", "approve", patch, "--by", "lictor-sealer")
    assert (own.returncode, "somebody else" in own.stderr) == (1, True)
    await operator.told("patch", "approve", patch, "--by", "ada")
    (made,) = await operator.told("patch", "apply", patch, "--by", "bob")
    assert made["bundle_hash"] == bundle_directory(operator.packs).bundle_hash
    text = (operator.packs / "no-silence/policy.yaml").read_text()
    assert "step: bypass" not in text
    assert "degradeLadder: # in this order" in text, "comments stay"
    diff = await operator.run("pack", "diff", before, operator.packs)
    assert diff.returncode == 4
    version = made["version"]
    assert f"-> {version}" in diff.stdout
    assert "envelopes.refund.safeAction.blastRadiusMax: large -> medium" in diff.stdout
    (listed,) = await operator.told("patch", "list")
    assert (listed["state"], listed["approvers"]) == ("applied", ["ada"])
    again = await operator.run("patch", "apply", patch, "--by", "bob")
    assert (again.returncode, "applied already" in again.stderr) == (1, True)


async def test_a_patch_for_a_pack_that_has_moved_on_fails_and_says_so(operator: Operator) -> None:
    patch = await operator.drifted()
    await operator.told("patch", "approve", patch, "--by", "ada")
    path = operator.packs / "no-silence/policy.yaml"
    path.write_text(path.read_text().replace("title: No Silence", "title: No Silence at all"))
    changed = path.read_bytes()
    failed = await operator.run("patch", "apply", patch, "--by", "ada")
    assert failed.returncode == 1
    assert "has moved on" in failed.stderr
    assert path.read_bytes() == changed
    (listed,) = await operator.told("patch", "list", "--state", "failed")
    assert "has moved on" in listed["reason"]


async def test_patched_packs_that_fail_their_examples_are_not_written(
    operator: Operator, packs: Path
) -> None:
    patch = await operator.drifted()
    await operator.told("patch", "approve", patch, "--by", "ada")
    tests = packs / "no-silence/tests.yaml"
    tests.write_text(tests.read_text().replace("decision: ", "decision: block #", 1))
    before = (packs / "no-silence/policy.yaml").read_bytes()
    failed = await operator.run("patch", "apply", patch, "--by", "ada")
    assert failed.returncode == 1
    assert "the patched packs are refused" in failed.stderr
    assert (packs / "no-silence/policy.yaml").read_bytes() == before


async def test_an_application_that_was_cut_short_is_told_later(operator: Operator) -> None:
    patch = await operator.drifted()
    await operator.told("patch", "approve", patch, "--by", "ada")
    path = operator.packs / "no-silence/policy.yaml"
    before = path.read_bytes()
    (first,) = await operator.told("patch", "apply", patch, "--by", "ada")
    # As if the first had been killed after it wrote the file: another patch of the same change.
    written = path.read_bytes()
    path.write_bytes(before)
    (listed,) = await operator.told("patch", "list")
    operations = json.dumps(listed["proposal"]["operations"])
    words = ("--by", "eve", "--reason", "again")
    (own,) = await operator.told("patch", "propose", "no-silence", "-", *words, stdin=operations)
    await operator.told("patch", "approve", own["patch_id"], "--by", "ada")
    path.write_bytes(written)
    (late,) = await operator.told("patch", "apply", own["patch_id"], "--by", "ada")
    assert (first["already"], late["already"]) == (False, True)
    assert late["after"] == first["after"]


def applying(operator: Operator, patch: str) -> Namespace:
    """What `lictor patch apply PATCH --by bob` is called with."""
    parser = ArgumentParser()
    apply.arguments(parser)
    url = operator.bus.endpoints.nats_url
    return parser.parse_args([patch, "--by", "bob", "--url", url, "--packs", str(operator.packs)])


async def test_a_patch_that_is_rejected_while_it_is_applied_changes_nothing(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = await operator.drifted()
    await operator.told("patch", "approve", patch, "--by", "ada")
    path = operator.packs / "no-silence/policy.yaml"
    before = path.read_bytes()

    async def overtaken(
        client: Client, name: str, request: PatchStep, answer_type: type[DeskAnswer]
    ) -> DeskAnswer:
        rejection = PatchStep(
            request_id=new_request_id(),
            patch_id=request.patch_id,
            step="reject",
            by="eve",
            proposal_hash=request.proposal_hash,
            reason="too risky",
        )
        await ask_desk(client, name, rejection, answer_type)
        return await ask_desk(client, name, request, answer_type)

    monkeypatch.setattr(apply, "ask_desk", overtaken)
    assert await apply.run(applying(operator, patch)) == 1
    assert "not applied" in capsys.readouterr().err
    assert path.read_bytes() == before
    (listed,) = await operator.told("patch", "list")
    assert listed["state"] == "rejected"


async def test_a_pack_that_somebody_edits_while_a_patch_is_worked_out_is_not_overwritten(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = await operator.drifted()
    await operator.told("patch", "approve", patch, "--by", "ada")
    path = operator.packs / "no-silence/policy.yaml"

    def edited_meanwhile(*given: Any) -> Prepared:
        prepared = prepare(*given)
        path.write_text(path.read_text() + "# mine\n")
        return prepared

    monkeypatch.setattr(apply, "prepare", edited_meanwhile)
    assert await apply.run(applying(operator, patch)) == 1
    assert path.read_text().endswith("# mine\n")
    (listed,) = await operator.told("patch", "list")
    assert listed["state"] == "failed"


async def test_what_loosens_needs_a_human_whoever_proposes_it(operator: Operator) -> None:
    patch = await operator.drifted(DriftType.TIME)
    change = [{"op": "set", "path": "/spec/envelopes/0/deadlineMs", "old": 1000, "new": 2000}]
    words = ("--for", patch, "--by", "ada", "--reason", "it takes so long")
    (told,) = await operator.told(
        "patch", "propose", "no-silence", "-", *words, stdin=json.dumps(change)
    )
    assert told["proposal"]["approval"] == "human"
    assert told["proposal"]["loosens"] == [
        "spec.envelopes.refund.deadlineMs: looser, raised, 1000 -> 2000"
    ]
    own = await operator.run("patch", "approve", patch, "--by", "ada")
    assert own.returncode == 1
    assert (await operator.run("patch", "apply", patch, "--by", "ada")).returncode == 1
    rejected = await operator.run("patch", "reject", patch, "--by", "bob", "--reason", "too slow")
    assert rejected.stdout == f"{patch} is rejected\n"


async def test_a_claim_is_held_against_what_is_measured_and_its_cycle_ends_in_a_new_version(
    operator: Operator,
) -> None:
    words = ("--subject", "refund", "--assume", "latency_ms,le,200", "--by", "ada")
    await operator.told("claim", "add", "quick", "refunds are quick", *words)
    (listed,) = await operator.told("claim", "list")
    assert listed["assumptions"][0]["bound"] == "200"
    now = datetime.now(UTC).isoformat()
    event = {
        "id": "m1",
        "domain": "actionops",
        "timestamp": now,
        "source": "meter",
        "text": "measured",
        "subject": "refund",
        "measurements": [{"metric": "latency_ms", "value": "900", "measured_at": now}],
    }
    await operator.told("claim", "measure", "-", "--by", "ada", stdin=json.dumps(event))
    cycle = await operator.cycle("patched")
    change = [{"op": "set", "path": "/spec/envelopes/0/deadlineMs", "old": 1000, "new": 1200}]
    words = ("--cycle", cycle["cycle_id"], "--by", "ada", "--reason", "it takes so long")
    (patch,) = await operator.told(
        "patch", "propose", "no-silence", "-", *words, stdin=json.dumps(change)
    )
    await operator.told("patch", "approve", patch["patch_id"], "--by", "bob")
    await operator.told("patch", "apply", patch["patch_id"], "--by", "bob")
    applied = await operator.cycle("applied")
    assert applied["cycle_id"] == cycle["cycle_id"]
    assert applied["apply_result"]["new_state"]["version"] == patch["proposal"]["new_version"]
    assert "deadlineMs: 1200" in (operator.packs / "no-silence/policy.yaml").read_text()
    wrong = await operator.run(
        "claim", "add", "x", "y", "--subject", "s", "--assume", "a", "--by", "b"
    )
    assert wrong.returncode == 2
