"""One installation for all tests here, which follow each other on it."""

from collections.abc import Iterator

import pytest
from compose_installation import ROOT, Installation, installed
from stand_ins import stand_ins


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    with stand_ins(ROOT), installed(folder) as found:
        found.up()
        yield found
