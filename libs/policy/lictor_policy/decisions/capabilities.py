"""What the runtimes can do about a decision, and the receipt a fresh decision honestly starts with."""

from collections.abc import Mapping

from lictor_policy.packs.files import RUNTIMES, PackFiles
from lictor_policy.packs.yaml_models import ModelDocument, read_document
from lictor_schema.decisions.adapter_capabilities import (
    AdapterCapabilities,
    Capability,
    capability_needed,
)
from lictor_schema.decisions.decision import RequiredAction
from lictor_schema.decisions.receipt import (
    BlockedAction,
    DeliveryReceipt,
    DeliveryState,
    ReceiptAction,
    ReceiptStatus,
)


def read_capabilities(files: PackFiles) -> list[ModelDocument[AdapterCapabilities]]:
    """Every descriptor of the runtimes folder; the file's name is the runtime's."""
    found: list[ModelDocument[AdapterCapabilities]] = []
    for name in files.listed(RUNTIMES):
        document = read_document(files.read(name), files.said(name), AdapterCapabilities)
        runtime = document.model.runtime.name
        if name != f"{RUNTIMES}/{runtime}.yaml":
            raise document.error(("runtime", "name"), f"is {runtime}; name the file {runtime}.yaml")
        found.append(document)
    return found


Actions = tuple[RequiredAction, ...]


def fresh_receipts(
    actions: Actions, capabilities: AdapterCapabilities | None = None
) -> tuple[str, str]:
    """The receipts of a decision with these actions, as JSON: without and with a notice that is due."""
    unowed, owed = (_fresh(actions, capabilities, owed=owed) for owed in (False, True))
    return unowed.to_json().decode(), owed.to_json().decode()


def receipts_by_runtime(
    actions: Actions, capabilities: Mapping[str, AdapterCapabilities]
) -> dict[str, tuple[str, str]]:
    """The same for each runtime that has a descriptor."""
    return {name: fresh_receipts(actions, each) for name, each in capabilities.items()}


def _fresh(
    actions: Actions, capabilities: AdapterCapabilities | None, *, owed: bool
) -> DeliveryReceipt:
    intent: list[ReceiptAction] = []
    blocked: list[BlockedAction] = []
    for act in actions:
        problem = None if capabilities is None else _obstacle(act, capabilities)
        if problem is None:
            intent.append(
                ReceiptAction(action=act.action, mandatory=act.mandatory, target=act.target)
            )
        else:
            blocked.append(
                BlockedAction(action=act.action, mandatory=act.mandatory, reason=problem)
            )
    if not blocked:
        return DeliveryReceipt.prepared(tuple(intent), operator_notice_required=owed)
    return DeliveryReceipt(
        status=ReceiptStatus.DEGRADED,
        delivery_state=DeliveryState.PARTIAL if intent else DeliveryState.BLOCKED,
        enforcement_intent=tuple(intent),
        blocked_actions=tuple(blocked),
        operator_notice_required=owed,
    )


def _obstacle(act: RequiredAction, capabilities: AdapterCapabilities) -> str | None:
    """Why the runtime can't perform an action; None when it can."""
    needed = capability_needed(act.action)
    if needed is None:
        return None
    capability: Capability = getattr(capabilities.capabilities.enforcement, needed)
    if capability.supported:
        return None
    return (
        f"runtime {capabilities.runtime.name} has no enforcement.{needed}"
        f" (capabilities {capabilities.metadata.id} {capabilities.metadata.version})"
    )
