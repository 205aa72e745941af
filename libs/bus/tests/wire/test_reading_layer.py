"""Nothing reads a stream but through `lictor_bus.wire.read`: any other way could take a replica's answer for the
truth.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
# Each with the modules that may: the reading layer itself, and permissions.
BUS = "libs/bus/lictor_bus"
ALLOWED = {
    r"\$JS\.API\.DIRECT\.GET": {f"{BUS}/wire/direct_get.py", f"{BUS}/names/roles.py"},
    r"\$JS\.API\.STREAM\.MSG\.GET": {f"{BUS}/wire/stream_leader.py", f"{BUS}/names/roles.py"},
    r"lictor_bus\.wire\.direct_get": {f"{BUS}/wire/read.py"},
    # nats-py's own ways.
    r"\bget_(last_)?msg\(": set(),
    r"\bkey_value\(": set(),
    r"\bordered_consumer\b": set(),
    # How far a stream goes is the leader's word; elsewhere only its settings are looked at.
    # Before an upgrade, nothing runs beside what makes and migrates streams.
    r"\.state\.(last_seq|messages|first_seq)": {f"{BUS}/names/streams.py"},
    r"last_seq\b": {
        f"{BUS}/wire/stream_leader.py",
        f"{BUS}/names/streams.py",
        f"{BUS}/migration/stream_migration.py",
    },
}


def test_only_the_reading_layer_asks_replicas():
    sources = [
        path
        for pattern in ("libs/*/lictor*/**/*.py", "services/*/lictor*/**/*.py")
        for path in ROOT.glob(pattern)
    ]
    assert len(sources) > 300
    found = {
        (str(path.relative_to(ROOT)), pattern)
        for path in sources
        for pattern in ALLOWED
        if re.search(pattern, path.read_text("utf-8"))
    }
    assert found == {(path, pattern) for pattern, paths in ALLOWED.items() for path in paths}, (
        "read through lictor_bus.wire.read instead"
    )
