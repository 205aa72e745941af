"""Which module each public name lives in, so that it can be loaded on first use."""

_HOMES = {
    "canonical": "CanonicalError canonical_json content_hash hash_bytes parse_json",
    "capabilities": (
        "AdapterCapabilities AdapterRuntime CapabilitiesMetadata Capability CapabilityGroups "
        "CapabilityLevel Compatibility EnforcementCapabilities NormalizationCapabilities "
        "NotificationPathCapabilities ObservationCapabilities TruthModel WatchdogCapabilities "
        "capability_needed"
    ),
    "cerpa": (
        "Assumption CerpaApplyResult CerpaClaim CerpaCycle CerpaDomain CerpaEvent CerpaPatch "
        "CerpaReview CycleStatus Measurement PatchAction Verdict"
    ),
    "claims": "CheckpointStructure Claim ClaimType PromisedFollowup TaskStatus",
    "context": "EvidenceRef ExternalizedPath OperatorContext ReportAnchor",
    "contracts": (
        "Authorization BlastRadius DTE DegradeRung DegradeStep ExecutionPlan Freshness Limits "
        "PolicyPackRef Precondition RetryPolicy RollbackPlan SafeActionContract "
        "SafeActionRule StageBudgets TargetRef Threshold Verification VerificationResult "
        "VerificationRule"
    ),
    "coverage": "CoverageReport CoverageStatus DomainCoverage",
    "dead": "DeadLetter",
    "decisions": (
        "AttachedEvidence Decision DecisionRecord Disposition EpisodeStamp EvidenceSummary "
        "MatchedRule NO_RULE_MATCHED OperatorNotice PackStamp ProfileStamp REPEATED_MATCH "
        "RequiredAction Severity SuggestedStatus SuppressedRule"
    ),
    "drift": "DriftEvent DriftSeverity DriftType Fingerprint PatchType TriageState",
    "episodes": (
        "Actor DecisionEpisode DegradeStamp DteRef EpisodeContext EpisodeState Outcome "
        "OutcomeCode Plan PolicyPackStamp PolicyProfileStamp PolicyStamp RecordDigest Seal "
        "SealedEpisode StageMs Telemetry"
    ),
    "errors": "FieldProblem SchemaError WHOLE_DOCUMENT describe_validation_error",
    "event_types": "EVENT_TYPES EventType",
    "events": (
        "Event EventEnvelope ForcedOperatorUpdate OperatorReviewRequested ReportAnchorMissing "
        "SilenceTimeout SubagentCompleted SubagentResultForwarded SubagentResultNotForwarded "
        "SubagentSpawnFailed SubagentSpawned TaskCheckpointDue TaskCheckpointSent "
        "TaskClaimedComplete TaskEvidenceAttached TaskStarted TaskStatusChanged WatchdogFired "
        "parse_event"
    ),
    "evidence": "EvidenceClass EvidenceItem Quality Supports",
    "gate_records": "GateRecord",
    "gates": (
        "ActionGateRequest DispatchGateRequest GateAnswer GateRequest ReportGateRequest "
        "StopGateRequest ToolGateRequest"
    ),
    "health": "ServiceHealth",
    "model": (
        "CamelModel ContentHash Identifier Label Model Text Timestamp UtcMillis UuidText utc_millis"
    ),
    "overlays": "PolicyOverlay SuppressionWindow",
    "packs": "PolicyPack RuleSet TemplateSet",
    "pack_releases": "ConfigSwitch PackBundle PackRelease ReleaseRefusal",
    "payloads": (
        "ForcedOperatorUpdatePayload OperatorReviewRequestedPayload "
        "ReportAnchorMissingPayload SilenceTimeoutPayload SubagentCompletedPayload "
        "SubagentResultForwardedPayload SubagentResultNotForwardedPayload "
        "SubagentSpawnFailedPayload SubagentSpawnedPayload TaskCheckpointDuePayload "
        "TaskCheckpointSentPayload TaskClaimedCompletePayload TaskEvidenceAttachedPayload "
        "TaskStartedPayload TaskStatusChangedPayload WatchdogFiredPayload"
    ),
    "proofs": "GuaranteeResult ProgramSubmission ProofReason ProofResult ProofVerdict",
    "receipts": (
        "ALLOWED_DELIVERY_STATES ActionName BlockedAction DeliveryReceipt DeliveryState "
        "ReceiptAction ReceiptAnswer ReceiptReport ReceiptStatus"
    ),
}

HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
