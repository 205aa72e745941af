"""Which module each public name lives in, so that it can be loaded on first use."""

_HOMES = {
    "approval_policies": "ApprovalPolicy ContractCall PolicyConditions PolicyRule",
    "approvals": (
        "ApprovalBinding ApprovalDecision ApprovalEntry ApprovalExecution ApprovalOrder "
        "ApprovalRequest ApprovalState PolicyGround guarantees_hash"
    ),
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
    "coherence": (
        "CoherenceReport DriftCount PatchTimes RungCount Share SloName SloResult SloVerdict"
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
    "decision_log": (
        "ActionApproved ActionDispatched ActionFinished ActionJudged ActionVerified "
        "AnyDecisionEntry BypassApproved ContextCaptured ContractReason ContractViolation "
        "DeadlinePassed DecisionBegun DecisionClosed DecisionEnded DecisionEntry "
        "DecisionFrozen DecisionResumed Degraded RetriesSeen RungTaken SpreadCounted "
        "StageBegun StageEnded StageOverrun SwitchEngaged SwitchEntry SwitchReleased "
        "parse_decision_entry"
    ),
    "decision_questions": (
        "ActionGateAnswer ActionGateRequest ActionStanding AnyReport ApproveRequest "
        "CaptureReport ContractAnswer DecisionBeginAnswer DecisionReport "
        "DecisionShowAnswer DecisionStanding DispatchReport EndReport FinishReport "
        "OperatorRequest SpreadReport StageBeginReport StageEndReport SwitchOrder "
        "TaskOrder VerifyAnswer VerifyRequest"
    ),
    "decisions": (
        "AttachedEvidence Decision DecisionRecord Disposition EpisodeStamp EvidenceSummary "
        "MatchedRule NO_RULE_MATCHED OperatorNotice PackStamp ProfileStamp REPEATED_MATCH "
        "RequiredAction Severity SuggestedStatus SuppressedRule"
    ),
    "desk": (
        "AppliedPatch CoherenceAnswer CoherenceQuestion CorrectionAnswer CorrectionOrder CycleRef "
        "DeskAnswer PatchEntry PatchSettled PatchState PatchStep TriageEntry TriageMove"
    ),
    "claim_entries": ("ClaimMade ClaimRequest EventSeen MeasurementReport"),
    "drift": "DriftEvent DriftSeverity DriftType Fingerprint PatchType TriageState",
    "episode_sources": (
        "Correction EpisodeSources GateNote GuardNote GuidanceNote ProofNote ReceiptNote RunNote Strand"
    ),
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
    "gate_records": "ActionGateRecord GateRecord SessionGateRecord",
    "gates": ("DispatchGateRequest GateAnswer GateRequest ReportGateRequest"),
    "health": "ServiceHealth",
    "model": (
        "CamelModel ContentHash Identifier Label Model Text Timestamp UtcMillis UuidText utc_millis"
    ),
    "overlays": "PolicyOverlay SuppressionWindow",
    "packs": "PolicyPack RuleSet TemplateSet",
    "pack_releases": "ConfigSwitch PackBundle PackRelease ReleaseRefusal",
    "patches": ("ApprovalRule PatchApproval PatchOperation PatchProposal PatchRequest PatchTarget"),
    "payloads": (
        "ForcedOperatorUpdatePayload OperatorReviewRequestedPayload "
        "ReportAnchorMissingPayload SilenceTimeoutPayload SubagentCompletedPayload "
        "SubagentResultForwardedPayload SubagentResultNotForwardedPayload "
        "SubagentSpawnFailedPayload SubagentSpawnedPayload TaskCheckpointDuePayload "
        "TaskCheckpointSentPayload TaskClaimedCompletePayload TaskEvidenceAttachedPayload "
        "TaskStartedPayload TaskStatusChangedPayload WatchdogFiredPayload"
    ),
    "proofs": (
        "CertificateLevel GuaranteePossibility GuaranteeResult GuaranteeStanding ProgramSubmission ProofAnalysis "
        "ProofProgress ProofReason ProofResult ProofTimings ProofVerdict "
        "is_executable refuse_descriptive"
    ),
    "receipts": (
        "ALLOWED_DELIVERY_STATES ActionName BlockedAction DeliveryReceipt DeliveryState "
        "ReceiptAction ReceiptAnswer ReceiptReport ReceiptStatus"
    ),
    "runs": (
        "AnyRunEntry EffectDone EffectFailed EffectStarted RunEntry RunFinished RunOutcome RunReason "
        "RunStarted RunTakenOver UndoDone UndoFailed UndoKind UndoStarted parse_run_entry"
    ),
    "tool_calls": (
        "CallOutcome Denial FeedbackAnswer FeedbackRequest ResetRequest Resource "
        "ResourceState RestoreRequest SeenFile SessionAnswer SessionBeginAnswer "
        "SessionBeginRequest SnapshotRequest StateAnswer StateDocument StopGateAnswer "
        "StopGateRequest StopStatus TentativeOutput ToolGateAnswer ToolGateRequest ToolResultAnswer "
        "ToolResultReport Usage UsageReport"
    ),
    "feedback": (
        "Feedback FeedbackSeverity Observation ProviderFailure StampedFeedback TriggerKind"
    ),
    "session_records": (
        "AnySessionEntry CallDenied CallFinished CallReserved FeedbackDelivered "
        "FeedbackRaised SessionBegun SessionEntry StateKept StateReset StateRestored "
        "StopJudged UsageCounted WorkGiven parse_session_entry"
    ),
    "guard_decisions": ("GuardDecision"),
    "agent_definitions": (
        "AgentDefinition AllOfSpec AnyOfSpec BudgetFeedbackSpec Budgets CheckerSpec "
        "CompletionSpec DeadlineFeedbackSpec DefinitionMetadata EvidenceSpec "
        "FeedbackSpec FileOutputSpec LoopFeedbackSpec NoProgressFeedbackSpec "
        "ParameterPatternSpec ParameterRule PluginFeedbackSpec PluginSpec PolicySpec "
        "RateLimitSpec ReadBeforeWriteSpec SectionSpec SequentialDependencySpec "
        "StaticFeedbackSpec StoredDefinition TimeWindowSpec ToolSpec TriggerSpec "
        "VerificationSpec Workspace"
    ),
    "standing": ("StandingRequest TaskStanding"),
    "strengths": ("ProofStrength"),
}

HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
