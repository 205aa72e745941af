"""What the proved guarantees of a program imply, asked about contracts of its layer's vocabulary.

The program is read again, in a process of its own that is killed when its time is up, and must become the very document
that was proved. What is not answered, for whatever reason, is unknown.

    python -m lictor_prove.workers.entailment < question.json
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from lictor_ir.contracts import Contract
from lictor_ir.errors import IrError
from lictor_ir.forked_child import limit_memory
from lictor_prove.coverage.required_contracts import is_contract
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.layer_model import Layer
from lictor_prove.layers.installed import installed_layers
from lictor_prove.workers.process import Roots
from lictor_schema.approvals.approval import ApprovalBinding
from lictor_schema.approvals.approval_policy import ContractCall
from lictor_schema.proofs.program import is_executable

BUDGET_MS: Final = 2_000
"""For one contract."""
MEMORY_MB: Final = 1_024
_MAX_WHY: Final = 500

Implied = Literal["implied", "not_implied", "unknown"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A contract by the name of its module and its own, with arguments as JSON has them."""

    contract: str
    arguments: tuple[object, ...] = ()
    named: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class EntailmentQuestion:
    """A proved program, and what may follow from what was proved."""

    program: str
    language: str
    name: str
    target: str
    roots: Roots
    layer_hash: str
    ir_hash: str
    wanted: tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class EntailmentAnswer:
    """What was found; with a problem, nothing was."""

    effects: tuple[str, ...] = ()
    implied: tuple[tuple[Implied, str], ...] = ()
    """For each contract, in their order: whether it is implied, and why."""
    problem: str | None = None


def wanted_of(call: ContractCall) -> Wanted:
    """What a policy states, as it is asked."""
    told = json.loads(call.to_json())
    return Wanted(call.contract, tuple(told["arguments"]), told["named"])


def why_undecidable(call: ContractCall, layers: Iterable[Layer]) -> str | None:
    """Why no layer knows what a policy means by a contract, so that it decides nothing; None when one can."""
    why = "there is no layer"
    for layer in layers:
        try:
            contract_stated(layer, wanted_of(call))
        except (ProveError, IrError) as error:
            why = str(error)
        else:
            return None
    return why


async def look_at(
    binding: ApprovalBinding, program: str, contracts: Sequence[ContractCall], timeout_s: float
) -> EntailmentAnswer:
    """What is implied by what was proved of a program that is to be approved, under the layer of ``LICTOR_LAYERS``."""
    try:
        named = installed_layers().named(binding.layer_hash)
    except ProverConfigError as error:
        return EntailmentAnswer(problem=str(error))
    if named is None:
        return EntailmentAnswer(problem=f"the layer {binding.layer_hash} is not here")
    question = EntailmentQuestion(
        program=program,
        language=binding.language,
        name=binding.source_name,
        target=binding.target,
        roots=named[1],
        layer_hash=binding.layer_hash,
        ir_hash=binding.ir_hash,
        wanted=tuple(map(wanted_of, contracts)),
    )
    return await entailed(question, timeout_s)


async def entailed(question: EntailmentQuestion, timeout_s: float) -> EntailmentAnswer:
    """Ask in a child process; an answer that does not come in time, or is not whole, is a problem."""
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            # Nothing beside where the service happens to stand may be taken for one of our modules.
            "-I",
            "-m",
            "lictor_prove.workers.entailment",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        return EntailmentAnswer(problem=f"no process could be started: {error}")
    try:
        async with asyncio.timeout(timeout_s):
            out, _ = await child.communicate(json.dumps(asdict(question)).encode())
    except TimeoutError:
        return EntailmentAnswer(problem=f"it took longer than {timeout_s:g} s")
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    return _answer(out, len(question.wanted))


def _answer(out: bytes, wanted: int) -> EntailmentAnswer:
    try:
        told = json.loads(out)
        found = EntailmentAnswer(
            tuple(map(str, told["effects"])),
            tuple((_verdict(verdict), str(why)) for verdict, why in told["implied"]),
            told["problem"],
        )
    except (ValueError, KeyError, TypeError):
        return EntailmentAnswer(problem="the process that looked at the program broke off")
    if found.problem is None and len(found.implied) != wanted:
        return EntailmentAnswer(problem="the process that looked at the program left some out")
    return found


def _verdict(text: str) -> Implied:
    # Only these two words are taken at their word.
    if text == "implied":
        return "implied"
    return "not_implied" if text == "not_implied" else "unknown"


def look(question: EntailmentQuestion) -> EntailmentAnswer:
    """Look at the program in this process."""
    from lictor_ir.goals import goals, strengths
    from lictor_ir.json.document import document_hash
    from lictor_prove.layers import load_layer
    from lictor_prove.layers.signature import signature_of
    from lictor_prove.proof.prover import document_of

    language = question.language
    if not is_executable(language):
        return EntailmentAnswer(problem=f"programs in `{language}` are not read here")
    try:
        layer = load_layer(
            [Path(root) for root in question.roots.trusted],
            [Path(root) for root in question.roots.imports],
        )
        if layer.hash != question.layer_hash:
            return EntailmentAnswer(problem=f"the layer is {layer.hash} now")
        document = document_of(
            question.program,
            name=question.name,
            layer=layer,
            target=question.target,
            language=language,
        )
    except (ProveError, IrError) as error:
        return EntailmentAnswer(problem=f"the program can't be read: {error}")
    if document_hash(document) != question.ir_hash:
        return EntailmentAnswer(problem="the program does not become the document that was proved")
    signature = signature_of(layer, document)
    try:
        held = strengths(document, goals(document, {}))
    except IrError as error:
        return EntailmentAnswer(problem=f"its goals can't be derived: {error}")
    proved = [
        (each.contract, strength) for each, strength in zip(document.guarantees, held, strict=True)
    ]
    return EntailmentAnswer(
        tuple(sorted({atom.effect for atom in document.atoms})),
        tuple(_implied(signature, layer, proved, wanted) for wanted in question.wanted),
    )


def contract_stated(layer: Layer, wanted: Wanted) -> Contract:
    """The contract that is meant; ProveError when the layer has none that can be called so."""
    module, _, name = wanted.contract.rpartition(".")
    found = layer.modules.get(module)
    builder = None if found is None else found.names.get(name)
    if not is_contract(builder):
        raise ProveError(f"the layer has no contract {wanted.contract}")
    return builder.build_stated(wanted.arguments, wanted.named or {})[0]


def _implied(
    signature: Any, layer: Any, proved: Sequence[tuple[Any, Any]], wanted: Wanted
) -> tuple[Implied, str]:
    from lictor_ir.analysis import Budget, EntailmentVerdict, entails
    from lictor_ir.analysis.contract_parts import relied_on
    from lictor_ir.contracts import leaves

    try:
        contract = contract_stated(layer, wanted)
        budget = Budget(ms=BUDGET_MS)
        found = [
            entails(signature, relied_on(leaf, proved), leaf, budget) for leaf in leaves(contract)
        ]
    except (ProveError, IrError) as error:
        return "unknown", str(error)[:_MAX_WHY]
    by_worst = (EntailmentVerdict.NOT_IMPLIED, EntailmentVerdict.UNKNOWN, EntailmentVerdict.IMPLIED)
    verdict = min(
        (each.verdict for each in found), key=by_worst.index, default=EntailmentVerdict.IMPLIED
    )
    reasons = dict.fromkeys(each.reason for each in found if each.verdict is verdict)
    return _verdict(verdict.value), ("; ".join(reasons) or "it promises nothing")[:_MAX_WHY]


def main() -> None:
    """Answer the question on stdin."""
    outgoing = os.fdopen(os.dup(1), "wb")
    # What a layer prints must not stand in the answer.
    os.dup2(2, 1)
    told = json.loads(sys.stdin.buffer.read())
    roots = Roots(*(tuple(told["roots"][part]) for part in ("trusted", "imports")))
    wanted = tuple(
        Wanted(each["contract"], tuple(each["arguments"]), each["named"]) for each in told["wanted"]
    )
    import z3 as _z3  # pyright: ignore[reportMissingTypeStubs, reportUnusedImport]  # noqa: F401

    limit_memory(MEMORY_MB)
    try:
        answer = look(
            EntailmentQuestion(
                program=told["program"],
                language=told["language"],
                name=told["name"],
                target=told["target"],
                roots=roots,
                layer_hash=told["layer_hash"],
                ir_hash=told["ir_hash"],
                wanted=wanted,
            )
        )
    except MemoryError:
        answer = EntailmentAnswer(problem=f"it needs more than {MEMORY_MB} MB")
    outgoing.write(json.dumps(asdict(answer)).encode())
    outgoing.flush()


if __name__ == "__main__":
    main()
