"""Whether a document is what a patch made: every operation is undone, and what is left must be what it was made for.

An application that was cut short after the document was written, but before it was reported, can be reported later.
"""

from typing import Any, cast

from lictor_contracts.patch.document import PolicyDocument
from lictor_contracts.patch.operations import PatchConflict, changed, pointer, pointer_parts
from lictor_schema.contracts.patch import PatchOperation, PatchProposal
from lictor_schema.core.canonical_json import CanonicalError, content_hash

_VERSION_AT = {"dte": "/version", "policy_pack": "/metadata/version"}


def is_result_of(document: PolicyDocument, proposal: PatchProposal) -> bool:
    """Whether the document is exactly what the proposal makes of the one it was made for."""
    target = proposal.target
    if document.kind != target.kind:
        return False
    data = document.data
    version = PatchOperation(
        op="set", path=_VERSION_AT[target.kind], old=target.version, new=proposal.new_version
    )
    try:
        for each in (version, *reversed(proposal.operations)):
            data = changed(data, [_inverse(each, data)])
        return content_hash(data) == target.content_hash
    except (PatchConflict, CanonicalError):
        return False


def _inverse(operation: PatchOperation, data: Any) -> PatchOperation:
    if operation.op == "set":
        return operation.model_copy(update={"old": operation.new, "new": operation.old})
    if operation.op == "remove":
        return PatchOperation(op="insert", path=operation.path, new=operation.old)
    return PatchOperation(op="remove", path=_placed(operation, data), old=operation.new)


def _placed(operation: PatchOperation, data: Any) -> str:
    """Where an insertion at the end of an array stands once it is made."""
    *parents, last = pointer_parts(operation.path)
    node = data
    for part in parents:
        node = _below(node, part)
    if last != "-" or not isinstance(node, list) or not node:
        return operation.path
    return pointer(*parents, len(cast("list[Any]", node)) - 1)


def _below(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return cast("dict[str, Any]", node).get(part)
    if isinstance(node, list) and part.isdigit():
        items = cast("list[Any]", node)
        return items[int(part)] if int(part) < len(items) else None
    return None
