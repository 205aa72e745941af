"""Words in an order."""

from enum import StrEnum
from typing import Self


class RankedText(StrEnum):
    """A base for words whose order matters: `rank` counts them from 0, as they are listed."""

    rank: int

    def __new__(cls, value: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = len(cls.__members__)
        return member
