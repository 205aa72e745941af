"""Constants of a layer: plain ones, and such that only look like plain ones."""

from enum import Enum, IntEnum, IntFlag, StrEnum


class Colour(Enum):
    RED = 1
    GREEN = "green"


class Level(IntEnum):
    ZERO = 0
    ONE = 1


class Mark(IntFlag):
    ONE = 1


class Person(StrEnum):
    ANN = "ann"
    NOBODY = ""


class OldPerson(str, Enum):
    ANN = "ann"


class Shout(str):
    """A string that says something else than it holds."""

    def __str__(self) -> str:
        return self.upper() + "!"

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class Doubt(float):
    """A number that is never true."""

    def __bool__(self) -> bool:
        return False


RED = Colour.RED
ONE = Level.ONE
ZERO = Level.ZERO
FLAG = Mark.ONE
ANN = Person.ANN
NOBODY = Person.NOBODY
OLD_ANN = OldPerson.ANN
LOUD = Shout("ann")
DOUBT = Doubt(1.5)

LIMIT = 1
NAME = "ann"
SHARE = 1.5
ON = True
ABSENT = None
PAIR = (1, "ann")
