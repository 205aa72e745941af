"""The envelopes of this installation: by decision type, with the pack that each comes from."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lictor_bus.errors import BusError
from lictor_policy.errors import PackError
from lictor_policy.files import DirectoryFiles
from lictor_policy.packs import PackReader, envelopes_of
from lictor_schema import DTE, PackStamp


class Governed(NamedTuple):
    """An envelope and its pack."""

    dte: DTE
    pack: PackStamp


def load_envelopes(environment: Mapping[str, str] = os.environ) -> dict[str, Governed]:
    """The envelopes of the packs in ``LICTOR_PACKS``; stopped by a pack that does not load, or two for one type.

    Without packs there are none, and no decision can begin.
    """
    named = environment.get("LICTOR_PACKS")
    directory = Path(named or "policy-packs")
    if not directory.is_dir():
        if named is None:
            return {}
        raise BusError(f"LICTOR_PACKS names {directory}, which is no folder; correct it.")
    try:
        files = DirectoryFiles(directory)
        reader = PackReader(files)
        packs = [reader.pack(pack_id) for pack_id in files.pack_ids()]
        envelopes = envelopes_of(packs)
    except PackError as error:
        raise BusError(str(error)) from None
    stamps = {
        envelope.decision_type: PackStamp(
            pack_id=each.pack.metadata.id,
            pack_version=each.pack.metadata.version,
            pack_hash=each.pack_hash,
        )
        for each in packs
        for envelope in each.pack.spec.envelopes
    }
    return {name: Governed(dte, stamps[name]) for name, dte in envelopes.items()}
