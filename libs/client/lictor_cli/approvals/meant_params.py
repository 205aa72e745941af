"""With which parameters a call is approved, once somebody has changed them: whoever approves says which are meant."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lictor.errors import LictorError
from lictor_approval.request_life import RequestLife, edits
from lictor_schema.approvals.call_approval import params_hash
from lictor_schema.core.base_model import utc_millis
from lictor_schema.sessions.session_questions import Params


def edits_now(life: RequestLife) -> Mapping[str, tuple[str, Params]]:
    """The parameters that people want in place of those asked about, by their hash, with who wanted them last."""
    standing = edits(life.request, life.decisions, utc_millis(datetime.now(UTC)))
    said = (each.decision for each in standing)
    return {
        params_hash(each.params): (each.by, each.params) for each in said if each.params is not None
    }


def meant_arguments(parser: ArgumentParser) -> None:
    """Which parameters an approval means."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--as-edited",
        action="store_true",
        help="a call: with the parameters as another approver changed them; --hash is then their hash",
    )
    which.add_argument(
        "--as-asked",
        action="store_true",
        help="a call: with the agent's parameters, though another approver changed them",
    )


def meant(life: RequestLife, options: Namespace) -> dict[str, Any]:
    """What the approval says of the parameters; LictorError where it would not be clear."""
    found = edits_now(life)
    if options.as_asked:
        return {"params": life.call.params}
    if not options.as_edited:
        if found:
            by = ", ".join(who for who, _ in found.values())
            raise LictorError(
                f"{by} wants it with other parameters, which `lictor approvals show` shows: approve it with"
                " --as-edited or --as-asked."
            )
        return {}
    if options.hash is not None:
        found = {name: each for name, each in found.items() if name == options.hash}
    if len(found) == 1:
        ((_, params),) = found.values()
        return {"params": params}
    if found:
        raise LictorError(
            "there are several changes of the parameters; name the hash of one with --hash."
        )
    which = "" if options.hash is None else f" to those of hash {options.hash}"
    raise LictorError(f"nobody has changed the parameters{which}; look at it again.")
