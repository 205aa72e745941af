"""Programs that no front-end has read, run by the stage: whatever they try ends their run, and the stage lives on."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from staged_programs import ordered, planned, program, shop, told

from lictor_prove.layer_model import Layer
from lictor_prove.rehearsal.orders import PlannedRun
from lictor_run.rehearsal.confinement import StageLimits, confine, instructions
from lictor_run.rehearsal.local_stage import LocalStage

LIMITS = StageLimits(wall_s=3.0, memory_mb=128, calls=500, observed_bytes=64 * 1024)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def stage() -> Iterator[LocalStage]:
    with LocalStage(LIMITS) as made:
        yield made


ATTACKS = {
    "open": "open('/etc/passwd')",
    "import": "import os",
    "import behind the builtins": "__builtins__['__import__']('os')",
    "subclasses": "().__class__.__base__.__subclasses__()",
    "frames": "(each for each in [1]).gi_frame.f_back",
    "eval": "eval('1')",
    "getattr": "getattr(balance, '__globals__')",
    "endless loop": "while True:\n    pass",
    "endless loop in C": "sum(range(10 ** 18))",
    "one operation without an end": "10 ** 10 ** 10",
    "memory": "x = []\nwhile True:\n    x.append('x' * 10 ** 6)",
    "memory at once": "x = 'x' * 10 ** 12",
    "recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "deep value": "x = []\nfor _ in range(100000):\n    x = [x]\nsave(x)\nraise ValueError",
    "deep repr": "x = []\nfor _ in range(100000):\n    x = [x]\nrepr(x)",
    "a value that holds itself": "x = []\nx.append(x)\nsave(x)\nraise ValueError",
    "many calls": "while True:\n    pay('a', 1)",
    "large arguments": "pay('x' * 10 ** 6, 1)\nraise ValueError",
    "system exit": "raise SystemExit(0)",
    "keyboard interrupt": "raise KeyboardInterrupt",
    "an exception of its own": "class E(Exception):\n    pass\nraise E('x')",
    "an exception that can't be told": (
        "class E(Exception):\n    def __str__(self):\n        raise E\nraise E('x')"
    ),
    "an exception that never ends": (
        "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E('x')"
    ),
    "catching everything": (
        "while True:\n    try:\n        pay('a', 1)\n    except:\n        pass"
    ),
    "a pattern without an end": "import re\nre.match('(a+)+b', 'a' * 100)",
    "nested text": "x = " + "(" * 500 + ")" * 500,
}


def _answers(attack: str) -> PlannedRun:
    return planned(*[("save" if "save" in attack else "pay", None)] * 1000)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_ends_its_run_and_nothing_else(
    stage: LocalStage, layer: Layer, name: str
) -> None:
    order = ordered(layer, program(ATTACKS[name]), _answers(ATTACKS[name]))
    (seen,) = stage.perform(order).runs
    assert seen.ended in ("raised", "limit"), seen
    before = stage.pid
    good = ordered(layer, program("balance('a')"), planned(("balance", 1)))
    assert stage.perform(good).runs[0].ended == "completed"
    assert stage.pid == before


@pytest.mark.parametrize(
    "change",
    ["effects.LIMIT = effects.LIMIT + 1", "effects.pay = 0", "print.x = 1", "del effects.balance"],
)
def test_nothing_is_changed_that_another_run_would_find(
    stage: LocalStage, layer: Layer, change: str
) -> None:
    changing = program(f"pay('a', 1)\n{change}")
    seen = stage.perform(ordered(layer, changing, *[planned(("pay", None))] * 3))
    assert [(run.ended, run.calls) for run in seen.runs] == [("raised", ())] * 3
    assert all("nothing that a program may change" in run.error for run in seen.runs)
    plain = program("pay('a', effects.LIMIT)")
    (after,) = stage.perform(ordered(layer, plain, planned(("pay", None)))).runs
    assert told(after) == [("pay", {"name": "a", "cents": 100})]


# -- a process that got past everything above the kernel -------------------------------------------


def _signal_of(attack: Callable[[], object], limits: StageLimits = LIMITS) -> int:
    """The signal that ends a confined process which does this; 0 when it came to its end."""
    parent = os.getpid()
    told_, report = os.pipe()
    child = os.fork()
    if child == 0:
        code = 3
        try:
            confine(limits, parent, read=told_, write=report)
            attack()
            code = 0
        finally:
            os._exit(code)
    os.close(report)
    os.close(told_)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _syscall(*given: Any) -> Callable[[], object]:
    libc = ctypes.CDLL(None)
    return lambda: libc.syscall(*given)


def _thread() -> None:
    threading.Thread(target=time.time).start()


ESCAPES: dict[str, Callable[[], object]] = {
    "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "stat": lambda: os.stat("/"),  # noqa: PTH116
    "list": lambda: os.listdir("/"),  # noqa: PTH208
    "remove": lambda: os.unlink("/nothing"),  # noqa: PTH108
    "socket": socket.socket,
    "pipe": os.pipe,
    "duplicate": lambda: os.dup(1),
    "read from another descriptor": lambda: os.read(0, 1),
    "write to another descriptor": lambda: os.write(2, b"x"),
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "start": lambda: subprocess.Popen(["true"]),
    "kill": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "thread": _thread,
    "sleep": lambda: time.sleep(60),
    "more time": lambda: resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000)),
    "executable pages": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
    "ptrace": _syscall(101, 0, 0, 0, 0),
    "a number that nobody knows": _syscall(1_000, 0),
    "a call of the other kind of numbers": _syscall(0x40000000 + 1, 1, 0, 0),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_a_system_call_that_is_not_on_the_list_kills(name: str) -> None:
    assert _signal_of(ESCAPES[name]) == signal.SIGSYS


def test_what_a_program_needs_is_allowed() -> None:
    def work() -> None:
        held = [bytearray(1 << 20) for _ in range(20)]
        del held
        time.time()
        time.monotonic()
        os.urandom(8)
        assert sum(x * x for x in range(10_000)) > 0

    assert _signal_of(work) == 0


def test_a_process_is_killed_when_its_cpu_time_is_over() -> None:
    def spin() -> None:
        while True:
            pass

    assert _signal_of(spin, StageLimits(wall_s=0.5)) in (signal.SIGKILL, signal.SIGXCPU)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_of_each_architecture_allows_the_same_calls(machine: str) -> None:
    made = instructions(machine, 6, 7)
    assert made[-1] == (0x06, 0, 0, 0x80000000)
    # Every jump lands inside, and every path ends in a return.
    for at, (operation, when, otherwise, _) in enumerate(made):
        if operation in (0x15, 0x45):
            assert at + 1 + max(when, otherwise) < len(made)
    assert sum(operation == 0x06 and value == 0x7FFF0000 for operation, _, _, value in made) == 21


def test_a_stage_that_can_not_confine_refuses_and_runs_nothing(
    layer: Layer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A Python that believes to be on a processor for which no filter is known.
    (tmp_path / "sitecustomize.py").write_text(
        "import platform\nplatform.machine = lambda: 'pdp11'\n"
    )
    monkeypatch.setattr("lictor_run.program_interpreter.ENVIRONMENT", {"PYTHONPATH": str(tmp_path)})
    with LocalStage() as stage:
        seen = stage.perform(ordered(layer, program("balance('a')"), planned(("balance", 1))))
    assert seen.runs == ()
    assert "pdp11" in seen.refused


def test_the_child_has_no_descriptor_but_its_order_s_and_its_report_s() -> None:
    with LocalStage() as stage:
        assert stage.why_refused() == ""
        # One waits for the next order.
        while not (children := psutil.Process(stage.pid or 0).children()):
            pass
        process = Path("/proc") / str(children[0].pid)
        while "Seccomp:\t2" not in (text := (process / "status").read_text()):
            pass
        assert "NoNewPrivs:\t1" in text
        assert len(list((process / "fd").iterdir())) == 2
        environment = (Path("/proc") / str(stage.pid) / "environ").read_text().split("\0")
        assert sorted(filter(None, environment)) == ["LC_ALL=C.UTF-8", "PYTHONHASHSEED=0"]
