"""Who may give orders about a sealed episode; pure."""

from typing import Final, Literal, NamedTuple

from lictor_contracts.action.judgement import is_somebody, one_person
from lictor_schema.seals.seal import SealedEpisode

SEALER: Final = "lictor.sealer"
"""Who takes up what came late, when nobody ordered it."""


class Objection(NamedTuple):
    """Why somebody may not give an order, and what to do."""

    reason: str
    remedy: str


def objection_to(
    by: str, episode: SealedEpisode, act: Literal["correct", "erase"]
) -> Objection | None:
    """Why this order is refused: nobody gave it, or the episode's actor, or it is in the sealer's name."""
    if not is_somebody(by):
        return Objection("by: names nobody", "say who gives the order")
    if one_person(by, SEALER):
        return Objection(f"by: {SEALER} is the sealer's own name", "give your own")
    if one_person(by, episode.actor.id):
        return Objection(
            f"by: {by} is the actor of the episode, who can't {act} it",
            "have somebody else order it",
        )
    return None
