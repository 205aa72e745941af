"""Keeps a leaf small whatever was written about its task: lists are cut, and it says which; pure.

An agent chooses ids and words. If many long ones could make a leaf larger than the broker takes, its episode would
never be sealed. The messages stored beside the leaf hold all of them.
"""

from typing import Any, Final

from lictor_schema.core.base_model import Model
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.seals.episode import DecisionEpisode

LEAF_SIZE: Final = 768 * 1024
"""Leaves are cut to this; far below what a broker takes, with the proof and the checkpoint beside it."""

_LISTS: Final = {
    "records": ("records",),
    "actions": ("actions",),
    "refusedActions": ("refused_actions",),
    "approvals": ("approvals",),
    "interventions": ("interventions",),
    "context.evidenceRefs": ("context", "evidence_refs"),
    "context.features": ("context", "features"),
    "sources.proofs": ("sources", "proofs"),
    "sources.runs": ("sources", "runs"),
    "sources.guard": ("sources", "guard"),
    "sources.gates": ("sources", "gates"),
    "sources.guidance": ("sources", "guidance"),
    "sources.receipts": ("sources", "receipts"),
}


def fitted(episode: DecisionEpisode) -> DecisionEpisode:
    """The episode; where it is too large, the longest of its lists is halved until it is not, down to one of each."""
    size = len(episode.to_json())
    if size <= LEAF_SIZE:
        return episode
    sizes = {name: _sizes(episode, path) for name, path in _LISTS.items()}
    kept = {name: len(each) for name, each in sizes.items()}

    def taken(name: str) -> int:
        return sum(sizes[name][: kept[name]]) if kept[name] > 1 else 0

    while size > LEAF_SIZE:
        longest = max(_LISTS, key=taken)
        before = taken(longest)
        if not before:
            break
        kept[longest] = (kept[longest] + 1) // 2
        size -= before - sum(sizes[longest][: kept[longest]])
    for name, path in _LISTS.items():
        if kept[name] < len(sizes[name]):
            episode = _cut(episode, path, kept[name])
            shortened = dict.fromkeys((*episode.shortened, name))
            episode = episode.model_copy(update={"shortened": tuple(shortened)})
    return episode


def _found(model: Any, path: tuple[str, ...]) -> tuple[Any, ...]:
    for name in path:
        model = getattr(model, name, ())
    return model


def _sizes(episode: DecisionEpisode, path: tuple[str, ...]) -> list[int]:
    return [
        len(each.to_json() if isinstance(each, Model) else canonical_json(each)) + 1
        for each in _found(episode, path)
    ]


def _cut(episode: DecisionEpisode, path: tuple[str, ...], count: int) -> DecisionEpisode:
    cut: Any = _found(episode, path)[:count]
    *above, last = path
    for name in above:
        cut = getattr(episode, name).model_copy(update={last: cut})
        last = name
    return episode.model_copy(update={last: cut})
