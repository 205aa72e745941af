"""The models that users of the SDK meet: what its methods take and return, and what those are made of.

    from lictor.models import DecisionRecord, Disposition

Names are loaded on first use, each from the module of its noun.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lictor.fast.verdicts import (
        Advice,
        DenialReason,
        ReportVerdict,
        SessionStanding,
        StateChange,
        StopVerdict,
        ToolApproval,
        ToolVerdict,
    )
    from lictor_schema.approvals.approval import (
        ApprovalBinding,
        ApprovalEntry,
        ApprovalExecution,
        ApprovalRequest,
        ApprovalState,
    )
    from lictor_schema.approvals.call_approval import CallApprovalRequest, CallBinding
    from lictor_schema.approvals.run import RunOutcome, RunReason
    from lictor_schema.contracts.action import (
        Authorization,
        ExecutionPlan,
        Precondition,
        RetryPolicy,
        RollbackPlan,
        SafeActionContract,
        TargetRef,
    )
    from lictor_schema.contracts.decision_log import (
        ContractReason,
        ContractViolation,
        RetriesSeen,
        RungTaken,
    )
    from lictor_schema.contracts.decision_questions import (
        ActionGateAnswer,
        ActionGateRequest,
        ActionStanding,
        ContractAnswer,
        DecisionBeginAnswer,
        DecisionShowAnswer,
        DecisionStanding,
        VerifyAnswer,
    )
    from lictor_schema.contracts.envelope import BlastRadius, DegradeStep
    from lictor_schema.contracts.verification import Verification, VerificationResult
    from lictor_schema.decisions.decision import (
        AttachedEvidence,
        Decision,
        DecisionRecord,
        Disposition,
        EpisodeStamp,
        EvidenceSummary,
        MatchedRule,
        OperatorNotice,
        PackStamp,
        ProfileStamp,
        RequiredAction,
        Severity,
        SuggestedStatus,
        SuppressedRule,
    )
    from lictor_schema.decisions.guard_decision import GuardDecision
    from lictor_schema.decisions.mark import DecisionMark, MarkKind
    from lictor_schema.decisions.receipt import (
        ActionName,
        BlockedAction,
        DeliveryReceipt,
        DeliveryState,
        ReceiptAction,
        ReceiptAnswer,
        ReceiptReport,
        ReceiptStatus,
    )
    from lictor_schema.errors import FieldProblem
    from lictor_schema.events.claim import (
        CheckpointStructure,
        Claim,
        ClaimType,
        PromisedFollowup,
        TaskStatus,
    )
    from lictor_schema.events.event import (
        Event,
        ForcedOperatorUpdate,
        OperatorReviewRequested,
        ReportAnchorMissing,
        SilenceTimeout,
        SubagentCompleted,
        SubagentResultForwarded,
        SubagentResultNotForwarded,
        SubagentSpawned,
        SubagentSpawnFailed,
        TaskCheckpointDue,
        TaskCheckpointSent,
        TaskClaimedComplete,
        TaskEvidenceAttached,
        TaskStarted,
        TaskStatusChanged,
        WatchdogFired,
    )
    from lictor_schema.events.event_types import EventType
    from lictor_schema.events.evidence import EvidenceClass, EvidenceItem, Quality, Supports
    from lictor_schema.events.operator_context import (
        EvidenceRef,
        ExternalizedPath,
        OperatorContext,
        ReportAnchor,
    )
    from lictor_schema.events.payloads import (
        ForcedOperatorUpdatePayload,
        OperatorReviewRequestedPayload,
        ReportAnchorMissingPayload,
        SilenceTimeoutPayload,
        SubagentCompletedPayload,
        SubagentResultForwardedPayload,
        SubagentResultNotForwardedPayload,
        SubagentSpawnedPayload,
        SubagentSpawnFailedPayload,
        TaskCheckpointDuePayload,
        TaskCheckpointSentPayload,
        TaskClaimedCompletePayload,
        TaskEvidenceAttachedPayload,
        TaskStartedPayload,
        TaskStatusChangedPayload,
        WatchdogFiredPayload,
    )
    from lictor_schema.gates.gate import (
        DispatchGateRequest,
        GateAnswer,
        GateRequest,
        ReportGateRequest,
    )
    from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus, DomainCoverage
    from lictor_schema.proofs.inputs import InputParameter
    from lictor_schema.proofs.proof import (
        GuaranteePossibility,
        GuaranteeResult,
        GuaranteeStanding,
        ProofAnalysis,
        ProofReason,
        ProofRehearsal,
        ProofResult,
        ProofTimings,
        ProofVerdict,
    )
    from lictor_schema.proofs.proof_strength import ProofStrength
    from lictor_schema.seals.episode import EpisodeState
    from lictor_schema.services.desk_answer import DeskAnswer
    from lictor_schema.sessions.session_questions import (
        CallApproval,
        CallAsk,
        Denial,
        Resource,
        ToolGateAnswer,
        ToolGateRequest,
    )

__all__ = [
    "ActionGateAnswer",
    "ActionGateRequest",
    "ActionName",
    "ActionStanding",
    "Advice",
    "ApprovalBinding",
    "ApprovalEntry",
    "ApprovalExecution",
    "ApprovalRequest",
    "ApprovalState",
    "AttachedEvidence",
    "Authorization",
    "BlastRadius",
    "BlockedAction",
    "CallApproval",
    "CallApprovalRequest",
    "CallAsk",
    "CallBinding",
    "CheckpointStructure",
    "Claim",
    "ClaimType",
    "ContractAnswer",
    "ContractReason",
    "ContractViolation",
    "CoverageReport",
    "CoverageStatus",
    "Decision",
    "DecisionBeginAnswer",
    "DecisionMark",
    "DecisionRecord",
    "DecisionShowAnswer",
    "DecisionStanding",
    "DegradeStep",
    "DeliveryReceipt",
    "DeliveryState",
    "Denial",
    "DenialReason",
    "DeskAnswer",
    "DispatchGateRequest",
    "Disposition",
    "DomainCoverage",
    "EpisodeStamp",
    "EpisodeState",
    "Event",
    "EventType",
    "EvidenceClass",
    "EvidenceItem",
    "EvidenceRef",
    "EvidenceSummary",
    "ExecutionPlan",
    "ExternalizedPath",
    "FieldProblem",
    "ForcedOperatorUpdate",
    "ForcedOperatorUpdatePayload",
    "GateAnswer",
    "GateRequest",
    "GuaranteePossibility",
    "GuaranteeResult",
    "GuaranteeStanding",
    "GuardDecision",
    "InputParameter",
    "MarkKind",
    "MatchedRule",
    "OperatorContext",
    "OperatorNotice",
    "OperatorReviewRequested",
    "OperatorReviewRequestedPayload",
    "PackStamp",
    "Precondition",
    "ProfileStamp",
    "PromisedFollowup",
    "ProofAnalysis",
    "ProofReason",
    "ProofRehearsal",
    "ProofResult",
    "ProofStrength",
    "ProofTimings",
    "ProofVerdict",
    "Quality",
    "ReceiptAction",
    "ReceiptAnswer",
    "ReceiptReport",
    "ReceiptStatus",
    "ReportAnchor",
    "ReportAnchorMissing",
    "ReportAnchorMissingPayload",
    "ReportGateRequest",
    "ReportVerdict",
    "RequiredAction",
    "Resource",
    "RetriesSeen",
    "RetryPolicy",
    "RollbackPlan",
    "RunOutcome",
    "RunReason",
    "RungTaken",
    "SafeActionContract",
    "SessionStanding",
    "Severity",
    "SilenceTimeout",
    "SilenceTimeoutPayload",
    "StateChange",
    "StopVerdict",
    "SubagentCompleted",
    "SubagentCompletedPayload",
    "SubagentResultForwarded",
    "SubagentResultForwardedPayload",
    "SubagentResultNotForwarded",
    "SubagentResultNotForwardedPayload",
    "SubagentSpawnFailed",
    "SubagentSpawnFailedPayload",
    "SubagentSpawned",
    "SubagentSpawnedPayload",
    "SuggestedStatus",
    "Supports",
    "SuppressedRule",
    "TargetRef",
    "TaskCheckpointDue",
    "TaskCheckpointDuePayload",
    "TaskCheckpointSent",
    "TaskCheckpointSentPayload",
    "TaskClaimedComplete",
    "TaskClaimedCompletePayload",
    "TaskEvidenceAttached",
    "TaskEvidenceAttachedPayload",
    "TaskStarted",
    "TaskStartedPayload",
    "TaskStatus",
    "TaskStatusChanged",
    "TaskStatusChangedPayload",
    "ToolApproval",
    "ToolGateAnswer",
    "ToolGateRequest",
    "ToolVerdict",
    "Verification",
    "VerificationResult",
    "VerifyAnswer",
    "WatchdogFired",
    "WatchdogFiredPayload",
]

_NAMES_IN = {
    "lictor.fast.verdicts": (
        "Advice DenialReason ReportVerdict SessionStanding StateChange StopVerdict ToolApproval ToolVerdict"
    ),
    "lictor_schema.approvals.approval": "ApprovalBinding ApprovalEntry ApprovalExecution ApprovalRequest ApprovalState",
    "lictor_schema.approvals.call_approval": "CallApprovalRequest CallBinding",
    "lictor_schema.approvals.run": "RunOutcome RunReason",
    "lictor_schema.contracts.decision_log": "ContractReason ContractViolation RetriesSeen RungTaken",
    "lictor_schema.contracts.decision_questions": (
        "ActionGateAnswer ActionGateRequest ActionStanding ContractAnswer DecisionBeginAnswer "
        "DecisionShowAnswer DecisionStanding VerifyAnswer"
    ),
    "lictor_schema.contracts.action": (
        "Authorization ExecutionPlan Precondition RetryPolicy RollbackPlan SafeActionContract "
        "TargetRef"
    ),
    "lictor_schema.contracts.envelope": "BlastRadius DegradeStep",
    "lictor_schema.contracts.verification": "Verification VerificationResult",
    "lictor_schema.services.desk_answer": "DeskAnswer",
    "lictor_schema.decisions.decision": (
        "AttachedEvidence Decision DecisionRecord Disposition EpisodeStamp EvidenceSummary "
        "MatchedRule OperatorNotice PackStamp ProfileStamp RequiredAction Severity "
        "SuggestedStatus SuppressedRule"
    ),
    "lictor_schema.decisions.guard_decision": "GuardDecision",
    "lictor_schema.decisions.mark": "DecisionMark MarkKind",
    "lictor_schema.decisions.receipt": (
        "ActionName BlockedAction DeliveryReceipt DeliveryState ReceiptAction ReceiptAnswer "
        "ReceiptReport ReceiptStatus"
    ),
    "lictor_schema.errors": "FieldProblem",
    "lictor_schema.events.claim": "CheckpointStructure Claim ClaimType PromisedFollowup TaskStatus",
    "lictor_schema.events.event": (
        "Event ForcedOperatorUpdate OperatorReviewRequested ReportAnchorMissing "
        "SilenceTimeout SubagentCompleted SubagentResultForwarded SubagentResultNotForwarded "
        "SubagentSpawnFailed SubagentSpawned TaskCheckpointDue TaskCheckpointSent "
        "TaskClaimedComplete TaskEvidenceAttached TaskStarted TaskStatusChanged WatchdogFired"
    ),
    "lictor_schema.events.event_types": "EventType",
    "lictor_schema.events.evidence": "EvidenceClass EvidenceItem Quality Supports",
    "lictor_schema.events.operator_context": "EvidenceRef ExternalizedPath OperatorContext ReportAnchor",
    "lictor_schema.events.payloads": (
        "ForcedOperatorUpdatePayload OperatorReviewRequestedPayload "
        "ReportAnchorMissingPayload SilenceTimeoutPayload SubagentCompletedPayload "
        "SubagentResultForwardedPayload SubagentResultNotForwardedPayload "
        "SubagentSpawnFailedPayload SubagentSpawnedPayload TaskCheckpointDuePayload "
        "TaskCheckpointSentPayload TaskClaimedCompletePayload TaskEvidenceAttachedPayload "
        "TaskStartedPayload TaskStatusChangedPayload WatchdogFiredPayload"
    ),
    "lictor_schema.gates.gate": "DispatchGateRequest GateAnswer GateRequest ReportGateRequest",
    "lictor_schema.proofs.coverage": "CoverageReport CoverageStatus DomainCoverage",
    "lictor_schema.proofs.inputs": "InputParameter",
    "lictor_schema.proofs.proof": (
        "GuaranteePossibility GuaranteeResult GuaranteeStanding ProofAnalysis ProofReason "
        "ProofRehearsal ProofResult ProofTimings ProofVerdict"
    ),
    "lictor_schema.proofs.proof_strength": "ProofStrength",
    "lictor_schema.seals.episode": "EpisodeState",
    "lictor_schema.sessions.session_questions": (
        "CallApproval CallAsk Denial Resource ToolGateAnswer ToolGateRequest"
    ),
}
_HOME_OF = {name: home for home, names in _NAMES_IN.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
