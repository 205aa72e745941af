"""Checks the certificate of a proof again, for whoever does not want to take the prover's word for its level.

In a process of its own that is killed when its time is up. A certificate counts when the kernel of `lictor_ir` finds it
valid, and when it is about the document, the layer and the guarantees that a request shows.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from lictor_schema.approvals.approval import ApprovalRequest
from lictor_schema.proofs.proof import CertificateLevel

_MAX_WHY: Final = 500


@dataclass(frozen=True, slots=True)
class Rechecked:
    """The level that was found; with a problem, none was."""

    level: CertificateLevel | None
    problem: str = ""


async def recheck(request: ApprovalRequest, data: bytes, timeout_s: float) -> Rechecked:
    """What a certificate shows of what a request is about; whatever keeps it from being checked is a problem."""
    try:
        return await _checked(request, data, timeout_s)
    except OSError as error:
        return Rechecked(None, f"the certificate can't be checked here: {error.strerror}")


async def _checked(request: ApprovalRequest, data: bytes, timeout_s: float) -> Rechecked:
    with TemporaryDirectory(prefix="lictor-certificate-") as folder:
        path = Path(folder, "certificate")
        await asyncio.to_thread(path.write_bytes, data)
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", "lictor_ir", "check", "--json", "--level", "a"),
            *("--timeout", str(max(1, int(timeout_s))), str(path)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(timeout_s):
                out, _ = await child.communicate()
        except TimeoutError:
            return Rechecked(None, f"the certificate was not checked within {timeout_s:g} s")
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return _found(request, out, child.returncode)


def _found(request: ApprovalRequest, out: bytes, status: int | None) -> Rechecked:
    binding = request.binding
    try:
        told: dict[str, Any] = json.loads(out)
        if status != 0 or told["valid"] is not True:
            words = ("refused", "unreadable", "unchecked")
            why = next((told[word] for word in words if word in told), "it is not valid")
            return Rechecked(None, f"the certificate is refused: {str(why)[:_MAX_WHY]}")
        shown = [
            (each["name"], each["required_by"] is not None, each["strength"])
            for each in told["guarantees"]
        ]
        about = (told["hash"], told["ir_hash"], told["layer_hash"], told["front_end"])
        program = (told["program_hash"], told["program"], told["target"])
        level = told["level"]
    except (ValueError, KeyError, TypeError):
        return Rechecked(None, "the process that checked the certificate broke off")
    bound = (binding.certificate_hash, binding.ir_hash, binding.layer_hash, binding.language)
    if about != bound:
        return Rechecked(None, "the certificate is about another document or layer")
    # An older binding has the hash of the program's quotation, which no certificate has.
    named = binding.program_hash if binding.program_hash_of == "bytes" else program[0]
    if program != (named, binding.source_name, binding.target):
        return Rechecked(
            None, "the certificate is about another program, or another function of it"
        )
    # The order is that of the document for both.
    if shown != [(each.name, each.required, each.strength) for each in request.guarantees]:
        return Rechecked(None, "the certificate shows other guarantees, or of other runs")
    if level not in ("a", "b", "c"):
        return Rechecked(None, f"the certificate has no known level: {level}")
    return Rechecked(level)
