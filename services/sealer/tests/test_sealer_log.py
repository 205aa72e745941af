"""The log's head: only our own last checkpoint, where it was made to stand, is one."""

import pytest

from lictor_seal import Frontier, SigningKey
from lictor_sealer.log import Head, LogError, append, read_head

KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
OTHER = SigningKey.from_seed("lictor.test/log", bytes([1]) * 32)


def test_a_checkpoint_is_the_head_where_it_was_made_to_stand():
    appended = append(Head(Frontier(), 7), [], KEY)
    assert read_head(appended.checkpoint, 8, KEY) == Head(Frontier(), 8)


def test_a_checkpoint_published_again_elsewhere_is_no_head():
    appended = append(Head(Frontier(), 7), [], KEY)
    with pytest.raises(LogError, match="somebody put it there"):
        read_head(appended.checkpoint, 9, KEY)


def test_a_checkpoint_of_another_key_is_no_head():
    appended = append(Head(Frontier(), 0), [], OTHER)
    with pytest.raises(LogError, match="does not verify with this key"):
        read_head(appended.checkpoint, 1, KEY)


@pytest.mark.parametrize("garbage", [b"", b"{}", b"null", b'{"checkpoint": 1, "frontier": {}}'])
def test_garbage_is_no_head(garbage: bytes):
    with pytest.raises(LogError):
        read_head(garbage, 1, KEY)
