"""Constants that programs at the desk may name; two of them are members of enums."""

from enum import IntEnum, StrEnum


class Level(IntEnum):
    FIRST = 1


class Person(StrEnum):
    BOB = "bob@example.com"


LIMIT = 1
OWNER = "bob@example.com"
LEVEL = Level.FIRST
PERSON = Person.BOB
