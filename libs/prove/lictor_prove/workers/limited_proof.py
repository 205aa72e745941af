"""One proof in a child of this process, for commands; what the child did not answer in time is `unknown`."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from lictor_ir.forked_child import Forked, Tell
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.proof.result import Proof, unknown
from lictor_prove.proof.settings import ProofSettings


def prove_limited(prove: Callable[[], Proof], settings: ProofSettings) -> Proof:
    """What `prove` finds, within the settings' wall clock and memory. The process must have no other threads."""
    with Forked(lambda tell: _answer(prove, tell, settings), settings.memory_mb) as child:
        try:
            data = child.told(settings.wall_ms / 1000)
        except TimeoutError:
            return unknown(
                "prover.timeout",
                f"the proof took longer than {settings.wall_ms} ms",
                "make the program simpler, or give the proof more time",
            )
        status = child.end()
    if data is None:
        return unknown(
            "prover.crashed",
            f"the child process ended with status {status}, perhaps because it needs more than "
            f"{settings.memory_mb} MB",
            "make the program simpler, or give the proof more memory",
        )
    answer = pickle.loads(data)
    if isinstance(answer, str):
        raise ProverConfigError(answer)
    return answer


def _answer(prove: Callable[[], Proof], tell: Tell, settings: ProofSettings) -> None:
    answer: Proof | str
    try:
        answer = prove()
    except ProveError as error:
        answer = str(error)
    except MemoryError:
        answer = unknown(
            "prover.memory",
            f"the proof needs more than {settings.memory_mb} MB",
            "make the program simpler, or give the proof more memory",
        )
    tell(pickle.dumps(answer))
