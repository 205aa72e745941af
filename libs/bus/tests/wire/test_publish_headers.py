"""A header's value can't add headers of its own, in a batch or alone."""

import pytest

from lictor_bus.wire.publish import Outgoing, publish_batch, publish_one


@pytest.mark.parametrize("value", ["a\nNats-Rollup: all", "a\r\nNats-Rollup: all", "a\r"])
async def test_a_header_with_a_line_break_is_not_sent(bench, value: str) -> None:
    message = Outgoing("lictor.ev.rt.t", b"{}", "id-1", {"Some-Header": value})
    with pytest.raises(ValueError, match="holds a line break"):
        await publish_one(bench.client, "EVENTS", message)
    with pytest.raises(ValueError, match="holds a line break"):
        await publish_batch(bench.client, "EVENTS", [message, message])
    with pytest.raises(ValueError, match="holds a line break"):
        await publish_one(bench.client, "EVENTS", Outgoing("lictor.ev.rt.t", b"{}", value))
