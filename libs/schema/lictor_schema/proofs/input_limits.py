"""How many parameters of a program can be given values, and how long their names may be.

Front-ends refuse what takes more. They stand apart from the models, because a stage that rehearses programs loads none.
"""

from typing import Final

MAX_INPUTS: Final = 100
MAX_INPUT_NAME: Final = 256
"""As many characters as a `Label` has."""
