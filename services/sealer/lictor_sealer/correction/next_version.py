"""The next version of a sealed episode: what came late, how it really ended, and on whose word; pure.

A correction takes nothing back. It keeps all that the version before says, but for the outcome where the order names
another, or what came late shows a worse one; and no order makes it a better one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import ValidationError

from lictor_contracts.decision.outcome_signs import Sign, badness
from lictor_schema.errors import describe_validation_error
from lictor_schema.seals.correction import CorrectionOrder
from lictor_schema.seals.episode import (
    DecisionEpisode,
    EpisodeState,
    Outcome,
    OutcomeCode,
    RecordDigest,
)
from lictor_schema.seals.episode_sources import Correction, EpisodeSources
from lictor_schema.seals.seal import SealedEpisode
from lictor_sealer.episode.assembly import lowered
from lictor_sealer.episode.signs import source_signs
from lictor_sealer.episode.sources import covered_messages, covered_records
from lictor_sealer.episode.task_records import StoredRecord
from lictor_sealer.order_authority import objection_to


class CorrectionRefused(Exception):
    """The episode is not corrected; says why and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class Split(NamedTuple):
    """The records of a task as an episode sees them."""

    earlier: Sequence[StoredRecord]
    """Of runs before it."""
    own: Sequence[StoredRecord]
    late: Sequence[StoredRecord]
    """After its closing, before the task was run again."""
    until_us: int | None
    """Up to when messages belong to it: the task was run again then. None when it was not."""


def check_authority(order: CorrectionOrder, previous: SealedEpisode) -> None:
    """Raises CorrectionRefused for an order that nobody gave, or the actor itself, or in the sealer's name.

    And for every order about an archived episode.
    """
    if previous.state is EpisodeState.ARCHIVED:
        raise CorrectionRefused(
            f"the episode is archived since version {previous.seal.version}, which was its last",
            "what is known now belongs into another episode, or beside the log",
        )
    objection = objection_to(order.by, previous, "correct")
    if objection is not None:
        raise CorrectionRefused(*objection)


def split_records(first: SealedEpisode, found: Sequence[StoredRecord], until_us: int) -> Split:
    """The records of a task around an episode, by its first version; ``until_us`` is what its newest covers.

    Raises CorrectionRefused when the stream does not hold what was sealed.
    """
    named = [each.record_id for each in first.records]
    ids = [each.record_id for each in found]
    begin = ids.index(named[0]) if named[0] in ids else len(ids)
    end = begin + covered_records(first)
    own = found[begin:end]
    if len(own) < end - begin or ids[begin : begin + len(named)] != named:
        raise lost_records()
    later = found[end:]
    if any(each.closes for each in later):
        # What came late stands in the next episode, but for what a version of this one covers already.
        return Split(found[:begin], own, [e for e in later if e.stored_us <= until_us], until_us)
    again = [each.stored_us for each in later if each.begins]
    limit = max(until_us, again[0] - 1) if again else None
    late = [each for each in later if limit is None or each.stored_us <= limit]
    return Split(found[:begin], own, late, limit)


def lost_records() -> CorrectionRefused:
    """The stream holds other records than those that were sealed."""
    return CorrectionRefused(
        "DECISIONS does not hold the records that were sealed in version 1",
        "restore the stream; the sealed versions stay valid",
    )


def late_messages(
    previous: SealedEpisode, records: Sequence[StoredRecord], sources: EpisodeSources
) -> int:
    """How many messages these are more than the version before covers.

    Raises CorrectionRefused when they are fewer: then something is lost that was sealed.
    """
    before = covered_records(previous) + covered_messages(previous.sources)
    late = len(records) + covered_messages(sources) - before
    if late < 0:
        raise CorrectionRefused(
            f"the streams hold {-late} messages fewer than version {previous.seal.version} covers",
            "restore the streams; the sealed versions stay valid",
        )
    return late


def corrected(
    previous: SealedEpisode,
    records: Sequence[RecordDigest],
    sources: EpisodeSources,
    order: CorrectionOrder,
    *,
    ordered_at: str,
    late: int,
) -> DecisionEpisode:
    """The episode of the next version; raises CorrectionRefused when it can't be."""
    changed = {
        "records": tuple(records),
        "sources": sources,
        # These lists are made anew.
        "shortened": tuple(
            each
            for each in previous.shortened
            if each != "records" and not each.startswith("sources.")
        ),
        "outcome": lowered(_outcome(previous.outcome, order), _signs(previous, sources)),
        "correction": Correction(
            request_id=order.request_id,
            by=order.by,
            reason=order.reason,
            ordered_at=ordered_at,
            late=late,
            archived=order.archive,
        ),
    }
    kept = {name: getattr(previous, name) for name in DecisionEpisode.model_fields}
    try:
        return DecisionEpisode.model_validate({**kept, **changed})
    except ValidationError as error:
        problem = describe_validation_error(error)[0]
        raise CorrectionRefused(
            f"{problem.path}: {problem.problem}", "correct it, or leave the outcome as it is"
        ) from None


def _signs(previous: SealedEpisode, sources: EpisodeSources) -> list[Sign]:
    # What abstained, failed or was bypassed says of itself that not all was done as asked.
    better = previous.outcome.code in (OutcomeCode.SUCCESS, OutcomeCode.PARTIAL)
    done = bool(previous.actions) or not better
    return [*source_signs(sources, governed=previous.dte_ref is not None, did_something=done)]


def _outcome(before: Outcome, order: CorrectionOrder) -> Outcome:
    if order.outcome is None or order.outcome is before.code:
        return before
    if badness(order.outcome) < badness(before.code):
        raise CorrectionRefused(
            f"outcome: it was sealed as {before.code.value}, and no correction makes a {order.outcome.value} of it",
            "leave the outcome as it is, and say in the reason what is known now",
        )
    return Outcome(code=order.outcome, reason=order.reason, effects=before.effects)
