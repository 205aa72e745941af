"""Rules for the files that install, build and deploy the project."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import files, packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml

from lictor_bus.names import subjects
from lictor_bus.names.roles import roles

ROOT = Path(__file__).parents[2]
LOCKS = ["requirements.lock", "deploy/requirements.lock"]
PACKAGES = sorted([*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml")])
COMPOSE: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
# Run once, before the others: one hands volumes over, one makes the streams.
_, MAKES_STREAMS = ONCE = ("volumes", "streams")
RUNNING = {name: it for name, it in COMPOSE["services"].items() if name not in ONCE}
OURS = {name: it for name, it in RUNNING.items() if name not in ("nats", "redis")}
REHEARSER = "rehearser"


def project(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())["project"]


OUR_MODULES = {
    package.name: project(path)["name"]
    for path in PACKAGES
    for package in path.parent.glob("lictor*")
}
THEIR_MODULES = packages_distributions()


def requirement_name(requirement: str) -> str:
    matched = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert matched is not None
    return matched.group().lower().replace("_", "-")


def imported_modules(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def distribution(module: str) -> str:
    """The distribution that holds a module; several share the folder `opentelemetry`."""
    parts = module.split(".")
    if parts[0] in OUR_MODULES:
        return OUR_MODULES[parts[0]]
    owners = sorted({it.lower().replace("_", "-") for it in THEIR_MODULES[parts[0]]})
    if len(owners) == 1:
        return owners[0]
    for length in range(len(parts), 0, -1):
        for suffix in (".py", "/__init__.py"):
            name = "/".join(parts[:length]) + suffix
            for owner in owners:
                if any(str(it) == name for it in files(owner) or ()):
                    return owner
    raise AssertionError(f"no distribution holds {module}")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index_and_no_path(lock: str) -> None:
    for line in (ROOT / lock).read_text().splitlines():
        assert not re.search(r"://|^-|^\s*--(index|extra|find)|@ file", line), line


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_in_a_lock_is_pinned_and_hashed(lock: str) -> None:
    text = (ROOT / lock).read_text().replace("\\\n", "")
    entries = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    for entry in entries:
        assert "==" in entry, entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_the_locks_hold_what_a_package_needs(path: Path) -> None:
    needed = {requirement_name(it) for it in project(path)["dependencies"]}
    theirs = {name for name in needed if not name.startswith("lictor-")}
    for lock in LOCKS:
        locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / lock).read_text(), re.MULTILINE))
        assert theirs <= locked, f"{lock} is stale: run ./taskw lock"


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_a_package_declares_what_it_imports(path: Path) -> None:
    packages = [folder for folder in path.parent.glob("lictor*") if folder.is_dir()]
    own = {package.name for package in packages}
    extras = project(path).get("optional-dependencies", {}).values()
    needed = [*project(path)["dependencies"], *(it for extra in extras for it in extra)]
    declared = {requirement_name(it) for it in needed}
    imported = {
        distribution(module)
        for package in packages
        for source in package.rglob("*.py")
        for module in imported_modules(source)
        if module.split(".")[0] not in (*own, *sys.stdlib_module_names)
    }
    assert imported <= declared


def test_every_service_folder_is_deployed() -> None:
    folders = {path.parent.name for path in ROOT.glob("services/*/pyproject.toml")}
    assert {name.replace("-", "_") for name in OURS} == folders


@pytest.mark.parametrize("name", RUNNING)
def test_a_container_is_confined_and_restarted_and_reports_its_health(name: str) -> None:
    service = RUNNING[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"]


@pytest.mark.parametrize("name", RUNNING)
def test_a_container_is_reached_from_this_machine_only(name: str) -> None:
    for port in RUNNING[name].get("ports", []):
        assert port.startswith("127.0.0.1:")


def test_redis_is_reached_by_the_services_alone_each_as_its_own_user() -> None:
    assert "ports" not in RUNNING["redis"]
    for name, service in OURS.items():
        if name == REHEARSER:
            assert set(service["environment"]) == {"LICTOR_NATS_URL_FILE"}
            continue
        variable = name.replace("-", "_").upper()
        address = service["environment"]["LICTOR_REDIS_URL"]
        assert address.startswith(f"redis://{name}:${{REDIS_PASSWORD_{variable}:")
        assert service["environment"]["LICTOR_STATE_KEY"].startswith(f"${{STATE_KEY_{variable}:")


@pytest.mark.parametrize("name", OURS)
def test_a_health_check_asks_what_its_own_user_may_ask(name: str) -> None:
    asked = subjects.health(OURS[name]["healthcheck"]["test"][-1])
    (own,) = (role for role in roles() if role.name == name)
    assert asked in own.publish
    assert asked in own.hears


def test_no_password_stands_in_the_compose_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    assert re.findall(r"://[^\s:/]+:(?!\$\{)[^\s@]+@", text) == []
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if name.endswith(("_KEY", "_PASSWORD")):
                assert value.startswith(("${", "/")), name


def test_no_server_and_no_service_runs_as_root() -> None:
    for service in RUNNING.values():
        assert str(service["user"]).split(":")[0] not in ("", "0", "root")
    stage = (ROOT / "deploy/Dockerfile").read_text().split("FROM ")[-1]
    assert "\nUSER 10001\n" in stage


def test_all_services_run_from_one_image_when_their_stores_are_healthy() -> None:
    assert {service["image"] for service in OURS.values()} == {"lictor:local"}
    # A name that a registry might have for something else.
    assert {service["pull_policy"] for service in OURS.values()} == {"never"}
    built = [name for name, service in COMPOSE["services"].items() if "build" in service]
    assert built == [MAKES_STREAMS]
    for name, service in OURS.items():
        module = f"lictor_{name.replace('-', '_')}"
        assert service["command"] == ["python", "-m", module]
        assert service["healthcheck"]["test"][-2:] == ["lictor_bus.service.health", name]
        waits_for = {it: how["condition"] for it, how in service["depends_on"].items()}
        needed = {
            "nats": "service_healthy",
            "redis": "service_healthy",
            MAKES_STREAMS: "service_completed_successfully",
        }
        if name == REHEARSER:
            del needed["redis"]
        assert waits_for == needed


def test_who_runs_unapproved_programs_reaches_nats_alone_as_a_user_of_its_own() -> None:
    rehearser = RUNNING[REHEARSER]
    assert rehearser["networks"] == ["rehearsal"]
    assert COMPOSE["networks"]["rehearsal"] == {"internal": True}
    reached = {name for name, it in RUNNING.items() if "rehearsal" in it.get("networks", [])}
    assert reached == {"nats", REHEARSER}
    assert rehearser["user"].startswith("${LICTOR_REHEARSER_UID:")
    assert all(
        "LICTOR_REHEARSER_UID" not in str(it["user"]) for it in OURS.values() if it is not rehearser
    )
    assert rehearser["volumes"] == ["./deploy/secrets/credentials/rehearser:/run/lictor:ro"]


def test_each_container_gets_its_own_password_in_a_file_and_none_in_its_environment() -> None:
    for name, service in (*OURS.items(), ("deploy", COMPOSE["services"][MAKES_STREAMS])):
        assert service["environment"]["LICTOR_NATS_URL_FILE"] == "/run/lictor/nats.url"
        assert "LICTOR_NATS_URL" not in service["environment"]
        # A folder: a mounted file would stay the old one when a rotation replaces it.
        assert _of_secrets(service) == [f"./deploy/secrets/credentials/{name}:/run/lictor:ro"]
    assert "environment" not in RUNNING["nats"]


def _of_secrets(service: dict[str, Any]) -> list[str]:
    return [each for each in service["volumes"] if "secrets" in each]


def test_the_streams_are_made_once_by_a_user_of_their_own() -> None:
    once = COMPOSE["services"][MAKES_STREAMS]
    assert once["command"] == ["lictor", "streams", "apply"]
    assert (once["restart"], once["read_only"], once["cap_drop"]) == ("no", True, ["ALL"])
    assert once["volumes"] == ["./deploy/secrets/credentials/deploy:/run/lictor:ro"]


def test_only_the_sealer_s_container_has_the_private_key() -> None:
    """Others get public keys, in a volume of their own that they can't write to."""
    private = {"LICTOR_SEAL_KEY", "LICTOR_SEAL_KEY_CREATE", "LICTOR_SEAL_KEY_PREVIOUS"}
    for name, service in OURS.items():
        mounts = [each.split(":") for each in service.get("volumes", [])]
        if name == "sealer":
            assert service["environment"]["LICTOR_SEAL_KEY"].startswith("/var/lib/lictor/")
            continue
        assert private.isdisjoint(service["environment"])
        assert "sealer-data" not in {mount[0] for mount in mounts}
        assert all(mount[2] == "ro" for mount in mounts if mount[0] == "seal-trust")


def test_only_the_sealer_is_told_of_its_key_and_the_supervisor_has_nothing_to_sign_with() -> None:
    sources = {path: path.read_text("utf-8") for path in ROOT.glob("services/*/lictor_*/**/*.py")}
    told = {path.parent for path, text in sources.items() if "LICTOR_SEAL_KEY" in text}
    assert told == {ROOT / "services/sealer/lictor_sealer/log"}
    signing = {path for path, text in sources.items() if "SigningKey" in text}
    assert not any("lictor_supervisor" in path.parts for path in signing)


def test_no_test_is_named_by_a_repr() -> None:
    """That of a set differs between processes, and the processes that share the tests must find the same ones."""
    named = "ids=" + "repr"
    tests = [
        path for part in ("libs", "services", "tests") for path in (ROOT / part).rglob("test_*.py")
    ]
    assert [str(path.relative_to(ROOT)) for path in tests if named in path.read_text("utf-8")] == []


def test_git_ignores_the_private_keys_that_pages_have_a_reader_make() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    made = [
        name
        for page in pages
        for name in re.findall(r"lictor approvals keygen ([a-z][\w./-]*)", page.read_text("utf-8"))
    ]
    assert made
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert all(name.endswith(".pem") for name in made)
    assert "*.pem" in ignored
