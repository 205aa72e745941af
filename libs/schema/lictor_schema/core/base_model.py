"""The base of every canonical model and the bounded field types they are made of.

Strict means: no extra fields, no coercion ("1" is not 1, 1 is not true), no change afterwards.
Enumerations, tuples and times are given as such in Python and as strings and arrays in JSON.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer every JSON reader keeps exactly; integers beyond it are refused."""

MAX_ID_LENGTH = 512
MAX_TEXT_LENGTH = 64 * 1024
MAX_ITEMS = 1000


class Model(BaseModel):
    """Base of all canonical models: closed, frozen, strict."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        # Python callers write field names; `from_json` lets only the wire names through.
        validate_by_name=True,
        validate_by_alias=True,
        protected_namespaces=(),
    )

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read one instance from JSON text: duplicate keys and Python-side names are refused."""
        _refuse_duplicate_keys()(data)
        return cls.model_validate_json(data, by_name=False, by_alias=True)

    def to_json(self) -> bytes:
        """Compact JSON with wire names: the form of a message body on the bus."""
        return self.model_dump_json(by_alias=True).encode()


@cache
def _refuse_duplicate_keys() -> Callable[[bytes | str], None]:
    # Imported late, because canonical_json.py imports this module; and once, because even a repeated import costs time.
    from lictor_schema.core.canonical_json import refuse_duplicate_keys

    return refuse_duplicate_keys


class CamelModel(Model):
    """A model spelled camelCase at the wire and snake_case in Python."""

    model_config = ConfigDict(
        # Not the plain `alias`: type checkers would then demand camelCase keywords in Python.
        alias_generator=AliasGenerator(validation_alias=to_camel, serialization_alias=to_camel),
    )


_RFC3339 = (
    r"^(19[7-9][0-9]|2[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_UTC_MILLIS = (
    r"^(19[7-9][0-9]|2[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z$"
)
_UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_CONTENT_HASH = r"^sha256:[0-9a-f]{64}$"

NOTICE_DEADLINE = "^(immediate|" + _RFC3339[1:-1] + ")$"

PATTERN_MEANINGS = {
    NOTICE_DEADLINE: "must be `immediate` or an RFC 3339 time with an offset",
    _RFC3339: "must be an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z",
    _UTC_MILLIS: "must be a UTC time with milliseconds, such as 2026-01-31T12:00:00.000Z",
    _UUID: "must be a UUID in lower case",
    _CONTENT_HASH: "must be `sha256:` followed by 64 lower-case hex digits",
}
"""What each pattern asks for, in words: error texts use it instead of the pattern."""

# One day inside the years the pattern takes, so that no offset can lead out of them.
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_LATEST = datetime(2999, 12, 31, tzinfo=UTC)


class _Rfc3339:
    """Core schema of an instant: RFC 3339 text at the wire, an aware datetime in Python.

    Pydantic alone would also take Unix times, a space for the T, and any year. The years 1970 to
    2999 keep every conversion to UTC inside what datetime can hold; leap seconds are refused.
    """

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        aware = core_schema.datetime_schema(tz_constraint="aware", ge=_EARLIEST, lt=_LATEST)
        from_text = core_schema.chain_schema(
            [
                core_schema.str_schema(pattern=_RFC3339, max_length=40),
                core_schema.datetime_schema(
                    tz_constraint="aware", strict=False, ge=_EARLIEST, lt=_LATEST
                ),
            ]
        )
        return core_schema.json_or_python_schema(json_schema=from_text, python_schema=aware)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "format": "date-time", "pattern": _RFC3339}


Timestamp = Annotated[datetime, _Rfc3339()]
"""An instant with an offset; RFC 3339 at the wire, cut to microseconds when read."""


def _that_is(text: str) -> str:
    """The pattern lets the 30th of February pass, and whoever counted with it later would fail."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("no_instant", "there is no such instant") from None
    return text


UtcMillis = Annotated[str, StringConstraints(pattern=_UTC_MILLIS), AfterValidator(_that_is)]
"""An instant as text, exactly `YYYY-MM-DDTHH:MM:SS.mmmZ`."""


def utc_millis(moment: datetime) -> str:
    """An aware datetime as UtcMillis text; anything below a millisecond is cut off."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


Identifier = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID_LENGTH)]
"""An id of any spelling, 1 to 512 characters."""

UuidText = Annotated[str, StringConstraints(pattern=_UUID)]
"""A UUID in lower-case canonical text."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT_LENGTH)]
"""Text that says something: 1 to 65 536 characters."""

OptionalText = Annotated[str, StringConstraints(max_length=MAX_TEXT_LENGTH)]
"""Text that may be empty."""

Label = Annotated[str, StringConstraints(min_length=1, max_length=256)]
"""A short name: 1 to 256 characters."""

ContentHash = Annotated[str, StringConstraints(pattern=_CONTENT_HASH)]
"""A content hash: `sha256:` and 64 lower-case hex digits."""

Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
"""A whole number from 0 to 2**53 - 1."""

Positive = Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER)]
"""A whole number from 1 to 2**53 - 1."""


class _ScalarSchema:
    """Core schema of a scalar: one error at the field itself instead of one per member."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.union_schema(
            [
                core_schema.str_schema(max_length=MAX_TEXT_LENGTH),
                core_schema.bool_schema(),
                core_schema.int_schema(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER),
                core_schema.none_schema(),
            ],
            mode="left_to_right",
            custom_error_type="scalar_type",
            custom_error_message=(
                "Input should be a string of at most 65536 characters, a boolean, null,"
                " or a whole number within 2**53 - 1"
            ),
        )


DecimalText = Annotated[str, StringConstraints(pattern=r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,12})?$")]
"""A decimal number as text: exact, and spelled the same in every language."""

Scalar = Annotated[str | bool | int | None, _ScalarSchema()]
"""A JSON scalar that hashes the same everywhere: no fractions (write 1500 ms, not 1.5 s)."""

Details = Annotated[dict[Label, Scalar], Field(max_length=64)]
"""Free-form details: at most 64 named scalars."""


def is_left_out(value: object) -> bool:
    """Whether a field that later versions added is left out: what is stored then hashes as it did before them."""
    return value is None or value == 0 or value == ()
