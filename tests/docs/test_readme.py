"""The README's console blocks, run as printed, in order: what they print is what the README says.

Of the README's expected output `…` stands for anything, numbers, times and hashes for others of their kind, and ids for
those that this run made: where a later command names one, or its first characters, it is given the real one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent

BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
# What a reader is told to run first: what goes on beside the block, and what that needs.
BEFORE = re.compile(r"`((?:[A-Z_]+=\S+ )*\./taskw up|lictor approvals keygen [^`]+)`")
VOLATILE = re.compile(
    r"(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"|(?P<hash>sha256:[0-9a-f]+)"
    r"|(?P<time>\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d:\d\d:\d\d\.\d+)"
    r"|(?P<cut>…)"
    r"|(?P<number>\d+)"
    r"|(?P<space> {2,})"
)
STANDS_FOR = {
    "hash": "sha256:[0-9a-f]+",
    "time": r"[\dT:.Z-]+",
    "cut": r"[^\n]*",
    "number": r"\d+",
    "space": " {2,}",
}


@dataclass(frozen=True)
class Step:
    """One command of a block, and what the README says that it prints."""

    command: str
    expected: str
    before: tuple[str, ...] = ()


def steps() -> list[Step]:
    found: list[Step] = []
    end = 0
    for block in BLOCK.finditer(README):
        prose, end = README[end : block.start()], block.end()
        if block["kind"] == "mermaid":
            continue
        before = tuple(BEFORE.findall(prose))
        start, *commands = re.split(r"^\$ ", block["body"], flags=re.MULTILINE)
        assert commands, f"a block of the README has no command: {block['body']}"
        assert start == "", f"a block of the README does not begin with a command: {start}"
        for each in commands:
            command, _, expected = each.partition("\n")
            found.append(Step(command, expected, before))
            before = ()
    return found


@dataclass
class Reader:
    """Somebody who types what the README says, in a directory as the README has it."""

    folder: Path
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """The README's ids, and those of this run."""
    up: subprocess.Popen[str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
        return {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def prepare(self, before: str) -> None:
        if not before.endswith("./taskw up"):
            self.run(before)
            return
        self.stop()
        self.up = subprocess.Popen(
            ["/bin/bash", "-c", f"exec env {before}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.up.stdout is not None
        assert any("Lictor is up" in line for line in self.up.stdout), before

    def stop(self) -> None:
        if self.up is not None:
            self.up.send_signal(signal.SIGTERM)
            self.up.communicate(timeout=60)
            self.up = None

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-c", self._with_real_ids(command)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stderr == "", f"$ {command}\n{done.stderr}"
        return done.stdout

    def follow(self, step: Step) -> None:
        for each in step.before:
            self.prepare(each)
        pattern, ids = self._pattern(step.expected)
        told = self.run(step.command)
        matched = re.fullmatch(pattern, told)
        assert matched is not None, (
            f"$ {step.command}\nprinted\n{told}\nand the README says\n{step.expected}"
        )
        self.ids |= {name: matched[group] for name, group in ids.items()}

    def _pattern(self, expected: str) -> tuple[str, dict[str, str]]:
        """What the output has to look like, and which of its groups hold ids that are new."""
        groups: dict[str, str] = {}
        lines = [
            r"(?:[^\n]*\n)*?" if line == "…" else self._line(line, groups) + r"\n"
            for line in expected.splitlines()
        ]
        return "".join(lines), groups

    def _line(self, line: str, groups: dict[str, str]) -> str:
        parts: list[str] = []
        end = 0
        for found in VOLATILE.finditer(line):
            parts.append(re.escape(line[end : found.start()]))
            end = found.end()
            kind = found.lastgroup or ""
            name = found[0]
            if kind != "id":
                parts.append(STANDS_FOR[kind])
            elif name in self.ids:
                parts.append(re.escape(self.ids[name]))
            elif name in groups:
                parts.append(f"(?P={groups[name]})")
            else:
                groups[name] = f"id{len(groups)}"
                parts.append(f"(?P<{groups[name]}>[0-9a-f-]{{36}})")
        return "".join([*parts, re.escape(line[end:])])

    def _with_real_ids(self, command: str) -> str:
        def real(word: re.Match[str]) -> str:
            for name, ours in self.ids.items():
                if name.startswith(word[0]):
                    return ours[: len(word[0])]
            return word[0]

        return re.sub(r"(?<![\w./-])[0-9a-f][0-9a-f-]{3,35}(?![\w./-])", real, command)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "policy-packs", tmp_path / "policy-packs")
    # What `taskw up` and `taskw demo` come to, once there is an environment.
    (tmp_path / "taskw").write_text('#!/bin/sh\nexec lictor "$@"\n')
    (tmp_path / "taskw").chmod(0o755)
    someone = Reader(tmp_path)
    yield someone
    someone.stop()


# Five times everything is started, beside whatever else runs on this machine.
@pytest.mark.timeout(900)
def test_every_block_of_the_readme_runs_as_printed(reader: Reader) -> None:
    for step in steps():
        reader.follow(step)
