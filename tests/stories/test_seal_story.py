"""From events to a sealed episode that verifies offline, one trace all the way."""

import http.server
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import nats
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from reporting import reach, service_process, wait_until_ready

from lictor.history.episode_bundle import bundle_lines
from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_schema.core.canonical_json import canonical_json, hash_bytes
from lictor_schema.decisions.decision import DecisionRecord, Disposition
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle, TrustStore, verify_bundle

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def event(event_type: str, event_id: str, payload: dict[str, object]) -> dict[str, object]:
    return {
        "event_id": event_id,
        "event_type": event_type,
        "runtime": "test",
        "adapter_version": "1",
        "agent_id": "agent",
        "task_id": "story",
        "correlation_id": "flow",
        "timestamp": "2026-01-01T00:00:00Z",
        "payload": payload,
        "evidence_refs": [],
        "operator_context": {"channel": "telegram"},
    }


CLAIM = {"claim": {"type": "completion", "text": "done"}, "message": "It is done."}
EVIDENCE = {
    "evidence_id": "ev-1",
    "task_id": "story",
    "correlation_id": "flow",
    "agent_id": "agent",
    "class": "verification_output",
    "quality": "strong",
    "summary": "all tests pass",
    "captured_at": "2026-01-01T00:00:00Z",
    "refs": [{"kind": "log", "ref": "ci/1"}],
    "supports": {"claim_types": ["completion"]},
}
STORY = [
    event(
        "task_started",
        "e1",
        {
            "title": "Work",
            "mode": "interactive",
            "workflow_shape": "single-agent",
            "channel": "telegram",
            "checkpoint_interval_s": 1,
        },
    ),
    event("task_claimed_complete", "e2", CLAIM),
    event("task_evidence_attached", "e3", {"items": [EVIDENCE]}),
    event("task_claimed_complete", "e4", CLAIM),
]


async def test_a_task_is_watched_judged_closed_and_sealed(stack):
    await stack.send_event(STORY[0])
    # The silence: the broker's timer makes the due checkpoint an event, and that a decision.
    await stack.until("DECISIONS", 2)
    for later in STORY[1:]:
        await stack.send_event(later, traceparent=TRACEPARENT)
    await stack.until("EPISODES", 2)

    records = await stack.decisions()
    assert [record.decision.decision for record in records if record.runtime == "test"] == [
        Disposition.ALLOW,
        Disposition.DOWNGRADE_STATUS,
        Disposition.ALLOW,
        Disposition.ALLOW,
    ]
    due = next(record for record in records if record.event_type == "task_checkpoint_due")
    assert due.decision.decision is Disposition.FORCE_CHECKPOINT

    [bundle, checkpoint] = await read_from(stack.client, "EPISODES", ">", 1, 10)
    trust = TrustStore.load(stack.keys / "trust.json")
    report = verify_bundle(bundle.body, trust)
    assert report.ok, report
    assert not verify_bundle(bundle.body.replace(b"success", b"partial"), trust).ok
    assert bundle.headers["traceparent"].split("-")[1] == TRACE
    assert checkpoint.subject == subjects.LOG_CHECKPOINT

    sealed = SealedEpisode.model_validate_json(
        canonical_json(SealBundle.from_bytes(bundle.body).sealed_episode)
    )
    assert sealed.task_id == "story"
    assert [digest.record_id for digest in sealed.records] == [each.record_id for each in records]
    # The exported file carries every record and event word for word.
    carried: dict[str, list[bytes]] = {}
    lines = [line async for line in bundle_lines(stack.client, bundle.body)]
    whole = verify_bundle(
        b"".join(lines),
        trust,
        visit=lambda each: carried.setdefault(each.strand, []).append(each.body),
    )
    assert whole.ok, whole
    assert list(map(DecisionRecord.from_json, carried["records"])) == records
    assert [hash_bytes(body) for body in carried["events"]] == [
        each.event_sha256 for each in records
    ]
    assert sealed.context.evidence_refs == ("ev-1",)


class Collector(http.server.BaseHTTPRequestHandler):
    """An OTLP/HTTP collector that keeps what it is sent."""

    spans: list[tuple[str, str, str, str]]
    metrics: dict[str, set[str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                service = service_name(resource.resource)
                for scope in resource.scope_spans:
                    self.spans.extend(
                        (service, span.name, span.trace_id.hex(), span.parent_span_id.hex())
                        for span in scope.spans
                    )
        else:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics[service_name(resource.resource)] |= {
                        metric.name for metric in scope.metrics
                    }
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
        """Be quiet."""


def service_name(resource) -> str:
    return next(a.value.string_value for a in resource.attributes if a.key == "service.name")


@contextmanager
def collector() -> Iterator[tuple[str, type[Collector]]]:
    kept = type("Kept", (Collector,), {"spans": [], "metrics": defaultdict(set)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kept)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_one_trace_leads_from_the_event_through_the_decision_to_the_seal(
    clean_infra, tmp_path
):
    with collector() as (url, kept):
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "LICTOR_SEAL_KEY": str(tmp_path / "seal.pem"),
            "LICTOR_SEAL_KEY_CREATE": "1",
        }
        async with AsyncExitStack() as running:
            client = await nats.connect(clean_infra.nats_url)
            running.push_async_callback(client.close)
            for module in ("lictor_policy_evaluator", "lictor_sealer"):
                await running.enter_async_context(
                    service_process(module, clean_infra, **environment)
                )
            for name in ("policy-evaluator", "sealer"):
                await wait_until_ready(client, name)
            for number, step in enumerate(STORY):
                headers = {"traceparent": TRACEPARENT} if number == 3 else {}
                await publish_one(
                    client,
                    "EVENTS",
                    Outgoing("lictor.ev.test.story", json.dumps(step).encode(), None, headers),
                )
            await reach(client, "EPISODES", 2)
        # Both services have ended, so everything they had is here.
        traced = [span for span in kept.spans if span[2] == TRACE]
        assert {(service, name) for service, name, _, _ in traced} == {
            ("lictor-policy-evaluator", "events allow"),
            ("lictor-sealer", "decisions closed"),
        }
        assert all(parent for *_, parent in traced)
        assert "lictor.messages" in kept.metrics["lictor-policy-evaluator"]
        assert "lictor.batch.duration" in kept.metrics["lictor-sealer"]
