"""For which runs a guarantee holds; without any model, for whoever works with proofs alone."""

from enum import StrEnum


class ProofStrength(StrEnum):
    """For which runs a guarantee holds."""

    EVERY_PREFIX = "every_prefix"
    """However early the run ends, also when a trusted call fails."""
    ON_COMPLETION = "on_completion"
    """When the run completes: it promises that something happens, and whatever ends the run early may keep it from
    happening: a trusted call that fails, an unknown value that raises, a limit of time or memory."""

    @property
    def words(self) -> str:
        """The same for people, wherever it is told."""
        if self is ProofStrength.EVERY_PREFIX:
            return "however early the run ends"
        return "if the run completes"
