"""Confines the process that rehearses a program: limits of the kernel, and a seccomp filter that allows a short list.

The filter kills at every other system call. What is left is memory, signals of its own, clocks, random numbers, an end,
reading from one descriptor and writing to another: no file, no socket, no process and no executable page can be had.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2
_MB: Final = 1024 * 1024
_LIBC: Final = ctypes.CDLL(None, use_errno=True)

# The kernel's names of architectures (linux/audit.h), and its numbers of system calls.
_ARCHITECTURES: Final = {
    "x86_64": (
        0xC000003E,
        {
            "read": 0,
            "write": 1,
            "mmap": 9,
            "mprotect": 10,
            "munmap": 11,
            "brk": 12,
            "rt_sigaction": 13,
            "rt_sigprocmask": 14,
            "rt_sigreturn": 15,
            "sched_yield": 24,
            "mremap": 25,
            "madvise": 28,
            "exit": 60,
            "gettimeofday": 96,
            "sigaltstack": 131,
            "futex": 202,
            "restart_syscall": 219,
            "clock_gettime": 228,
            "clock_getres": 229,
            "exit_group": 231,
            "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "read": 63,
            "write": 64,
            "exit": 93,
            "exit_group": 94,
            "futex": 98,
            "clock_gettime": 113,
            "clock_getres": 114,
            "sched_yield": 124,
            "restart_syscall": 128,
            "sigaltstack": 132,
            "rt_sigaction": 134,
            "rt_sigprocmask": 135,
            "rt_sigreturn": 139,
            "gettimeofday": 169,
            "brk": 214,
            "munmap": 215,
            "mremap": 216,
            "mmap": 222,
            "mprotect": 226,
            "madvise": 233,
            "getrandom": 278,
        },
    ),
}
_PROT_EXEC: Final = 4

# BPF: load a word, jump if equal, jump if bits are set, return. The offsets are those of struct seccomp_data.
_LOAD, _EQUAL, _BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NUMBER, _ARCH = 0, 4
_INSTRUCTION: Final = struct.Struct("=HBBI")


def _argument(index: int) -> int:
    """Where the low half of an argument is; both architectures are little-endian."""
    return 16 + 8 * index


class ConfinementError(Exception):
    """The process can't be confined, so it must not run anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLimits:
    """What one order may use."""

    wall_s: float = 5.0
    """For all its runs."""
    memory_mb: int = 256
    """By how much the process may grow."""
    calls: int = 20_000
    """Trusted calls of one run."""
    observed_bytes: int = 4 * _MB
    """What is reported of all its runs, as JSON."""


def confine(limits: StageLimits, parent: int, *, read: int, write: int) -> None:
    """Limit this process for good, to these two descriptors; ConfinementError unless all of it worked."""
    program = _filter(read, write)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise ConfinementError("its parent is gone")
    _hold_to(limits)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program))


def _hold_to(limits: StageLimits) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * os.sysconf("SC_PAGE_SIZE") + limits.memory_mb * _MB
    cpu = int(limits.wall_s) + 1
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _filter(read: int, write: int) -> _Program:
    """The filter as the kernel takes it."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise ConfinementError(f"no filter is known for processors of the kind {machine!r}")
    code = b"".join(_INSTRUCTION.pack(*each) for each in instructions(machine, read, write))
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // _INSTRUCTION.size, ctypes.cast(held, ctypes.c_void_p))
    # The kernel copies it; until then it must stay.
    program.held = held  # pyright: ignore[reportAttributeAccessIssue]
    return program


def instructions(machine: str, read: int, write: int) -> Sequence[tuple[int, int, int, int]]:
    """The filter: an operation, how far to jump if it holds and if not, and its operand."""
    arch, numbers = _ARCHITECTURES[machine]
    allow, kill = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL)
    made = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), kill, (_LOAD, 0, 0, _NUMBER)]
    for name, number in numbers.items():
        match name:
            case "read" | "write":
                own = read if name == "read" else write
                asked = [(_LOAD, 0, 0, _argument(0)), (_EQUAL, 1, 0, own), kill, allow]
            case "mmap" | "mprotect":
                asked = [(_LOAD, 0, 0, _argument(2)), (_BITS, 0, 1, _PROT_EXEC), kill, allow]
            case _:
                asked = [allow]
        made += [(_EQUAL, 0, len(asked), number), *asked]
    return [*made, kill]


def _prctl(option: int, *given: object) -> None:
    # All five arguments: the kernel refuses some options unless the rest are zero.
    rest = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in given]
    rest += [ctypes.c_ulong(0)] * (4 - len(rest))
    if _LIBC.prctl(option, *rest) != 0:
        told = os.strerror(ctypes.get_errno())
        raise ConfinementError(f"the kernel refuses prctl({option}): {told}")


def why_not_confined(limits: StageLimits) -> str:
    """Why nothing may run here; empty when a process was confined, and killed when it opened a file."""
    parent = os.getpid()
    told, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            confine(limits, parent, read=told, write=report)
            os.write(report, b"confined")
            os.open("/", os.O_RDONLY)
            os.write(report, b", and could open a file")
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the answer
            os.write(report, str(error).encode("utf-8", "replace")[:1000])
        finally:
            os._exit(1)
    os.close(report)
    with os.fdopen(told, "rb") as pipe:
        heard = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS
    return "" if killed and heard == "confined" else heard or "the filter is not in force"
