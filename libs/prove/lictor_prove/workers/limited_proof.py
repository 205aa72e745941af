"""One proof in a child of this process, for commands; what the child did not answer in time is `unknown`."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable

from lictor_ir.forked_child import Forked, Tell
from lictor_prove.errors import ProveError, ProverConfigError
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.workers.failures import crashed, failed, too_large, too_slow


def prove_limited(prove: Callable[[], Proof], settings: ProofSettings) -> Proof:
    """What `prove` finds, within the settings' wall clock and memory. The process must have no other threads."""
    with Forked(lambda tell: _answer(prove, tell, settings), settings.memory_mb) as child:
        try:
            data = child.told(settings.wall_ms / 1000)
        except TimeoutError:
            return too_slow(settings)
        code = os.waitstatus_to_exitcode(child.end())
    if data is None:
        return crashed(code, settings)
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
        answer = too_large(settings)
    except Exception as error:  # noqa: BLE001 -- it would end the child, and nobody would know why
        answer = failed(error)
    tell(pickle.dumps(answer))
