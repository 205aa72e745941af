"""What evidence of a quality can back, in the words of the policy-pack document."""

import pytest

from lictor_schema.events.evidence import Quality


@pytest.mark.parametrize(
    ("quality", "claims"),
    [
        ("none", ()),
        ("weak", ("progress",)),
        ("moderate", ("progress", "completion")),
        ("strong", ("progress", "completion", "verified_completion")),
        ("decisive", ("progress", "completion", "verified_completion")),
    ],
)
def test_a_completion_needs_moderate_and_a_verified_one_strong_support(
    quality: str, claims: tuple[str, ...]
) -> None:
    assert Quality(quality).can_support == claims
