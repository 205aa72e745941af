"""Answers that were given before, by what they depend on.

Kept in Redis for a while; without Redis every question is decided anew. Redis is not believed where believing could
open a gate: of a `proved` only the name of its certificate is used, which is checked against the program again.
`unknown` is not kept: the next try may have more luck with the same limits. Neither is a `proved` that rests on what
solvers said, because nobody could check it.
"""

from pydantic import ValidationError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from lictor_schema.core.canonical_json import CanonicalError, content_hash
from lictor_schema.core.time import DAY_S
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofResult, ProofVerdict

KEEP_S = 7 * DAY_S


class ForgedAnswer(Exception):
    """What is kept was not written by a prover; the message says why."""


class AnswerCache:
    """What was decided, by what it depends on."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    async def find(
        self, submission: ProgramSubmission, layer_hash: str | None, limits: str
    ) -> ProofResult | None:
        """What is kept for the same question under the same limits; ForgedAnswer when no prover wrote that."""
        try:
            raw = await self._redis.get(_key(submission, layer_hash, limits))
        except (RedisError, OSError, TimeoutError):
            return None
        if raw is None:
            return None
        try:
            found = ProofResult.from_json(raw)
        except (ValidationError, CanonicalError):
            raise ForgedAnswer("it can't be read") from None
        if (found.program_hash, found.layer_hash) != (
            program_hash(submission.program, found.program_hash_of),
            layer_hash,
        ):
            raise ForgedAnswer("it is about another program or layer")
        if not _is_kept(found):
            raise ForgedAnswer(f"no `{found.verdict.value}` of this form is ever kept")
        return found

    async def keep(self, submission: ProgramSubmission, result: ProofResult, limits: str) -> None:
        """Remember an answer; that it can't be is no reason not to give it."""
        if not _is_kept(result):
            return
        try:
            key = _key(submission, result.layer_hash, limits)
            await self._redis.set(key, result.to_json(), ex=KEEP_S)
        except (RedisError, OSError, TimeoutError):
            return


def _is_kept(result: ProofResult) -> bool:
    if result.verdict is ProofVerdict.PROVED:
        return result.certificate_hash is not None and result.certificate_level == "c"
    return result.verdict is not ProofVerdict.UNKNOWN


def _key(submission: ProgramSubmission, layer_hash: str | None, limits: str) -> str:
    question = {
        "program": content_hash(submission.program),
        "language": submission.language,
        "name": submission.source_name,
        "target": submission.target,
        "layer": layer_hash,
        "settings": limits,
    }
    return f"lictor:prover:answer:{content_hash(question)}"
