"""How `lictor claim cycles` tells what settled a cycle."""

from datetime import UTC, datetime

import pytest

from lictor_cli.claim.cycles import why_so
from lictor_contracts.cerpa.claim_cycles import claimed, happened
from lictor_schema.contracts.cerpa_cycle import CerpaClaim, CerpaDomain, CerpaEvent

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def claim(day: int) -> CerpaClaim:
    return CerpaClaim(
        id="once",
        domain=CerpaDomain.ACTIONOPS,
        timestamp=datetime(2026, 1, day, tzinfo=UTC),
        source="ops",
        text="nobody is refunded twice",
        subject="refund",
    )


VIOLATION = CerpaEvent(
    id="e",
    domain=CerpaDomain.ACTIONOPS,
    timestamp=NOON,
    source="meter",
    text="seen",
    subject="refund",
    violation="refunded twice",
)


@pytest.mark.parametrize(
    ("by", "red_needs_another", "told"),
    [("bob", True, "settled by second person, bob: "), ("ada", False, "settled by claim, ada: ")],
    ids=["by the rule", "before there was that rule"],
)
def test_a_cycle_that_a_new_form_of_its_claim_settled_is_never_told_as_patched(
    by: str, red_needs_another: bool, told: str
) -> None:
    subject = claimed(None, claim(1), "ada", NOON).subject
    red = happened(subject, VIOLATION, NOON).subject
    (cycle,) = claimed(red, claim(2), by, NOON, red_needs_another=red_needs_another).cycles
    assert why_so(cycle).startswith(told)
