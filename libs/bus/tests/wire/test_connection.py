"""What a connection says while its server is away: the first time at once, then seldom."""

import logging

import pytest

from lictor_bus.wire.connection import SeldomLog


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def warnings(clock: Clock, caplog: pytest.LogCaptureFixture) -> SeldomLog:
    caplog.set_level(logging.WARNING, "lictor.bus")
    return SeldomLog(every_s=30, now=clock)


def test_a_repeated_warning_is_told_once_and_then_seldom_with_a_count(warnings, clock, caplog):
    for _ in range(121):
        warnings.warn("connection refused")
        clock.now += 0.25
    assert caplog.messages == [
        "nats: connection refused",
        "nats: connection refused (119 times more)",
    ]


def test_another_warning_is_told_at_once(warnings, caplog):
    warnings.warn("connection refused")
    warnings.warn("no route to host")
    assert caplog.messages == ["nats: connection refused", "nats: no route to host"]


def test_the_same_warning_after_it_was_over_is_told_at_once(warnings, caplog):
    warnings.warn("connection refused")
    warnings.over()
    warnings.warn("connection refused")
    assert caplog.messages == ["nats: connection refused"] * 2
