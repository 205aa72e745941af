"""The story of a sealed episode, from the messages that its file carries; pure.

Read leniently, as plain JSON: a file outlives the programs that wrote it. What can't be read is counted, not guessed.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from lictor_schema.core.time import from_micros
from lictor_seal import Entry, Message

SECTIONS: Final = {
    "reported": "What was reported and claimed",
    "decided": "What was decided about it",
    "envelope": "The envelope that governed it",
    "known": "What was known",
    "asked": "What was asked for, and the answer",
    "refused": "What was refused, and why",
    "degraded": "Which bounds were passed, and what the ladder said",
    "approved": "Who approved, and why",
    "done": "What was done",
    "verified": "What was verified",
    "halted": "When it was stopped, and let go on",
}
_MOST: Final = 500

# Whatever else is in a message, its file is what was sealed.
_UNREADABLE: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)

Json = Mapping[str, Any]


class EpisodeLine(NamedTuple):
    """One thing that happened."""

    at: str
    text: str
    strand: str
    sequence: int
    message: Json
    """The message it was read from, whole."""


@dataclass(slots=True)
class EpisodeStory:
    """Takes every message of an episode in; what it holds is bounded, and says what it left out."""

    title: str | None = None
    sections: dict[str, list[EpisodeLine]] = field(
        default_factory=lambda: {name: [] for name in SECTIONS}
    )
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    erased: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    unreadable: int = 0

    def take(self, each: Message | Entry) -> None:
        """The next message, or one that was erased."""
        self.counts[each.strand] = self.counts.get(each.strand, 0) + 1
        if isinstance(each, Entry):
            self.erased.setdefault(each.strand, []).append(each.at)
            return
        try:
            at = utc(each.stored_us)
            content = json.loads(each.body)
            told = [*_READ.get(each.strand, _nothing)(content, each.subject)]
        except _UNREADABLE:
            self.unreadable += 1
            return
        for section, text in told:
            if section == "title":
                self.title = self.title or text
                continue
            lines = self.sections[section]
            if len(lines) == _MOST:
                self.left_out[section] = self.left_out.get(section, 0) + 1
                continue
            lines.append(EpisodeLine(at, text, each.strand, each.at, content))

    @property
    def carried(self) -> dict[str, int]:
        """How many messages of each strand the file carries: those that were not erased."""
        left = {name: n - len(self.erased.get(name, ())) for name, n in self.counts.items()}
        return {name: number for name, number in left.items() if number}

    def to_json_value(self) -> dict[str, object]:
        """For machines: every section with the messages it was read from."""
        return {
            "title": self.title,
            "sections": {
                name: [line._asdict() for line in lines] for name, lines in self.sections.items()
            },
            "leftOut": self.left_out,
            "messages": self.counts,
            "erased": self.erased,
            "unreadable": self.unreadable,
        }


def told_once(lines: Iterable[EpisodeLine]) -> Iterator[tuple[str, str]]:
    """The time and text of each line; what was said again in the same words stands once, with a count."""
    same: dict[str, list[str]] = {}
    for line in lines:
        same.setdefault(line.text, []).append(line.at)
    for text, times in same.items():
        yield (
            times[0],
            text if len(times) == 1 else f"{text} ({len(times)} times, last {times[-1]})",
        )


def utc(stored_us: int) -> str:
    """The broker's time of a message in words."""
    moment = from_micros(stored_us)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


Told = Iterable[tuple[str, str]]


def _nothing(_: Json, __: str) -> Told:
    return ()


def _event(event: Json, _: str) -> Told:
    payload: Json = event.get("payload") or {}
    kind, who = event["event_type"], event.get("agent_id")
    if isinstance(payload.get("title"), str):
        yield "title", payload["title"]
    claim: Json | None = payload.get("claim")
    text = f"{who}: {kind.replace('_', ' ')}"
    if claim is not None:
        text += f", claiming {claim['type']}: “{claim['text']}”"
    if payload.get("message"):
        text += f", saying “{payload['message']}”"
    for name in ("title", "to_status", "status", "reason", "goal"):
        if isinstance(payload.get(name), str):
            text += f", {name.replace('_', ' ')}: {payload[name]}"
    for item in payload.get("items", ()):
        refs = ", ".join(f"{ref['kind']} {ref['ref']}" for ref in item["refs"])
        text += f", {item['quality']} {item['class']}: “{item['summary']}” ({refs})"
    yield "reported", text


def _record(record: Json, _: str) -> Told:
    decision: Json = record["decision"]
    stamp: Json | None = record.get("episode")
    if stamp is not None:
        yield "title", stamp["title"]
    if decision["decision"] == "allow" and not record["task_closed"]:
        return
    text = f"{decision['decision']} {record['event_type'].replace('_', ' ')}"
    text += f" by {decision['policy_id']}: {decision['reason']}"
    if record.get("message_sent"):
        text += f"; the operator was shown “{record['message_sent']}”"
    if record["task_closed"]:
        ending = (stamp or {}).get("final_status")
        text += "; the task was closed" + (f" as {ending}" if ending else "")
    yield "decided", text


def _guard(record: Json, _: str) -> Told:
    decision: Json = record["decision"]
    what = f"tool {record.get('tool')}" if record["gate"] == "tool" else "stopping"
    yield (
        _answered(decision["decision"]),
        f"{what}: {decision['decision']} by {decision['policy_id']}: {decision['reason']}",
    )


def _gate(record: Json, _: str) -> Told:
    answer: Json = record["answer"]
    request: Json = record.get("request") or {}
    if answer["decision"] == "allow":
        return
    contract: Json = request.get("contract") or {}
    what = next(
        (
            _short(each)
            for each in (request.get("tool"), request.get("message"), contract.get("actionType"))
            if each
        ),
        "a question that could not be read",
    )
    text = f"{record['gate']} gate, asked about {what}"
    if request.get("params"):
        text += f" {_short(request['params'])}"
    text += f": {answer['decision']} by {answer['policy_id']}: {answer['reason']}"
    yield _answered(answer["decision"]), text


def _proof(result: Json, _: str) -> Told:
    reasons = _once(f"{each['code']}: {each['message']}" for each in result.get("reasons", ()))
    text = f"the prover's verdict on program {result['program_hash']}: {result['verdict']}"
    yield "verified", f"{text}{': ' + reasons if reasons else ''}"


def _receipt(report: Json, _: str) -> Told:
    receipt: Json = report["receipt"]
    yield (
        "reported",
        f"{report['runtime']}: decision {report['record_id']} is {receipt['status']}, {receipt['delivery_state']}",
    )


def _run(entry: Json, _: str) -> Told:
    kind = entry["kind"]
    if kind == "run_started":
        given = f" with {_short(entry['inputs'])}" if entry.get("inputs") else ""
        yield (
            "approved",
            f"run {entry['run_id']}: {entry['approved_by']} approved the program{given}",
        )
    elif kind == "effect_started":
        yield "done", f"effect {entry['call']}: {entry['effect']}({_short(entry['arguments'])})"
    elif kind == "effect_done":
        yield "done", f"effect {entry['call']} returned {_short(entry['result'])}"
    elif kind == "effect_failed":
        happened = {"no": "did not happen", "yes": "happened", "unknown": "may have happened"}
        why: Json = entry["reason"]
        yield (
            "done",
            f"effect {entry['call']} failed, {happened[entry['happened']]}: {why['message']}",
        )
    elif kind in ("undo_done", "undo_failed"):
        failed = f" failed: {entry['reason']['message']}" if kind == "undo_failed" else ""
        yield "done", f"taking back effect {entry['call']}{failed or ' succeeded'}"
    elif kind == "run_finished":
        reason: Json = entry.get("reason") or {}
        text = f"run {entry['run_id']} ended {entry['outcome']}: {entry['effects']} effects"
        text += f", {entry['undone']} taken back"
        result: Json = entry.get("result") or {}
        if result.get("problem"):
            text += f"; its result is not kept: {result['problem']['message']}"
        elif result.get("value") is not None:
            text += f"; it returned {_short(result['value'])}"
        yield "done", text + (f": {reason['message']}" if reason else "")


def _switch(entry: Json, _: str) -> Told:
    what = "everything was halted" if entry["kind"] == "switch_engaged" else "the halt was lifted"
    yield "halted", f"{what} by {entry['by']}: {entry['reason']}"


def _decision(entry: Json, _: str) -> Told:
    read = _ENTRIES.get(entry["kind"])
    return () if read is None else read(entry)


def _begun(entry: Json) -> Told:
    dte, pack = entry["dte"], entry["pack"]
    ladder: list[str] = [str(each["step"]) for each in dte.get("degradeLadder", ())]
    text = f"{entry['decision_type']} {dte.get('version')} of pack {pack['pack_id']} {pack['pack_version']}"
    text += f", deadline {dte.get('deadlineMs')} ms"
    yield "envelope", text + (f", ladder {' > '.join(ladder)}" if ladder else "")


def _captured(entry: Json) -> Told:
    text = f"{entry['feature']}"
    if entry.get("value") is not None:
        text += f" = {_short(entry['value'])}"
    yield "known", f"{text}, captured at {utc(entry['captured_at_us'])}"


def _judged(entry: Json) -> Told:
    contract: Json = entry["contract"]
    targets = ", ".join(f"{each['type']} {each['id']}" for each in contract["targetRefs"])
    text = f"{contract['actionType']} ({contract['actionId']}) on {targets}"
    text += f", reach {contract['blastRadiusTier']}"
    if contract.get("constraints"):
        text += f", {_short(contract['constraints'])}"
    execution: Json = contract.get("execution") or {}
    for name in ("arguments", "parameters", "params"):
        if execution.get(name):
            text += f", {name} {_short(execution[name])}"
    text += f": {entry['decision']}"
    reasons: list[Json] = entry.get("reasons", [])
    against = [f"{each['message']} ({each['code']})" for each in reasons]
    # A bound that is a reason is told with its code already.
    known = {each["message"] for each in reasons}
    bounds = (each["message"] for each in entry.get("violations", ()))
    against += [each for each in bounds if each not in known]
    if against:
        text += f", because {_once(against)}"
    if entry.get("approvers"):
        text += f"; approved by {', '.join(entry['approvers'])}"
    yield _answered(entry["decision"]), text + _rung(entry)


def _approved(entry: Json) -> Told:
    what = "the bypass" if entry["kind"] == "bypass_approved" else f"action {entry['action_hash']}"
    yield "approved", f"{entry['approver']} approved {what}: {entry['reason']}"


def _dispatched(entry: Json) -> Told:
    text = f"{entry['action_type']} ({entry['action_id']}) was dispatched"
    yield "done", text + (f", though {entry['problem']}" if entry.get("problem") else "")


def _finished(entry: Json) -> Told:
    text = f"{entry['action_id']} ended {entry['outcome']}"
    if entry.get("expected") or entry.get("observed"):
        text += (
            f", expected {_short(entry.get('expected'))}, observed {_short(entry.get('observed'))}"
        )
    yield "done", text


def _verified(entry: Json) -> Told:
    found: Json = entry["verification"]
    text = f"{entry['action_id']}: {found['result']}"
    if found.get("method"):
        text += f" by {found['method']}"
    if found.get("explanation"):
        text += f": {found['explanation']}"
    yield "verified", text + _rung(entry)


def _degraded(entry: Json) -> Told:
    kind = entry["kind"].replace("_", " ")
    stage = f" ({entry['stage']})" if entry.get("stage") else ""
    why = _once(each["message"] for each in entry.get("violations", ()))
    yield "degraded", f"{kind}{stage}{': ' + why if why else ''}{_rung(entry)}"


def _stage(entry: Json) -> Told:
    return _degraded(entry) if entry.get("rung") or entry.get("violations") else ()


def _stopped(entry: Json) -> Told:
    what = "was frozen" if entry["kind"] == "decision_frozen" else "was resumed"
    yield "halted", f"the decision {what} by {entry['by']}: {entry['reason']}"


def _rung(entry: Json) -> str:
    rung: Json = entry.get("rung") or {}
    if not rung.get("step"):
        return ""
    why: Json = rung.get("rationale") or {}
    told = why.get("detail") or why.get("reason")
    return f"; rung {rung['step']}" + (f" ({_short(told)})" if told else "")


def _answered(decision: str) -> str:
    return "asked" if decision in ("allow", "wait") else "refused"


def _once(texts: Iterable[str]) -> str:
    """Each text once, with how often it was said."""
    return "; ".join(
        text if count == 1 else f"{text} ({count} times)" for text, count in Counter(texts).items()
    )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:399] + "…"


_ENTRIES: Final[dict[str, Callable[[Json], Told]]] = {
    "decision_begun": _begun,
    "context_captured": _captured,
    "action_judged": _judged,
    "action_approved": _approved,
    "bypass_approved": _approved,
    "action_dispatched": _dispatched,
    "action_finished": _finished,
    "action_verified": _verified,
    "degraded": _degraded,
    "deadline_passed": _degraded,
    "stage_overrun": _degraded,
    "stage_begun": _stage,
    "spread_counted": _stage,
    "decision_frozen": _stopped,
    "decision_resumed": _stopped,
}

_READ: Final[dict[str, Callable[[Json, str], Told]]] = {
    "records": _record,
    "events": _event,
    "decision": _decision,
    "switch": _switch,
    "guard": _guard,
    "proofs": _proof,
    "runs": _run,
    "gates": _gate,
    "receipts": _receipt,
}
