"""Verification methods of installed packages, from the code that the how-to page tells: found, and working."""

import asyncio
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from governing_bus import Asker, bundle_of, put_in_force
from reporting import service_process, wait_until_ready

from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_contracts.action.verification import METHODS, method
from lictor_contracts.action.verification_plugins import installed_methods
from lictor_contracts.errors import ExpectationRefused, MethodUnusable
from lictor_local.embedded_servers import Endpoints

PAGE = Path(__file__).parents[4] / "docs/how-to/add-a-verification-method.md"


def block(language: str) -> str:
    """The page's example in one language, without its indentation."""
    pattern = re.compile(rf"^ *```{language}\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
    (found,) = pattern.findall(PAGE.read_text())
    return textwrap.dedent(found)


def install(folder: Path, code: str | None = None, points: str | None = None) -> Path:
    """A package with the method of the page, or with another code or other entry points."""
    info = folder / "acme_checks-1.2.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_checks.py").write_text(code or block("python"))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-checks\nVersion: 1.2\n")
    told = re.sub(r'\[project\.entry-points\."(.+)"\]', r"[\1]", points or block("toml"))
    (info / "entry_points.txt").write_text(told.replace('"', ""))
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python looks for packages in."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "acme_checks", raising=False)
    return folder


def test_the_method_of_the_page_is_found_and_judges(site: Path) -> None:
    install(site)
    methods = installed_methods()
    assert methods.names == (*METHODS.names, "balance_check")
    check = methods.reading("balance_check", {"at_least": 5})
    assert check({"balance": 5}).holds
    assert check({"balance": 4}).differences == ("balance is 4, expected at least 5",)
    assert not check({}).holds
    with pytest.raises(ExpectationRefused, match="must be at_least"):
        methods.reading("balance_check", {"at_least": "5"})


@pytest.mark.parametrize(
    ("code", "points", "told"),
    [
        ("import nowhere_to_be_found", None, "can't be loaded: ModuleNotFoundError"),
        ("raise RuntimeError('broken')", None, "can't be loaded: RuntimeError: broken"),
        ("pass", None, "can't be loaded: AttributeError"),
        ("balance_check = 7", None, "is a int, and no Method"),
        (None, "another = acme_checks:balance_check", "calls itself 'balance_check'"),
        (
            "from lictor_contracts.action.verification import read_after_write",
            "read_after_write = acme_checks:read_after_write",
            "there is a method read_after_write already",
        ),
    ],
)
def test_a_method_that_can_not_be_had_is_named_with_its_package(
    site: Path, code: str | None, points: str | None, told: str
) -> None:
    install(site, code, None if points is None else f"[lictor.verification_methods]\n{points}")
    with pytest.raises(MethodUnusable, match=re.escape(told)) as caught:
        installed_methods()
    assert "of acme-checks==1.2" in str(caught.value)


def test_a_reader_that_raises_refuses_the_expectation() -> None:
    @method("brittle")
    def brittle(expectation: Any) -> Any:
        return expectation["missing"]

    with pytest.raises(ExpectationRefused, match="brittle can't read it: KeyError"):
        METHODS.plus(brittle).reading("brittle", {"a": 1})


def settings(packages: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH", ""))))
    return {"PYTHONPATH": path}


async def test_a_running_supervisor_verifies_by_an_installed_method(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    environment = settings(install(tmp_path / "site"))
    rule = {"requiredAboveBlastRadius": "small", "methods": ["balance_check"]}
    client = await connect_nats(clean_infra.nats_url, name="test")
    async with service_process("lictor_supervisor", clean_infra, **environment):
        await wait_until_ready(client, "supervisor")
        await put_in_force(client, bundle_of(verification={**rule, "verifyTimeoutMs": 5000}))
        asker = await Asker(client).ready()
        assert (await asker.act())["decision"] == "allow"
        await asker.dispatched()
        await asker.finished()

        async def verified(balance: int) -> str:
            fields = {"method": "balance_check", "expected": {"at_least": 5}, "took_ms": 1}
            answer = await asker.ask(
                "verify", action_id="a-1", observed={"balance": balance}, **fields
            )
            return answer["verification"]["result"]

        assert (await verified(4), await verified(5)) == ("fail", "pass")
    await close_nats(client)


async def test_a_supervisor_does_not_start_with_a_method_that_can_not_be_loaded(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    packages = install(tmp_path / "site", "raise RuntimeError('broken')")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lictor_supervisor"),
        env={
            **os.environ,
            "LICTOR_NATS_URL": clean_infra.nats_url,
            "LICTOR_REDIS_URL": clean_infra.redis_url,
            **settings(packages),
        },
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert process.returncode == 1
    told = err.decode()
    assert "verification method 'balance_check' of acme-checks==1.2" in told
    assert "Traceback" not in told
