"""From a program to its approval, with the real prover, users with their own rights, and the command line."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from reporting import ROOT, service_process, wait_until_ready

import lictor
from lictor.governor import Governor
from lictor.programs import Program
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import subjects
from lictor_local.embedded_servers import Endpoints
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.proofs.proof import ProofResult
from lictor_seal import SigningKey

NEWSLETTER = (ROOT / "examples/programs/newsletter.py").read_text("utf-8")
POLICY = """
format: lictor-approval-policy/v1
rules:
  - name: small-newsletters
    decision: allow
    reason: at most fifty mails, to contacts of the newsletter alone
    when:
      agents: [newsletter-agent]
      only_effects: [list_contacts, send_mail]
      coverage_at_most: required_enforced
      entails:
        - contract: tools.mail.trusted.contracts.at_most
          arguments: [60]
        - contract: tools.mail.trusted.contracts.to_contacts
  - name: never-more-than-five-hundred
    decision: reject
    reason: nobody writes to that many
    when:
      any_effect: [wipe_everything]
"""
SERVICES = ("rehearser", "prover", "approvals")


@dataclass
class Story:
    """A prover and an approval service at work, and an agent that asks."""

    endpoints: Endpoints
    client: Client
    agent: Governor
    keys: Path
    environment: dict[str, str]

    def lictor(self, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The command."""
        return subprocess.run(
            [Path(sys.executable).with_name("lictor"), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=self.keys,
            env={**self.environment, "LICTOR_NATS_URL": self.endpoints.nats_url},
        )

    async def entries(self) -> list[ApprovalEntry]:
        """Every change of every request."""
        found = all_entries(
            self.client, "APPROVALS", subjects.APPROVAL.any, ApprovalEntry.from_json
        )
        return [entry async for _, entry in found]

    async def proved(self, program: str, name: str) -> ProofResult:
        """What the prover says about a program that is proved."""
        (result,) = await self.agent.prove(Program(program, name=name), task_id="t-1")
        assert result.verdict == "proved"
        return result


def settings(keys: Path, *, policy: bool) -> dict[str, str]:
    """Where the services find layers, keys and the policy."""
    SigningKey.generate("lictor-approvals").save(keys / "policy.pem")
    (keys / "policy.yaml").write_text(POLICY, "utf-8")
    approvers = keys / "approvers.json"
    approvers.write_text('{"format": "lictor-trust-store/v1", "keys": []}')
    found = {"LICTOR_LAYERS": str(ROOT / "examples/layers"), "LICTOR_APPROVERS": str(approvers)}
    if policy:
        found["LICTOR_APPROVAL_POLICY"] = str(keys / "policy.yaml")
        found["LICTOR_APPROVAL_KEY"] = str(keys / "policy.pem")
    return found


@pytest.fixture
async def story(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Story]:
    environment = settings(tmp_path, policy=True)
    async with AsyncExitStack() as running:
        client = await nats.connect(clean_infra.nats_url)
        running.push_async_callback(client.close)
        for name in SERVICES:
            await running.enter_async_context(
                service_process(f"lictor_{name}", clean_infra, **environment)
            )
        for name in SERVICES:
            await wait_until_ready(client, name)
        agent = await running.enter_async_context(
            lictor.connect(clean_infra.nats_url, agent_id="newsletter-agent")
        )
        kept = {name: value for name, value in os.environ.items() if "LICTOR_" not in name}
        yield Story(clean_infra, client, agent, tmp_path, {**kept, **environment})


async def test_a_policy_approves_what_it_describes_and_a_person_the_rest(story: Story) -> None:
    small = await story.proved(NEWSLETTER, "newsletter.py")
    by_policy = await story.agent.approval(small, timeout_s=60)
    assert (by_policy.state, by_policy.by) == (ApprovalState.APPROVED, "lictor-approvals")
    assert "small-newsletters" in str(by_policy.signed)

    big = await story.proved(NEWSLETTER.replace("at_most(50)", "at_most(500)"), "big.py")
    waiting = story.lictor("approvals", "list", "--json")
    while not waiting.stdout:
        waiting = story.lictor("approvals", "list", "--state", "requested", "--json")
    told = [json.loads(line) for line in waiting.stdout.splitlines()]
    (request,) = [each for each in told if each["state"] == "requested"]
    request_id = request["request_id"]

    explained = story.lictor("approvals", "policy", "explain", "policy.yaml", request_id)
    assert explained.stdout.startswith("ask: no rule decides"), explained.stderr
    shown = story.lictor("approvals", "show", request_id[:8], "--program")
    assert shown.returncode == 0, shown.stderr
    assert "at_most(500)" in shown.stdout
    assert "send_mail" in shown.stdout
    assert request["request"]["binding_hash"] in shown.stdout
    # The page says each thing once, and of what is proved that it is.
    assert "GUARANTEES, proved, however early the run ends:" in shown.stdout
    assert "at_most(500) [however early the run ends]" in shown.stdout
    assert 'at most 500 times, by "at_most(500)"' in shown.stdout
    assert "short_texts is required and not stated; it was added to the proof" in shown.stdout
    for other in ("if proved", "any number of times", "runs that complete", "every prefix"):
        assert other not in shown.stdout

    made = story.lictor(
        "approvals", "keygen", "ann.pem", "--name", "ann@example.org", "--add", "approvers.json"
    )
    assert made.returncode == 0, made.stderr
    refused = story.lictor("approvals", "approve", request_id, "--key", "ann.pem")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "nobody is at a terminal" in refused.stderr
    wrong = ("--hash", "sha256:" + "0" * 64)
    stale = story.lictor("approvals", "approve", request_id, "--key", "ann.pem", "--yes", *wrong)
    assert stale.returncode == 1
    done = story.lictor(
        *("approvals", "approve", request_id, "--key", "ann.pem", "--yes"),
        *("--hash", request["request"]["binding_hash"], "--reason", "the list is long"),
    )
    assert (done.returncode, done.stdout) == (0, f"{request_id} is approved\n"), done.stderr
    by_ann = await story.agent.approval(big, timeout_s=30)
    assert (by_ann.state, by_ann.by) == (ApprovalState.APPROVED, "ann@example.org")

    back = story.lictor(
        "approvals", "reject", request_id, "--key", "ann.pem", "--yes", "--reason", "not today"
    )
    assert back.stdout == f"{request_id} is rejected\n", back.stderr
    again = story.lictor("approvals", "approve", request_id, "--key", "ann.pem", "--yes")
    assert again.returncode == 1
    assert "already" in again.stderr
    listed = story.lictor("approvals", "list", "--all")
    assert "1 rejected by people; 1 by policy" in listed.stdout
    watched = story.lictor("approvals", "watch", "--since-start", "--count", "5")
    assert watched.stdout.count("requested") == 2


async def test_a_policy_or_key_that_can_not_be_used_stops_the_service(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    good = settings(tmp_path, policy=True)
    (tmp_path / "broken.yaml").write_text("format: lictor-approval-policy/v1\nrules: 7\n")
    for name, value, told in (
        ("LICTOR_APPROVAL_KEY", "", "LICTOR_APPROVAL_KEY is not"),
        ("LICTOR_APPROVAL_POLICY", str(tmp_path / "broken.yaml"), "rules"),
        ("LICTOR_APPROVERS", str(tmp_path / "nowhere.json"), "no trust store"),
        ("LICTOR_LAYERS", str(tmp_path / "nowhere"), "no directory"),
        ("LICTOR_APPROVAL_DECIDE_S", "soon", "LICTOR_APPROVAL_DECIDE_S"),
    ):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lictor_approvals"),
            env={**os.environ, **good, "LICTOR_NATS_URL": clean_infra.nats_url, name: value},
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await process.communicate()
        assert process.returncode == 1
        assert told in said.decode()
