"""The rows of enumerated programs."""

from lictor_layer import Row


class PairRow(Row):
    text: str
    count: int
    flag: bool
    size: float


class WiderRow(PairRow):
    note: str
