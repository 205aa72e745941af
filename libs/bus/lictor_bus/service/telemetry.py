"""OpenTelemetry: traces across the bus and a metric for every outcome.

Nothing is exported unless asked for: OTLP follows the standard variables (``OTEL_EXPORTER_OTLP_ENDPOINT`` or its
per-signal forms, ``OTEL_SDK_DISABLED``), Prometheus is on when the service has an HTTP port. The trace context
(``traceparent``) is passed on in every case, so a trace is whole even if only some services export theirs.
"""

import os
import re
import time
from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, NoOpMeterProvider, Observation
from opentelemetry.metrics import MeterProvider as MeterProviderApi
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lictor_bus.wire.provenance import passed_over

_propagator = TraceContextTextMapPropagator()
TRACEPARENT = "traceparent"
TRACEPARENT_FORM = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, kw_only=True)
class TelemetrySettings:
    """Which signals leave the process."""

    otlp_traces: bool = False
    otlp_metrics: bool = False
    prometheus: bool = False

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, *, prometheus: bool = False
    ) -> "TelemetrySettings":
        """Read the standard OpenTelemetry variables; off when none is set."""
        if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
            return cls()
        everything = bool(environment.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
        return cls(
            otlp_traces=_wanted(environment, "TRACES", everything),
            otlp_metrics=_wanted(environment, "METRICS", everything),
            prometheus=prometheus,
        )


def _wanted(environment: Mapping[str, str], signal: str, everything: bool) -> bool:
    if environment.get(f"OTEL_{signal}_EXPORTER", "otlp") == "none":
        return False
    return everything or bool(environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))


class ServiceTelemetry:
    """The instruments of one service."""

    def __init__(self, service: str, settings: TelemetrySettings | None = None) -> None:
        settings = settings or TelemetrySettings()
        resource = Resource.create({"service.name": f"lictor-{service}"})
        self._service = service
        self._tracer_provider: TracerProvider | None = None
        self._meter_provider: MeterProvider | None = None
        self._tracer: Tracer | None = None
        if settings.otlp_traces:
            self._tracer_provider = TracerProvider(resource=resource)
            self._tracer_provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            self._tracer = self._tracer_provider.get_tracer("lictor")
        readers: list[MetricReader] = []
        if settings.otlp_metrics:
            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
        if settings.prometheus:
            readers.append(PrometheusMetricReader())
        provider: MeterProviderApi = NoOpMeterProvider()
        if readers:
            provider = self._meter_provider = MeterProvider(readers, resource=resource)
        meter = provider.get_meter("lictor")
        self._messages = meter.create_counter(
            "lictor.messages",
            unit="{message}",
            description="Messages handled, by service and outcome",
        )
        self._batch_size = meter.create_histogram(
            "lictor.batch.size", unit="{message}", description="Messages in one batch"
        )
        self._batch_duration = meter.create_histogram(
            "lictor.batch.duration", unit="s", description="From pulled to committed"
        )
        self._lag = meter.create_histogram(
            "lictor.lag",
            unit="s",
            description="From stored by the broker to committed, oldest of a batch",
        )
        self._reopened = meter.create_counter(
            "lictor.reopened",
            unit="{time}",
            description="Times a worker had to start again, by cause",
        )
        meter.create_observable_counter(
            "lictor.foreign",
            callbacks=[self._foreign],
            unit="{message}",
            description="Foreign messages that were passed over, by the beginning of their subjects",
        )
        self._forged = meter.create_counter(
            "lictor.state.forged",
            unit="{value}",
            description="Values in Redis that were not as the service left them",
        )
        self._releases = meter.create_counter(
            "lictor.pack.releases",
            unit="{release}",
            description="Releases of policy packs seen, by outcome",
        )
        self._gates = meter.create_counter(
            "lictor.gate.answers", unit="{answer}", description="Gate answers, by gate and decision"
        )
        self._unrecorded = meter.create_counter(
            "lictor.gate.unrecorded",
            unit="{answer}",
            description="Gate answers whose record was not stored, by gate and decision",
        )
        self._receipts = meter.create_counter(
            "lictor.receipts",
            unit="{report}",
            description="Receipt reports, by outcome: stored, duplicate, refused",
        )
        self._sessions = meter.create_counter(
            "lictor.sessions",
            unit="{answer}",
            description="Answers about guarded sessions other than gates', by operation and outcome: ok, refused",
        )
        self._kept_answers = meter.create_counter(
            "lictor.prover.kept",
            unit="{answer}",
            description="Proofs that were kept and asked for again, by what became of them: used, missing (no"
            " certificate is stored), distrusted (somebody else wrote them)",
        )
        self._rehearsals = meter.create_counter(
            "lictor.rehearsals",
            unit="{rehearsal}",
            description="Rehearsals of programs, by outcome: performed or refused where they are made; agrees, differs"
            " (a proof that Python contradicts, a defect of ours) or refused where they are compared",
        )
        self._approvals = meter.create_counter(
            "lictor.approvals",
            unit="{change}",
            description="Changes of approval requests, by what they are about (kind: program, call) and the state"
            " they came to",
        )
        self._approvals_open = meter.create_gauge(
            "lictor.approvals.open",
            unit="{request}",
            description="Requests that wait, by what they are about (kind: program, call) and state",
        )
        self._approval_wait = meter.create_histogram(
            "lictor.approvals.decided_after",
            unit="s",
            description="From the request to the decision of a person, by what was decided",
        )
        self._marks = meter.create_counter(
            "lictor.decision.marks",
            unit="{mark}",
            description="Marks of operators on decisions, by pack, version, rule and mark: false_alarm,"
            " withdrawn",
        )
        self._rules = meter.create_counter(
            "lictor.rules",
            unit="{match}",
            description="Matches of rules, by pack, version, rule and what became of them:"
            " fired, overridden, shadow, suppressed",
        )

    def _foreign(self, _options: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(count, {"service": self._service, "subjects": each})
            for each, count in passed_over().items()
        ]

    @property
    def tracing(self) -> bool:
        """Whether spans are recorded."""
        return self._tracer is not None

    def batch_done(
        self, outcomes: "Tally[str]", started: float, oldest_ns: int, now_ns: int
    ) -> None:
        """Count a committed batch."""
        mine = {"service": self._service}
        for outcome, count in outcomes.items():
            self._messages.add(count, {**mine, "outcome": outcome})
        self._batch_size.record(sum(outcomes.values()), mine)
        self._batch_duration.record(time.monotonic() - started, mine)
        self._lag.record(max(0, now_ns - oldest_ns) / 1e9, mine)

    def rules_matched(self, matches: "Tally[tuple[str, str, str, str]]") -> None:
        """Count what rules did in a committed batch."""
        for (pack, version, rule, fate), count in matches.items():
            self._rules.add(
                count,
                {
                    "service": self._service,
                    "pack": pack,
                    "version": version,
                    "rule": rule,
                    "fate": fate,
                },
            )

    def reopened(self, cause: str) -> None:
        """Count a restart of a worker's loop."""
        self._reopened.add(1, {"service": self._service, "cause": cause})

    def state_forged(self) -> None:
        """Count a value in Redis that was changed behind the service's back."""
        self._forged.add(1, {"service": self._service})

    def release_seen(self, outcome: str) -> None:
        """Count a release of policy packs: ``taken``, ``refused``, or ``expired`` while in force."""
        self._releases.add(1, {"service": self._service, "outcome": outcome})

    def gate_answered(self, gate: str, decision: str) -> None:
        """Count an answer of a gate."""
        self._gates.add(1, {"service": self._service, "gate": gate, "decision": decision})

    def gate_unrecorded(self, gate: str, decision: str) -> None:
        """Count an answer that was given and could not be recorded."""
        self._unrecorded.add(1, {"service": self._service, "gate": gate, "decision": decision})

    def receipt_answered(self, outcome: str) -> None:
        """Count a receipt report."""
        self._receipts.add(1, {"service": self._service, "outcome": outcome})

    def decision_marked(self, pack: str, version: str, rule: str, mark: str) -> None:
        """Count a mark on a decision."""
        self._marks.add(
            1,
            {
                "service": self._service,
                "pack": pack,
                "version": version,
                "rule": rule,
                "mark": mark,
            },
        )

    def session_answered(self, operation: str, ok: bool) -> None:
        """Count an answer about a session."""
        outcome = "ok" if ok else "refused"
        self._sessions.add(
            1, {"service": self._service, "operation": operation, "outcome": outcome}
        )

    def kept_answer(self, outcome: str) -> None:
        """Count a kept proof that was found: ``used``, ``missing`` or ``distrusted``."""
        self._kept_answers.add(1, {"service": self._service, "outcome": outcome})

    def rehearsed(self, outcome: str) -> None:
        """Count a rehearsal: ``performed``, ``agrees``, ``differs`` or ``refused``."""
        self._rehearsals.add(1, {"service": self._service, "outcome": outcome})

    def approval_changed(
        self, kind: str, state: str, open_now: Mapping[tuple[str, str], int]
    ) -> None:
        """Count a change of an approval request, and record how many wait now, by kind and state."""
        self._approvals.add(1, {"service": self._service, "kind": kind, "state": state})
        for (each, waits), count in open_now.items():
            named = {"service": self._service, "kind": each, "state": waits}
            self._approvals_open.set(count, named)

    def approval_decided(self, decision: str, waited_s: float) -> None:
        """Record how long a person took to decide."""
        self._approval_wait.record(waited_s, {"service": self._service, "decision": decision})

    def span(
        self,
        name: str,
        parent: Mapping[str, str],
        attributes: Mapping[str, str | int],
        start_ns: int | None = None,
    ) -> "MessageSpan":
        """A span for one message; only while tracing."""
        if self._tracer is None:
            raise RuntimeError("no spans without tracing; pass the parent's context on instead")
        span = self._tracer.start_span(
            name,
            context=_propagator.extract(parent),
            kind=SpanKind.CONSUMER,
            attributes=dict(attributes),
            start_time=start_ns,
        )
        carrier: dict[str, str] = {}
        _propagator.inject(carrier, trace.set_span_in_context(span))
        return MessageSpan(span, carrier.get(TRACEPARENT))

    def close(self) -> None:
        """Send what is left."""
        if self._tracer_provider is not None:
            self._tracer_provider.shutdown()
        if self._meter_provider is not None:
            self._meter_provider.shutdown()


class MessageSpan(NamedTuple):
    """An open span and the context to put on what the message causes."""

    span: trace.Span | None
    traceparent: str | None

    def headers(self) -> dict[str, str]:
        """The context as message headers."""
        return {TRACEPARENT: self.traceparent} if self.traceparent else {}

    def end(self) -> None:
        """Close the span now."""
        if self.span is not None:
            self.span.end()
