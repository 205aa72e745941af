"""Stand-ins for the images that docker-compose.yml and deploy/Dockerfile name, for a machine that can't pull them.

Each is Debian's base system with the server that our wheels bring, or Debian's Python with a folder of wheels. Names,
commands and users are those of the real images; an image that the engine has is left alone. The stand-ins lose
their names when the tests end, so that nobody takes them for the real ones.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from lictor_local.server_process import find_nats_server, find_redis_server

LABEL = "lictor-stand-in"
BASE = "lictor-stand-in/debian:base"
_PACKAGES = "busybox,python3-venv,redis-tools"
_NATS = """\
COPY nats-server /usr/local/bin/
RUN ln -s /usr/bin/busybox /usr/local/bin/wget
ENTRYPOINT ["nats-server"]
"""
_REDIS = """\
RUN for name in redis valkey; do id $name || useradd --system $name; done && install --directory --mode 1777 /data
COPY server /usr/local/bin/valkey-server
RUN ln -s valkey-server /usr/local/bin/redis-server && ln -s /usr/bin/redis-cli /usr/local/bin/valkey-cli
WORKDIR /data
"""
# What a build installs comes from this folder: there may be no index that a container reaches.
_PYTHON = """\
RUN ln -s /usr/bin/python3 /usr/local/bin/python
COPY wheels /usr/share/wheels
ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/wheels
"""


def images(root: Path) -> set[str]:
    """What somebody has to provide: the servers' images, and the one that ours is built from."""
    compose: dict[str, dict[str, Any]] = yaml.safe_load((root / "docker-compose.yml").read_text())
    services = compose["services"].values()
    bases = re.findall(r"^FROM (\S+)", (root / "deploy/Dockerfile").read_text(), re.MULTILINE)
    return {*bases, *(it["image"] for it in services if it.get("pull_policy") != "never")}


@contextmanager
def stand_ins(root: Path) -> Generator[None]:
    """Have an image of every name."""
    missing = sorted(name for name in images(root) if _labels(name) in (None, [LABEL]))
    made: list[str] = []
    try:
        for name in missing:
            _make(name, root)
            made.append(name)
        yield
    finally:
        # The layers stay under a name that says what they are, for the next time.
        for name in made:
            docker("tag", name, f"lictor-stand-in/{name}")
            docker("rmi", name)


def docker(*arguments: str | Path) -> str:
    """What a command of the engine prints."""
    done = subprocess.run(["docker", *arguments], check=False, capture_output=True)
    assert done.returncode == 0, f"docker {arguments}: {done.stderr.decode()[-2000:]}"
    return done.stdout.decode()


def _labels(name: str) -> list[str] | None:
    """The labels of an image that the engine has: a run that was killed left its stand-ins."""
    if not docker("images", "--quiet", name):
        return None
    return list(json.loads(docker("inspect", "--format", "{{json .Config.Labels}}", name)) or ())


def _make(name: str, root: Path) -> None:
    if _labels(BASE) is None:
        _make_base()
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        text = _CONTENTS[re.split("[:/]", name)[-2]](context, root)
        (context / "Dockerfile").write_text(f"FROM {BASE}\n{text}LABEL {LABEL}=1\n")
        docker("build", "--quiet", "--tag", name, context)


def _nats(context: Path, _: Path) -> str:
    shutil.copy(find_nats_server(), context / "nats-server")
    return _NATS


def _redis(context: Path, _: Path) -> str:
    shutil.copy(find_redis_server(), context / "server")
    return _REDIS


def _python(context: Path, root: Path) -> str:
    # By the host's own Python, which is the stand-in's too: which wheels fit depends on its version.
    _run(
        *(sys.executable, "-m", "pip", "--python", "/usr/bin/python3", "download", "--quiet"),
        *("--dest", context / "wheels", "--only-binary=:all:", "--no-deps"),
        *("--require-hashes", "--requirement", root / "deploy/requirements.lock"),
    )
    return _PYTHON


_CONTENTS: dict[str, Callable[[Path, Path], str]] = {
    "nats": _nats,
    "redis": _redis,
    "valkey": _redis,
    "python": _python,
}


def _make_base() -> None:
    release = dict(_settings(Path("/etc/os-release").read_text().splitlines()))["VERSION_CODENAME"]
    with tempfile.TemporaryDirectory() as folder:
        _run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, folder)
        archive = subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE)
        subprocess.run(
            ["docker", "import", "-", BASE],
            check=True,
            stdin=archive.stdout,
            stdout=subprocess.DEVNULL,
        )
        assert archive.wait() == 0


def _settings(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, _, value = line.partition("=")
        yield name, value.strip('"')


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{command[0]}: {done.stdout.decode()[-2000:]}"
