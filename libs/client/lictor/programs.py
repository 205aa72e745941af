"""Programs for the prover: submitted together, all or none, and answered one by one.

    proved, = await task.prove(source)
    if proved.verdict != "proved":
        print(proved.reasons)

Only `proved` lets a program go on. What is not answered in time is not proved.
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from nats.aio.client import Client
from nats.errors import Error as NatsError

from lictor.errors import LictorError, NotInTime, Unreachable
from lictor.history.stored_history import StoredHistory
from lictor.program_parameters import parameters_of
from lictor_bus.errors import BusError
from lictor_bus.gates.history import PROOFS
from lictor_bus.logs.entry_logs import body_in
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import own_message_id
from lictor_bus.wire.publish import Outgoing, publish_all
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import submission_id as derived_id
from lictor_schema.gates.history import HistoryFilter
from lictor_schema.proofs.inputs import (
    InputRefused,
    Inputs,
    PlainValue,
    why_not_of,
    written_inputs,
)
from lictor_schema.proofs.program import Language, ProgramHashOf, ProgramSubmission, program_hash
from lictor_schema.proofs.proof import ProofResult

PROOF_TIMEOUT_S = 120.0
_HASHES: tuple[ProgramHashOf | None, ...] = ("bytes", None)


class SubmissionRefused(LictorError):
    """The programs were not stored, so none of them is proved."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to submit."""

    source: str
    name: str = "program.py"
    target: str = "main"
    language: Language = "python"
    layer_hash: str | None = None
    timeout_ms: int | None = None
    inputs: Mapping[str, PlainValue] | None = None
    """The values of the target's parameters: what is approved is a run with exactly these."""
    anew: bool = False
    """Whether this is another submission each time, also where the layer is named: another run, to be approved anew."""

    def written_inputs(self) -> Inputs | None:
        """Its values as they are submitted; SubmissionRefused when they can't be those of the program."""
        try:
            written = written_inputs(self.inputs or {}) or None
        except InputRefused as error:
            raise SubmissionRefused(f"{self.name}: {error}.") from None
        parameters = parameters_of(self.source, self.language, self.target)
        if parameters is not None and self.language != "ir":
            problem = why_not_of(self.target, parameters, written)
            if problem is not None:
                raise SubmissionRefused(f"{self.name}: {problem.message}; {problem.remedy}.")
        return written

    def submission_id(self, task_id: str, agent_id: str) -> str:
        """The same for the same question about a given layer: asking again is answered by what was found, and what
        was approved and has run does not run again; `anew` asks for another run.

        Which layer is the current one may change in between, so a question about that is a new one each time.
        """
        if self.anew or self.layer_hash is None:
            return str(uuid.uuid4())
        limits = str(self.timeout_ms)
        parts = (agent_id, self.language, self.name, self.target, self.layer_hash, limits)
        values = () if not self.inputs else (content_hash(self.written_inputs()),)
        return derived_id(task_id, *parts, content_hash(self.source), *values)


async def submit(client: Client, submissions: Sequence[ProgramSubmission]) -> None:
    """Store the submissions, all or none; those that are stored already are not stored again."""
    messages = [
        Outgoing(
            subjects.program(each.runtime, each.task_id),
            each.to_json(),
            own_message_id(
                client,
                f"{subjects.runtime_token(each.runtime)}.{subjects.token(each.task_id)}"
                f".{each.submission_id}.{_question_hash(each)}",
            ),
        )
        for each in submissions
    ]
    too_long = [
        each.source_name
        for each, message in zip(submissions, messages, strict=True)
        if len(message.body) > client.max_payload
    ]
    if too_long:
        raise SubmissionRefused(
            f"{', '.join(too_long)}: too long for this NATS server, which takes"
            f" {client.max_payload} bytes; split the program or raise the server's max_payload"
        )
    try:
        await publish_all(client, streams.PROGRAMS, messages)
    except (BusError, NatsError, TimeoutError) as error:
        raise Unreachable(
            f"the programs could not be submitted: {error or type(error).__name__};"
            " `lictor doctor` shows whether the prover runs"
        ) from None


def _question_hash(submission: ProgramSubmission) -> str:
    program = content_hash(submission.program)
    return program if submission.inputs is None else content_hash([program, submission.inputs])


async def results(
    history: StoredHistory, submissions: Sequence[ProgramSubmission], timeout_s: float
) -> AsyncGenerator[ProofResult, None]:
    """The result of each submission as it comes; raises NotInTime when some did not come."""
    # By either hash: what an older prover answered before is found, too.
    left: dict[tuple[str, str | None, str], ProgramSubmission] = {
        (each.submission_id, of, program_hash(each.program, of)): each
        for each in submissions
        for of in _HASHES
    }
    tasks = {each.task_id for each in submissions}
    only = HistoryFilter(task_id=tasks.pop() if len(tasks) == 1 else None)
    stored = history.follow(PROOFS, only, from_start=True)
    async with aclosing(stored):
        try:
            async with asyncio.timeout(timeout_s):
                while left:
                    result: ProofResult | None = body_in(await anext(stored), ProofResult.from_json)
                    if result is None:
                        continue
                    name = (result.submission_id, result.program_hash_of, result.program_hash)
                    answered = left.get(name)
                    if answered is not None:
                        left = {key: each for key, each in left.items() if each is not answered}
                        yield result
        except TimeoutError:
            names = ", ".join({id(each): each.source_name for each in left.values()}.values())
            raise NotInTime(
                f"there was no result for {names} within {timeout_s:g} s: not proved;"
                " `lictor doctor` shows whether the prover runs, `lictor dead list` what it set aside"
            ) from None
