"""Rows, in the style of clauz3: its users bring layers like this one."""

import clauz3


class LotRow(clauz3.Row):
    stock: str
    shares: int
