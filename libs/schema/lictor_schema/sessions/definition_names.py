"""Names, patterns and times of day as agent definitions spell them."""

from typing import Annotated

from pydantic import Field, StringConstraints

from lictor_schema.core.base_model import PATTERN_MEANINGS

_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$"
_TOOL = r"^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,254}\*?$"
_CLOCK_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
PATTERN_MEANINGS.update(
    {
        _NAME: "must be 1 to 128 of letters, digits and _.:- and begin with a letter, digit or _",
        _TOOL: "must be the name of a tool: letters, digits and _./:- with at most a * at its end",
        _CLOCK_TIME: "must be a time of day from 00:00 to 23:59",
    }
)
Name = Annotated[str, StringConstraints(pattern=_NAME)]
"""The name of a definition, or of a part of one."""
ToolName = Annotated[str, StringConstraints(pattern=_TOOL)]
"""A tool as the runtime calls it; with `*` at its end every tool that begins so."""
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
"""A regular expression of the linear-time kind (no back-references, no look-around)."""
ClockTime = Annotated[str, StringConstraints(pattern=_CLOCK_TIME)]
Tools = Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=256)]
