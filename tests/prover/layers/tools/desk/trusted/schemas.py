"""The tables that the desk reads."""

from lictor_layer import Row


class UserRow(Row):
    email: str
    name: str
    age: int
    active: bool


class OrderRow(Row):
    stock: str
    shares: int
    approved: bool
