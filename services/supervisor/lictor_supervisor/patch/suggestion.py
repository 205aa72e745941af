"""Patches that the supervisor proposes by itself: what the packs of this installation, as they are, lack."""

import logging
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from lictor_contracts.patch.remedies import (
    EnvelopeInPack,
    envelopes_in,
    pack_documents,
    pack_remedy,
)
from lictor_policy.errors import PackError
from lictor_policy.packs.files import PACK_FILE, DirectoryFiles
from lictor_schema.contracts.drift import DriftEvent
from lictor_schema.contracts.patch import PatchProposal, PatchRequest
from lictor_schema.core.base_model import utc_millis
from lictor_supervisor.drift.recurrence import BY

log = logging.getLogger("lictor.supervisor")


def suggested_patch(request: PatchRequest, event: DriftEvent) -> PatchProposal | None:
    """The change of the packs of this installation, as they are now, that answers a request."""
    files = DirectoryFiles(Path(os.environ.get("LICTOR_PACKS", "policy-packs")))
    found: list[tuple[str, str]] = []
    for pack_id in files.pack_ids():
        name = f"{pack_id}/{PACK_FILE}"
        try:
            found.append((name, files.read(name).decode("utf-8")))
        except (PackError, UnicodeDecodeError) as error:
            log.warning("no patch is suggested for %s: %s", name, error)
    return pack_remedy(
        request,
        _envelopes_in(tuple(found)),
        proposed_by=BY,
        proposed_at=utc_millis(event.detected_at),
    )


@lru_cache(maxsize=1)
def _envelopes_in(files: tuple[tuple[str, str], ...]) -> Mapping[str, EnvelopeInPack]:
    """Packs rarely change, and reading one takes longer than everything else about a request."""
    return envelopes_in(pack_documents(files))
