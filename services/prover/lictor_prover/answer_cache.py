"""Answers that were given before: the same program under the same layer and limits gets the same answer at once.

Kept in Redis for a while; without Redis every question is decided anew. `unknown` is not kept: the next try may have
more luck with the same limits.
"""

from pydantic import ValidationError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from lictor_schema.core.canonical_json import CanonicalError, content_hash
from lictor_schema.core.time import DAY_S
from lictor_schema.proofs.program import ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofResult, ProofVerdict

KEEP_S = 7 * DAY_S


class AnswerCache:
    """What was decided, by what it depends on."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    async def find(
        self, submission: ProgramSubmission, layer_hash: str | None, limits: str
    ) -> ProofResult | None:
        """The answer to the same question under the same limits, if there is one that can be read."""
        try:
            raw = await self._redis.get(_key(submission, layer_hash, limits))
            found = None if raw is None else ProofResult.from_json(raw)
        except (RedisError, OSError, TimeoutError, ValidationError, CanonicalError):
            return None
        # The key names them too; an answer about another program or layer must not pass, however it got there.
        if found is None or (found.program_hash, found.layer_hash) != (
            program_hash(submission.program, found.program_hash_of),
            layer_hash,
        ):
            return None
        now = {"program_hash": program_hash(submission.program), "program_hash_of": "bytes"}
        return found.model_copy(update=now)

    async def keep(self, submission: ProgramSubmission, result: ProofResult, limits: str) -> None:
        """Remember an answer; that it can't be is no reason not to give it."""
        if result.verdict is ProofVerdict.UNKNOWN:
            return
        try:
            key = _key(submission, result.layer_hash, limits)
            await self._redis.set(key, result.to_json(), ex=KEEP_S)
        except (RedisError, OSError, TimeoutError):
            return


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
