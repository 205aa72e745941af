"""Which engine may judge after which: only one that is not older."""

from lictor_policy.releases import is_newer
from lictor_policy.version import ENGINE_VERSION


def may_follow(engine: str, own: str = ENGINE_VERSION) -> bool:
    """Whether this engine is the same as another, or surely newer."""
    return engine == own or is_newer(own, engine)
