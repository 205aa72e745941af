"""What a condition of an approval policy comes to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Truth:
    """Whether something is so; `holds` is None when that is not known."""

    holds: bool | None
    why: str
