"""JSON that people hand to a command: read strictly, and whatever is wrong with it is theirs to correct."""

import sys
from pathlib import Path
from typing import Any, cast

from lictor.errors import LictorError
from lictor_schema.core.canonical_json import CanonicalError, parse_json

MAX_BYTES = 16 * 1024 * 1024


def json_object(file: Path, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file, or on stdin for `-`; LictorError says what is there instead."""
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with file.open("rb") as opened:
                data = opened.read(max_bytes + 1)
    except OSError as error:
        raise LictorError(f"{file} can't be read: {error.strerror or error}.") from None
    if len(data) > max_bytes:
        raise LictorError(f"{file} has more than {max_bytes} bytes.")
    return object_in(data, str(file))


def object_in(data: bytes | str, where: str) -> dict[str, Any]:
    """The object that a JSON text spells; LictorError names where the text comes from."""
    try:
        found: object = parse_json(data)
    except CanonicalError as error:
        raise LictorError(f"{where}: {error}.") from None
    if not isinstance(found, dict):
        raise LictorError(f"{where} holds no JSON object.")
    return cast("dict[str, Any]", found)
