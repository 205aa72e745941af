"""Times that stand as text are instants: whoever counts with one later can."""

import pytest
from pydantic import TypeAdapter, ValidationError

from lictor_schema.core.base_model import UtcMillis

INSTANTS: TypeAdapter[str] = TypeAdapter(UtcMillis)


@pytest.mark.parametrize("text", ["2024-02-29T00:00:00.000Z", "2026-12-31T23:59:59.999Z"])
def test_an_instant_stays_as_it_is_written(text: str) -> None:
    assert INSTANTS.validate_python(text) == text


@pytest.mark.parametrize(
    "text", ["2026-02-30T00:00:00.000Z", "2026-02-29T00:00:00.000Z", "2026-04-31T12:00:00.000Z"]
)
def test_a_day_that_no_month_has_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="there is no such instant"):
        INSTANTS.validate_python(text)
