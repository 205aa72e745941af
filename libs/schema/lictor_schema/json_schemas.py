"""JSON Schema 2020-12 files for every model that crosses a process boundary.

`python -m lictor_schema.json_schemas DIR` writes them; `--check DIR` says which are stale and exits 1.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema

from lictor_schema.approvals.approval import (
    ApprovalBinding,
    ApprovalDecision,
    ApprovalEntry,
    ApprovalOrder,
    ApprovalRequest,
)
from lictor_schema.approvals.approval_policy import ApprovalPolicy
from lictor_schema.approvals.run import AnyRunEntry
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.cerpa_claim import (
    ClaimMade,
    ClaimRequest,
    EventSeen,
    MeasurementReport,
)
from lictor_schema.contracts.cerpa_cycle import (
    CerpaApplyResult,
    CerpaClaim,
    CerpaCycle,
    CerpaEvent,
    CerpaPatch,
    CerpaReview,
)
from lictor_schema.contracts.coherence_report import (
    CoherenceAnswer,
    CoherenceQuestion,
    CoherenceReport,
)
from lictor_schema.contracts.decision_log import AnyDecisionEntry
from lictor_schema.contracts.decision_questions import (
    ActionGateAnswer,
    ActionGateRequest,
    ApproveRequest,
    ContractAnswer,
    DecisionBeginAnswer,
    DecisionReport,
    DecisionShowAnswer,
    SwitchOrder,
    TaskOrder,
    VerifyAnswer,
    VerifyRequest,
)
from lictor_schema.contracts.drift import DriftEvent, TriageEntry, TriageMove
from lictor_schema.contracts.envelope import DTE
from lictor_schema.contracts.patch import (
    PatchApproval,
    PatchEntry,
    PatchProposal,
    PatchRequest,
    PatchSettled,
    PatchStep,
)
from lictor_schema.contracts.verification import Verification
from lictor_schema.core.base_model import Model
from lictor_schema.decisions.adapter_capabilities import AdapterCapabilities
from lictor_schema.decisions.decision import Decision, DecisionRecord
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.mark import DecisionMark, MarkOrder
from lictor_schema.decisions.receipt import ReceiptAnswer, ReceiptReport
from lictor_schema.events.event import Event
from lictor_schema.events.evidence import EvidenceItem
from lictor_schema.gates.gate import DispatchGateRequest, GateAnswer, ReportGateRequest
from lictor_schema.gates.gate_record import ActionGateRecord, GateRecord, SessionGateRecord
from lictor_schema.gates.history import (
    HistoryAnswer,
    HistoryRequest,
    PublishedAnswer,
    PublishedRequest,
)
from lictor_schema.gates.task_standing import StandingRequest, TaskStanding
from lictor_schema.packs.overlay import PolicyOverlay, SuppressionWindow
from lictor_schema.packs.pack import PolicyPack, RuleSet, TemplateSet
from lictor_schema.packs.release import (
    ConfigSwitch,
    PackBundle,
    PackRelease,
    ReleaseRefusal,
    ReleaseTaken,
)
from lictor_schema.proofs.coverage import CoverageReport
from lictor_schema.proofs.program import ProgramSubmission
from lictor_schema.proofs.proof import ProofResult
from lictor_schema.seals.correction import CorrectionAnswer, CorrectionOrder
from lictor_schema.seals.episode import DecisionEpisode
from lictor_schema.seals.episode_part import EpisodePart
from lictor_schema.seals.erasure import Erasure, ErasureAnswer, ErasureEntry, ErasureOrder
from lictor_schema.seals.seal import SealedEpisode
from lictor_schema.services.dead_letter import DeadLetter
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.services.health import ServiceHealth
from lictor_schema.sessions.agent_definition import AgentDefinition, StoredDefinition
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_log import AnySessionEntry
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    FeedbackAnswer,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SessionAnswer,
    SessionBeginAnswer,
    SessionBeginRequest,
    SnapshotRequest,
    StateAnswer,
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
    ToolResultAnswer,
    ToolResultReport,
    UsageReport,
)

SUFFIX = ".schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VERSION = "v1"


def event_models() -> dict[str, type[Model]]:
    """The class of each event type, in canonical order."""
    union, _ = get_args(Event)
    return {get_args(m.model_fields["event_type"].annotation)[0]: m for m in get_args(union)}


def exported_models() -> dict[str, type[Model]]:
    """Every exported model by schema name; the union of all events comes on top as `event`."""
    return {
        **{f"event-{kind.replace('_', '-')}": model for kind, model in event_models().items()},
        "evidence-item": EvidenceItem,
        "decision": Decision,
        "decision-record": DecisionRecord,
        "dte": DTE,
        "safe-action-contract": SafeActionContract,
        "verification": Verification,
        "decision-episode": DecisionEpisode,
        "sealed-episode": SealedEpisode,
        "drift-event": DriftEvent,
        "cerpa-claim": CerpaClaim,
        "cerpa-event": CerpaEvent,
        "cerpa-review": CerpaReview,
        "cerpa-patch": CerpaPatch,
        "cerpa-apply-result": CerpaApplyResult,
        "cerpa-cycle": CerpaCycle,
        "patch-request": PatchRequest,
        "patch-proposal": PatchProposal,
        "patch-approval": PatchApproval,
        "triage-entry": TriageEntry,
        "triage-move": TriageMove,
        "patch-entry": PatchEntry,
        "patch-step": PatchStep,
        "patch-settled": PatchSettled,
        "desk-answer": DeskAnswer,
        "correction-order": CorrectionOrder,
        "correction-answer": CorrectionAnswer,
        "erasure-order": ErasureOrder,
        "erasure-answer": ErasureAnswer,
        "erasure-entry": ErasureEntry,
        "erasure": Erasure,
        "episode-part": EpisodePart,
        "coherence-question": CoherenceQuestion,
        "coherence-answer": CoherenceAnswer,
        "claim-made": ClaimMade,
        "claim-request": ClaimRequest,
        "cerpa-event-seen": EventSeen,
        "measurement-report": MeasurementReport,
        "coherence-report": CoherenceReport,
        "coverage-report": CoverageReport,
        "proof-submission": ProgramSubmission,
        "proof-result": ProofResult,
        "approval-binding": ApprovalBinding,
        "approval-request": ApprovalRequest,
        "approval-decision": ApprovalDecision,
        "approval-entry": ApprovalEntry,
        "approval-order": ApprovalOrder,
        "approval-policy": ApprovalPolicy,
        "gate-tool-request": ToolGateRequest,
        "gate-report-request": ReportGateRequest,
        "gate-stop-request": StopGateRequest,
        "gate-action-request": ActionGateRequest,
        "gate-dispatch-request": DispatchGateRequest,
        "gate-answer": GateAnswer,
        "gate-tool-answer": ToolGateAnswer,
        "gate-stop-answer": StopGateAnswer,
        "gate-action-answer": ActionGateAnswer,
        "contract-answer": ContractAnswer,
        "contract-begin-answer": DecisionBeginAnswer,
        "contract-report": DecisionReport,
        "contract-verify-request": VerifyRequest,
        "contract-verify-answer": VerifyAnswer,
        "contract-show-answer": DecisionShowAnswer,
        "contract-approve-request": ApproveRequest,
        "contract-task-order": TaskOrder,
        "contract-switch-order": SwitchOrder,
        "session-answer": SessionAnswer,
        "session-begin-request": SessionBeginRequest,
        "session-begin-answer": SessionBeginAnswer,
        "session-result-request": ToolResultReport,
        "session-result-answer": ToolResultAnswer,
        "session-feedback-request": FeedbackRequest,
        "session-feedback-answer": FeedbackAnswer,
        "session-usage-request": UsageReport,
        "session-cancel-request": CancelApprovalRequest,
        "session-snapshot-request": SnapshotRequest,
        "session-restore-request": RestoreRequest,
        "session-reset-request": ResetRequest,
        "session-state-answer": StateAnswer,
        "feedback": StampedFeedback,
        "guard-decision": GuardDecision,
        "agent-definition": AgentDefinition,
        "stored-definition": StoredDefinition,
        "standing-request": StandingRequest,
        "task-standing": TaskStanding,
        "history-request": HistoryRequest,
        "history-answer": HistoryAnswer,
        "history-published-request": PublishedRequest,
        "history-published-answer": PublishedAnswer,
        "gate-record": GateRecord,
        "session-gate-record": SessionGateRecord,
        "action-gate-record": ActionGateRecord,
        "receipt-report": ReceiptReport,
        "receipt-answer": ReceiptAnswer,
        "decision-mark": DecisionMark,
        "mark-order": MarkOrder,
        "adapter-capabilities": AdapterCapabilities,
        "service-health": ServiceHealth,
        "dead-letter": DeadLetter,
        "policy-pack": PolicyPack,
        "policy-rule-set": RuleSet,
        "policy-template-set": TemplateSet,
        "policy-overlay": PolicyOverlay,
        "policy-suppression-window": SuppressionWindow,
        "pack-bundle": PackBundle,
        "pack-release": PackRelease,
        "pack-release-refusal": ReleaseRefusal,
        "pack-release-taken": ReleaseTaken,
        "config-switch": ConfigSwitch,
    }


class _Generator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        # A title made from the field's name tells a reader nothing.
        del schema
        return False


def json_schemas() -> dict[str, dict[str, Any]]:
    """File name to JSON Schema, sorted by name."""
    adapters: dict[str, TypeAdapter[Any]] = {
        "event": TypeAdapter(Event),
        "session-entry": TypeAdapter(AnySessionEntry),
        "decision-entry": TypeAdapter(AnyDecisionEntry),
        "run-entry": TypeAdapter(AnyRunEntry),
    }
    adapters |= {name: TypeAdapter(model) for name, model in exported_models().items()}
    return {name + SUFFIX: _schema(name, adapter) for name, adapter in sorted(adapters.items())}


def _schema(name: str, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    body = adapter.json_schema(by_alias=True, schema_generator=_Generator)
    head = {"$schema": _DIALECT, "$id": f"urn:lictor:schema:{name}:{_VERSION}"}
    return {**head, "title": body.pop("title", name.replace("-", " ").capitalize()), **body}


def _render(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def write(directory: Path) -> tuple[str, ...]:
    """Write every schema file, remove the ones no longer exported; returns the names written."""
    directory.mkdir(parents=True, exist_ok=True)
    schemas = json_schemas()
    for name, schema in schemas.items():
        (directory / name).write_text(_render(schema), encoding="utf-8")
    for path in directory.glob(f"*{SUFFIX}"):
        if path.name not in schemas:
            path.unlink()
    return tuple(schemas)


def differences(directory: Path) -> tuple[str, ...]:
    """What is wrong with the files in a directory, one line each; empty when they are current."""
    schemas = json_schemas()
    found = {path.name for path in directory.glob(f"*{SUFFIX}")}
    lines = [f"extra: {name}" for name in sorted(found - schemas.keys())]
    for name, schema in schemas.items():
        if name not in found:
            lines.append(f"missing: {name}")
        elif (directory / name).read_text(encoding="utf-8") != _render(schema):
            lines.append(f"stale: {name}")
    return tuple(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="lictor_schema.json_schemas", description="Write JSON Schemas"
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the files are")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when stale")
    options = parser.parse_args(arguments)
    directory: Path = options.directory
    if not options.check:
        names = write(directory)
        sys.stdout.write(f"{len(names)} schemas written\n")
        return 0
    problems = differences(directory)
    if problems:
        sys.stderr.write("\n".join(problems) + "\n")
        sys.stderr.write("Schemas are not current: write them with lictor_schema.json_schemas.\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
