"""The tables of the bank."""

from lictor_layer import Row


class ClientRow(Row):
    email: str
    age: int


class BestClientRow(ClientRow):
    discount: int
