"""`lictor agent`: definitions checked, shown, compared, published and listed, with exit codes for a pipeline."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from nats.aio.client import Client

from lictor.installation.directories import agents_directory
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_local.embedded_servers import Endpoints
from lictor_seal import KeyGroup, SigningKey, TrustStore

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
EXAMPLES = Path(__file__).parents[4] / "examples" / "agents"
CODER = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: coder, version: "1"}
tools:
  - {name: Read, access: read, resources: [file_path]}
  - {name: Write, access: write, resources: [file_path]}
policies:
  - {kind: read-before-write, name: first-read}
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "coder.yaml").write_text(CODER)
    return folder


@pytest.fixture
def url(clean_infra: Endpoints) -> str:
    return clean_infra.nats_url


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    connected = await connect_nats(url, name="test")
    yield connected
    await connected.close()


@pytest.mark.parametrize("given", [[], ["agents"], ["agents/coder.yaml"]])
@pytest.mark.usefixtures("agents")
async def test_a_definition_without_fault_is_told_so(cli: Cli, given: list[str]) -> None:
    told = await cli("agent", "lint", "--strict", *given)
    assert (told.returncode, told.stdout) == (0, "1 definition checked: ok\n"), told.stderr


async def test_the_examples_are_without_fault(cli: Cli) -> None:
    told = await cli("agent", "lint", "--strict", EXAMPLES)
    assert told.returncode == 0, told.stdout


async def test_errors_of_all_files_are_told_at_once_by_line(cli: Cli, agents: Path) -> None:
    (agents / "a.yaml").write_text(CODER.replace("access: write", "access: wriet"))
    (agents / "b.yaml").write_text("kind: [")
    (agents / "c.json").write_text("{}")
    (agents / "d.yaml").write_text(CODER)
    told = await cli("agent", "lint")
    assert told.returncode == 1
    lines = told.stdout.splitlines()
    assert lines[0].startswith("agents/a.yaml:6: error: tools[1].access: ")
    assert lines[1].startswith("agents/b.yaml:")
    assert any(line.startswith("agents/c.json: error: metadata: is required") for line in lines)
    assert (
        "agents/d.yaml:3: error: metadata.name: coder is defined in agents/coder.yaml already"
        in lines
    )
    as_json = await cli("agent", "lint", "--json", "agents/a.yaml")
    finding = json.loads(as_json.stdout)
    assert finding["file"] == "agents/a.yaml"
    assert (finding["level"], finding["line"], finding["place"]) == ("error", 6, "tools[1].access")


async def test_a_doubt_is_a_warning_and_counts_only_when_strict(cli: Cli, agents: Path) -> None:
    document = CODER + "completion: {checker: {kind: files, files: []}}\n"
    (agents / "coder.yaml").write_text(document)
    told = await cli("agent", "lint")
    assert told.returncode == 0
    assert "agents/coder.yaml:9: warning: completion.checker.files: names no file" in told.stdout
    assert (await cli("agent", "lint", "--strict")).returncode == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "no agents directory with definitions was found"),
        (["empty"], "empty holds no definition"),
    ],
)
async def test_nothing_to_check_is_no_success(
    cli: Cli, tmp_path: Path, given: list[str], told: str
) -> None:
    (tmp_path / "empty").mkdir()
    # Somebody else's folder of that name.
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "team.yaml").write_text("members: []")
    checked = await cli("agent", "lint", *given)
    assert checked.returncode == 1
    assert told in checked.stderr


async def test_a_file_that_is_not_there_is_an_error(cli: Cli) -> None:
    told = await cli("agent", "lint", "nowhere.yaml")
    assert told.returncode == 1
    assert "nowhere.yaml: error: can't be read: No such file" in told.stdout


@pytest.mark.usefixtures("agents")
async def test_a_file_is_shown_tool_by_tool(cli: Cli) -> None:
    told = await cli("agent", "show", "agents/coder.yaml")
    assert told.returncode == 0
    assert "Write (write file_path) gated by first-read" in told.stdout
    assert "Read (read file_path)\n" in told.stdout
    shown = json.loads((await cli("agent", "show", "--json", "agents/coder.yaml")).stdout)
    assert shown["definition"]["metadata"]["name"] == "coder"
    assert shown["hash"] in told.stdout


async def test_a_difference_has_an_exit_code_of_its_own(cli: Cli, agents: Path) -> None:
    (agents / "new.yaml").write_text(CODER.replace("file_path", "path"))
    same = await cli("agent", "diff", "agents/coder.yaml", "agents/coder.yaml")
    assert (same.returncode, same.stdout) == (0, "the definitions are the same\n")
    other = await cli("agent", "diff", "agents/coder.yaml", "agents/new.yaml")
    assert other.returncode == 4
    assert 'changed  tools[Read].resources: ["file_path"] -> ["path"]' in other.stdout
    assert "tightening: not proved; tool Read is described otherwise" in other.stdout
    told = await cli("agent", "diff", "agents/coder.yaml", "agents/new.yaml", "--json")
    assert json.loads(told.stdout)["tightening"]["proved"] is False


async def test_what_is_published_is_listed_and_found_by_name_and_hash(
    cli: Cli, agents: Path, url: str, client: Client
) -> None:
    await streams.declare(client, streams.DEFINITIONS)
    first = await cli("agent", "publish", "--json", "agents/coder.yaml", "--url", url)
    assert first.returncode == 0, first.stderr
    old = json.loads(first.stdout.splitlines()[-1])
    assert (old["what"], old["version"]) == ("published", "1")
    again = await cli("agent", "publish", "--json", "agents/coder.yaml", "--url", url)
    assert json.loads(again.stdout.splitlines()[-1])["what"] == "unchanged"
    (agents / "coder.yaml").write_text(CODER.replace('"1"', '"2"'))
    published = await cli("agent", "publish", "agents", "--url", url)
    assert published.returncode == 0
    assert "a tightening: allows nothing that 1 denies" in published.stdout
    newest = await cli("agent", "list", "--json", "--url", url)
    assert [json.loads(line)["version"] for line in newest.stdout.splitlines()] == ["2"]
    every = await cli("agent", "list", "--all", "--url", url)
    assert len(every.stdout.splitlines()) == 3
    by_name = json.loads((await cli("agent", "show", "coder", "--json", "--url", url)).stdout)
    assert by_name["definition"]["metadata"]["version"] == "2"
    diff = await cli("agent", "diff", old["hash"][:16], "coder", "--url", url)
    assert (diff.returncode, diff.stdout) == (
        4,
        'changed  metadata.version: "1" -> "2"\n'
        "tightening: proved; the new one allows nothing that the old one denies\n",
    )
    missing = await cli("agent", "show", "codre", "--url", url)
    assert missing.returncode == 1
    assert missing.stderr.endswith("did you mean coder?\n")


async def test_what_is_wrong_is_not_published(
    cli: Cli, agents: Path, url: str, client: Client
) -> None:
    await streams.declare(client, streams.DEFINITIONS)
    (agents / "coder.yaml").write_text(CODER.replace("name: Write", "name: Read"))
    told = await cli("agent", "publish", "agents", "--url", url)
    assert told.returncode == 1
    assert "nothing was published" in told.stderr
    assert (await client.jetstream().stream_info(streams.DEFINITIONS)).state.messages == 0


async def test_other_content_under_a_published_version_is_refused(
    cli: Cli, agents: Path, url: str, client: Client
) -> None:
    await streams.declare(client, streams.DEFINITIONS)
    assert (await cli("agent", "publish", "agents", "--url", url)).returncode == 0
    other = CODER.replace("file_path", "path")
    (agents / "coder.yaml").write_text(other)
    (agents / "fresh.yaml").write_text(CODER.replace("coder", "fresh"))
    told = await cli("agent", "publish", "agents", "--url", url)
    assert told.returncode == 1
    assert "coder 1 is published already with other content; give this one a new version" in (
        told.stderr
    )
    # Also not the one beside it, which is new.
    assert (await client.jetstream().stream_info(streams.DEFINITIONS)).state.messages == 1
    (agents / "coder.yaml").write_text(other.replace('"1"', '"2"'))
    assert (await cli("agent", "publish", "agents", "--url", url)).returncode == 0
    # Going back to what was published before is no other content.
    (agents / "coder.yaml").write_text(CODER)
    back = await cli("agent", "publish", "agents/coder.yaml", "--url", url)
    assert back.returncode == 0, back.stderr
    assert "\npublished  coder 1 " in back.stdout


async def test_what_can_not_be_believed_is_not_listed(cli: Cli, url: str, client: Client) -> None:
    await streams.declare(client, streams.DEFINITIONS)
    message = Outgoing(subjects.definition("coder"), b"nonsense")
    await publish_one(client, streams.DEFINITIONS, message)
    told = await cli("agent", "list", "--url", url)
    assert (told.returncode, told.stdout) == (0, "no definition is stored yet\n")


async def test_before_anything_has_run_the_list_says_so(cli: Cli, url: str) -> None:
    told = await cli("agent", "list", "--url", url)
    assert told.returncode == 1
    assert "there is no DEFINITIONS stream yet" in told.stderr


def test_definitions_are_found_upwards_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: Path
) -> None:
    inner = tmp_path / "a" / "b"
    (inner / "agents").mkdir(parents=True)
    (inner / "agents" / "notes.yaml").write_text("not: ours")
    monkeypatch.chdir(inner)
    monkeypatch.delenv("LICTOR_AGENTS", raising=False)
    assert agents_directory() == agents
    monkeypatch.setenv("LICTOR_AGENTS", str(EXAMPLES))
    assert agents_directory() == EXAMPLES


PAYER = """\
apiVersion: lictor/v1
kind: AgentDefinition
metadata: {name: payer, version: "1"}
tools: [{name: pay}]
policies:
  - {kind: require-approval, name: money, tools: [pay], approvers: [finance], needed: 3}
  - {kind: require-approval, name: also, tools: [pay], approvers: [nobody@example.org]}
"""


async def test_people_whom_the_approvers_file_does_not_name_are_warned_of(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "payer.yaml").write_text(PAYER)
    keys = [SigningKey.generate(f"{name}@example.org") for name in ("ann", "bob")]
    trusted = TrustStore.of([each.verifying_key for each in keys]).keys
    group = KeyGroup("finance", tuple(each.name for each in keys))
    path = tmp_path / "approvers.json"
    path.write_bytes(TrustStore(trusted, groups=(group,)).to_bytes())
    told = await cli("agent", "lint", "payer.yaml")
    assert (told.returncode, told.stdout) == (0, "1 definition checked: ok\n"), told.stderr
    told = await cli("agent", "lint", "--strict", "--approvers", path, "payer.yaml")
    assert told.returncode == 1
    assert "policies[0].needed: 3 must approve, and the approvers' file has 2" in told.stdout
    assert "policies[1].approvers[0]: the approvers' file has nobody" in told.stdout
    # Warnings hold back no publication; here the broker does.
    told = await cli(
        *("agent", "publish", "--approvers", path, "payer.yaml", "--url", "nats://127.0.0.1:1")
    )
    assert told.returncode == 3, told.stderr
    assert "policies[1].approvers[0]: the approvers' file has nobody" in told.stdout
    path.write_text("{}")
    told = await cli("agent", "lint", "--approvers", path, "payer.yaml")
    assert told.returncode != 0


async def test_a_tool_that_people_are_asked_about_is_shown_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "payer.yaml").write_text(PAYER)
    told = await cli("agent", "show", "payer.yaml")
    assert "gated by money, also" in told.stdout, told.stderr
    assert "money (require-approval)" in told.stdout
