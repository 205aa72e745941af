"""Values of a run as plain Python, for those who have neither the program nor its layer; pure.

`lictor_prove.written_values` writes them. A row becomes the dict of its columns, a row class its name.
"""

import json
from typing import Any

from pydantic import JsonValue

from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.errors import SchemaError


class UnreadableValue(SchemaError):
    """A value that is written in no known way."""


def plain(written: JsonValue) -> Any:
    """The value that is written so; UnreadableValue when it is none."""
    try:
        return _plain(written)
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableValue(f"a value of the run can't be read: {error}") from None


def shown(written: JsonValue) -> str:
    """The value as Python would write it; as it is stored where it can't be read, or where that would be too long."""
    try:
        # Python writes no int of more than some thousand digits, and a value may nest deeper than `repr` goes.
        return repr(plain(written))
    except (UnreadableValue, ValueError, RecursionError):
        # As `repr` does, it leaves nothing as it is that could turn the text around or steer a terminal.
        text = canonical_json(written).decode()
        return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _plain(written: JsonValue) -> Any:
    if isinstance(written, list):
        return [_plain(each) for each in written]
    if not isinstance(written, dict):
        return written
    match written:
        case {"int": str(text)}:
            return int(text, 0)
        case {"float": str(text)}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(map(_plain, items))
        case {"set": list(items)}:
            return set(map(_plain, items))
        case {"map": list(items)}:
            return dict(_plain(item) for item in items)
        case {"row": str(), "columns": dict(columns)}:
            return {name: _plain(each) for name, each in columns.items()}
        case {"rows": str(name)}:
            return name
        case _:
            raise ValueError(f"it is written in no known way: {sorted(written)}")
