"""Feedback made ready for the log: stamped with where it came from, and cut to a size that fits."""

from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.ids import feedback_id
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.feedback import Feedback, Observation, StampedFeedback, TriggerKind

MAX_FEEDBACK_BYTES = 32 * 1024
"""What one provider may say at once, in its stored form."""
# Even if each character takes six bytes there, this is less than the whole may have.
_SUMMARY = 4000
_DETAIL = 1000
_CUT = " … (cut)"


def stamped(
    said: Feedback,
    *,
    provider: str,
    entry_id: str,
    now_us: int,
    call_index: int,
    trigger: TriggerKind,
    definition: str,
) -> StampedFeedback:
    """What a provider said, under its name in the definition; raises whatever is wrong with it."""
    feedback = StampedFeedback(
        provider=provider,
        summary=_cut(said.summary, _SUMMARY),
        observations=tuple(_observation(each) for each in said.observations),
        suggestions=tuple(_cut(each, _DETAIL) for each in said.suggestions),
        severity=said.severity,
        feedback_id=feedback_id(entry_id, provider),
        raised_at=utc_millis(from_micros(now_us)),
        call_index=call_index,
        trigger=trigger,
        definition=definition,
    )
    return _fitting(feedback)


def _fitting(feedback: StampedFeedback) -> StampedFeedback:
    """Without its last details, until it fits."""
    while (feedback.suggestions or feedback.observations) and (
        len(feedback.model_dump_json().encode()) > MAX_FEEDBACK_BYTES
    ):
        if feedback.suggestions:
            shorter = {"suggestions": feedback.suggestions[:-1]}
        else:
            shorter = {"observations": feedback.observations[:-1]}
        feedback = feedback.model_copy(update=shorter)
    return feedback


def _observation(observation: Observation) -> Observation:
    evidence = observation.evidence
    return Observation(
        category=observation.category,
        description=_cut(observation.description, _DETAIL),
        evidence=None if evidence is None else _cut(evidence, _DETAIL),
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT
