"""What people said is read as it stands now, and no more often than it takes: polling takes the gate from nobody."""

import os
from pathlib import Path

import pytest
from deciding_people import ALICE, BOB, pay, trust_file

from lictor_approval.errors import ConfigRefused
from lictor_feedback.session.approvals import TrustedApprovers
from lictor_feedback.session.read_pace import AT_ONCE, EVERY_NS, MOST, ReadPace
from lictor_guard.session.asking import ReadApproval

WAITING = ReadApproval(standing="waiting")


class Clock:
    def __init__(self) -> None:
        self.now_ns = 10**12

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> ReadPace:
    return ReadPace(clock)


def reads(pace: ReadPace, times: int, found: ReadApproval = WAITING, request: str = "r") -> int:
    """How many of so many questions are answered by a read."""
    count = 0
    for _ in range(times):
        if pace.instead(request) is None:
            count += 1
            pace.found(request, found)
    return count


def test_the_file_is_parsed_again_only_when_its_bytes_changed(tmp_path: Path) -> None:
    trusted = TrustedApprovers(trust_file(tmp_path, ALICE, BOB))
    first = trusted.now()
    assert first is not None
    assert trusted.now() is first
    trust_file(tmp_path, ALICE, BOB)
    assert trusted.now() is first


def test_a_key_that_was_removed_counts_no_more_whatever_the_file_s_time_says(
    tmp_path: Path,
) -> None:
    path = trust_file(tmp_path, ALICE)
    trusted = TrustedApprovers(path)
    before = trusted.now()
    stood = path.stat()
    path.write_bytes(path.read_bytes().replace(b"alice@example", b"chris@example"))
    os.utime(path, ns=(stood.st_atime_ns, stood.st_mtime_ns))
    assert path.stat().st_size == stood.st_size
    after = trusted.now()
    assert before is not None
    assert after is not None
    assert (before.person(ALICE.name) is None, after.person(ALICE.name) is None) == (False, True)


@pytest.mark.parametrize("broken", [b"", b"{}", b"[" * 100])
def test_a_file_that_can_not_be_read_any_more_is_no_file_of_a_moment_ago(
    tmp_path: Path, broken: bytes
) -> None:
    path = trust_file(tmp_path, ALICE)
    trusted = TrustedApprovers(path)
    trusted.now()
    path.write_bytes(broken)
    with pytest.raises(ConfigRefused, match=r"approvers\.json"):
        trusted.now()
    path.unlink()
    with pytest.raises(ConfigRefused, match="no trust store"):
        trusted.now()


def test_whoever_asks_now_and_then_is_answered_by_what_stands_there_now(
    pace: ReadPace, clock: Clock
) -> None:
    for _ in range(50):
        assert reads(pace, 1) == 1
        clock.now_ns += EVERY_NS
    assert reads(pace, AT_ONCE) == AT_ONCE


def test_whoever_polls_is_answered_by_what_was_found_a_moment_ago(
    pace: ReadPace, clock: Clock
) -> None:
    assert reads(pace, 1000) == AT_ONCE
    assert pace.instead("r") is WAITING
    for _ in range(20):
        clock.now_ns += EVERY_NS
        assert reads(pace, 1000) == 1
    # Others have a share of their own.
    assert reads(pace, 1, request="another") == 1


def test_questions_at_one_moment_share_what_is_being_read(pace: ReadPace) -> None:
    answered = [pace.instead("r") for _ in range(100)]
    assert answered.count(None) == AT_ONCE
    rest = [each for each in answered if each is not None]
    assert {(each.standing, each.request) for each in rest} == {("waiting", None)}


@pytest.mark.parametrize("standing", ["approved", "edited", "rejected", "expired", "cancelled"])
def test_only_what_allows_nothing_and_ends_nothing_is_remembered(
    pace: ReadPace, standing: str
) -> None:
    settled = ReadApproval(standing=standing)  # pyright: ignore[reportArgumentType]
    assert reads(pace, 1000, settled) == 1000


def test_what_can_not_be_read_is_not_tried_without_end(pace: ReadPace) -> None:
    assert reads(pace, 1000, ReadApproval(standing=None, problem="away")) == AT_ONCE


def test_it_remembers_so_many_requests_and_no_more(pace: ReadPace) -> None:
    reads(pace, 1000, request="first")
    for number in range(MOST):
        reads(pace, 1, request=str(number))
    assert reads(pace, 1, request="first") == 1


async def test_an_agent_that_polls_is_let_through_soon_after_the_approval(payer, people):
    await pay(payer, "c1")
    request = await people.take_in(payer)
    polled = [(await pay(payer, "c1"))["approval"]["standing"] for _ in range(3 * AT_ONCE)]
    assert set(polled) == {"waiting"}
    await people.decide(request)
    for _ in range(1000):
        if (await pay(payer, "c1"))["decision"] == "allow":
            break
    else:
        pytest.fail("the approval was never read")
