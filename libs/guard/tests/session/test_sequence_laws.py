"""Policies over sequences of calls, beside a model that goes through the whole history for every question.

The model keeps nothing but the list of what was asked, answered, reported and set back; it shares no code with the
policies. Histories hold calls that are asked about twice, reports that come twice, before their begin, without
parameters or for calls that nobody asked about, denied calls that ran, restores and resets.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from policy_walk import seen
from rehearsed_session import Rehearsal, guarded

from lictor_schema.sessions.session_log import CallDenied, CallFinished, CallReserved

PAY_LIMIT = Fraction("0.5")
WITHIN_S, WITHIN_CALLS = 100, 3
DEFINITION = guarded(
    tools=[
        {"name": "read", "access": "read", "resources": ["path"]},
        *({"name": name} for name in ("mail", "fetch", "shell", "test", "deploy", "pay", "look")),
    ],
    labels=[
        {"label": "secret", "tools": ["read"], "files": ["s/.*"]},
        {"label": "secret", "tools": ["look"], "output": ["key"]},
    ],
    policy_specs=[
        {
            "kind": "never-after",
            "name": "inside",
            "after": {"labels": ["secret"]},
            "tools": ["mail"],
            "unless": [{"param": "to", "allow": ["in"], "required": True}],
        },
        {
            "kind": "never-after",
            "name": "no-shell",
            "after": {"tools": ["fetch"], "where": [{"param": "url", "deny": ["home"]}]},
            "tools": ["shell"],
        },
        {
            "kind": "only-after",
            "name": "tested",
            "tools": ["deploy"],
            "after": {
                "tools": ["test"],
                "where": [{"param": "suite", "allow": ["all"], "required": True}],
            },
            "within_s": WITHIN_S,
            "within_calls": WITHIN_CALLS,
        },
        {
            "kind": "total",
            "name": "money",
            "tools": ["pay"],
            "param": "amount",
            "limit": "0.5",
        },
    ],
)
NAMES = {"inside", "no-shell", "tested", "money"}
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "s/a"}),
    ("read", {"path": "p/a"}),
    ("look", {}),
    ("mail", {"to": "in"}),
    ("mail", {"to": "out"}),
    ("fetch", {"url": "home"}),
    ("fetch", {"url": "away"}),
    ("shell", {}),
    ("test", {"suite": "all"}),
    ("test", {"suite": "few"}),
    ("deploy", {}),
    ("pay", {"amount": "0.2"}),
    ("pay", {"amount": 0.3}),
    ("pay", {"amount": "0.1"}),
]
# Three of each, so that each can be the one that was not asked about yet.
CALLS = {
    f"{tool}-{n}-{copy}": (tool, params)
    for copy in (1, 2, 3)
    for n, (tool, params) in enumerate(KINDS)
}


@dataclass
class Happened:
    """One thing of a history."""

    what: str
    call_id: str = ""
    at_us: int = 0
    noted: bool = False
    """Whether an allowed call was written to the log."""
    outcome: str = ""
    bare: bool = False
    """Whether a report came without parameters and files."""
    output: str | None = None
    snapshot: int = 0


@dataclass
class Model:
    """What the history says, read from its begin each time."""

    history: list[Happened] = field(default_factory=list[Happened])

    def counted(self) -> list[tuple[int, Happened]]:
        """The reports that count: the first of a call, and the first that says that a denied one ran."""
        standing: dict[str, str] = {}
        found: list[tuple[int, Happened]] = []
        for at, each in enumerate(self.history):
            if each.what == "denied":
                standing.setdefault(each.call_id, "denied")
            if each.what != "result":
                continue
            before = standing.get(each.call_id)
            if before is None or (before == "denied" and each.outcome != "denied"):
                found.append((at, each))
                standing[each.call_id] = each.outcome
        return found

    def was_denied(self, at: int, call_id: str) -> bool:
        """Whether the call stood as denied before a place of the history."""
        shorter = Model(self.history[:at])
        return any(
            each.call_id == call_id
            and (each.what == "denied" or (each.what == "result" and each.outcome == "denied"))
            for each in shorter.history
        )

    def allowed_at(self, call_id: str) -> int | None:
        for at, each in enumerate(self.history):
            if each.call_id != call_id:
                continue
            if each.what == "allowed":
                return at
            return None
        return None

    def ran(self, call_id: str) -> list[tuple[int, Happened]]:
        return [
            (at, each)
            for at, each in self.counted()
            if each.call_id == call_id and each.outcome not in ("denied", "invalid")
        ]

    def ended(self, call_id: str) -> bool:
        return any(each.call_id == call_id for _, each in self.counted())

    def secret(self, asking: str) -> bool:
        for call_id, (tool, params) in CALLS.items():
            if call_id == asking or (tool, params.get("path")) not in (
                ("read", "s/a"),
                ("look", None),
            ):
                continue
            underway = self.allowed_at(call_id) is not None and not self.ended(call_id)
            if underway:
                return True
            for _, report in self.ran(call_id):
                known = report.output is not None and "key" not in report.output
                if tool == "read" or not known:
                    return True
        # A read whose report names no file may have been of any; one that was allowed is known by that.
        return any(
            report.bare
            for call_id, (tool, _) in CALLS.items()
            if tool == "read" and call_id != asking
            for _, report in self.ran(call_id)
        )

    def fetched(self, asking: str) -> bool:
        for call_id, (tool, params) in CALLS.items():
            if tool != "fetch" or call_id == asking:
                continue
            if (
                params["url"] == "away"
                and self.allowed_at(call_id) is not None
                and not self.ended(call_id)
            ):
                return True
            # Without parameters, nobody can tell where it went.
            if any(params["url"] == "away" or report.bare for _, report in self.ran(call_id)):
                return True
        return False

    def calls(self, but: str) -> int:
        ended = {each.call_id for each in self.history if each.what in ("denied", "result")}
        noted = {each.call_id for each in self.history if each.what == "allowed" and each.noted}
        return len((ended | noted) - {but})

    def tested(self, asking: str, now_us: int) -> bool:
        found = self.last_test()
        if found is None:
            return False
        at, report = found
        if report.outcome != "ok" or self.was_denied(at, report.call_id):
            return False
        since = self.calls(asking) - Model(self.history[: at + 1]).calls("")
        return now_us - report.at_us <= WITHIN_S * 1_000_000 and since < WITHIN_CALLS

    def last_test(self) -> tuple[int, Happened] | None:
        """The last run of all tests, in the history that led to the state that is there now."""
        counted = {at for at, _ in self.counted()}
        at = len(self.history) - 1
        while at >= 0:
            each = self.history[at]
            if each.what == "reset":
                return None
            if each.what == "restore":
                at = each.snapshot
                continue
            if at in counted and self._is_test(at, each):
                return at, each
            at -= 1
        return None

    def _is_test(self, at: int, report: Happened) -> bool:
        tool, params = CALLS[report.call_id]
        if tool != "test" or report.outcome in ("denied", "invalid"):
            return False
        began = self.allowed_at(report.call_id)
        began = began if began is not None and began < at else None
        if report.outcome != "ok" or self.was_denied(at, report.call_id):
            first = not any(
                each.call_id == report.call_id
                for each in self.history[:at]
                if each.what == "result"
            )
            known = params["suite"] == "all" and began is not None and first
            return (known and self._remembered(began, at)) or (
                params["suite"] == "all" and not report.bare
            )
        if params["suite"] != "all" or report.bare:
            return False
        between = self.history[(began or 0) : at]
        if began is not None:
            return not any(each.what in ("restore", "reset") for each in between)
        resets = [n for n, each in enumerate(between) if each.what == "reset"]
        return not any(each.what == "restore" for each in between[(resets or [0])[-1] :])

    def _remembered(self, began: int | None, at: int) -> bool:
        return began is not None and not any(
            each.what == "reset" for each in self.history[began:at]
        )

    def money(self, asking: str) -> bool:
        """Whether a payment may be made; one that was counted may."""
        if self.allowed_at(asking) is not None and not self.ended(asking):
            return True
        spent = Fraction(0)
        for call_id, (tool, params) in CALLS.items():
            if tool != "pay":
                continue
            amount = Fraction(str(params["amount"]))
            allowed, ended = self.allowed_at(call_id) is not None, self.ended(call_id)
            if allowed and not ended:
                spent += amount
                continue
            for number, (_, report) in enumerate(self.ran(call_id)):
                first = (
                    next(each for _, each in self.counted() if each.call_id == call_id) is report
                )
                if report.bare and not (allowed and first):
                    return False
                assert number == 0
                spent += amount
        return spent + Fraction(str(CALLS[asking][1]["amount"])) <= PAY_LIMIT

    def against(self, call_id: str, now_us: int) -> set[str]:
        """The policies that must deny a call now."""
        tool, params = CALLS[call_id]
        match tool:
            case "mail":
                return {"inside"} if params["to"] != "in" and self.secret(call_id) else set()
            case "shell":
                return {"no-shell"} if self.fetched(call_id) else set()
            case "deploy":
                return set() if self.tested(call_id, now_us) else {"tested"}
            case "pay":
                return set() if self.money(call_id) else {"money"}
            case _:
                return set()


THEMES = (("read", "look", "mail"), ("fetch", "shell"), ("test", "deploy"), ("pay",), ())


def steps(theme: tuple[str, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Steps that have to do with each other: of some tools only, or of all."""
    call_ids = st.sampled_from(
        sorted(each for each, (tool, _) in CALLS.items() if not theme or tool in theme)
    )
    return st.one_of(
        st.tuples(st.just("check"), call_ids),
        st.tuples(st.just("call"), call_ids),
        st.tuples(
            st.just("result"),
            call_ids,
            st.sampled_from(["ok", "ok", "ok", "failed", "denied", "invalid", "crashed"]),
            st.sampled_from([False, False, False, True]),
            st.sampled_from([None, "a row", "a key"]),
        ),
        st.tuples(st.just("snapshot")),
        st.tuples(st.just("restore"), st.integers(0, 2)),
        st.tuples(st.just("reset")),
        st.tuples(st.just("pass"), st.integers(-5, 70)),
    )


def checks_at_the_end(script: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The script, and a question about each kind of call: what was remembered shows."""
    return [*script, *(("check", call_id) for call_id in CALLS if call_id.endswith("-3"))]


scripts = (
    st.sampled_from(THEMES)
    .flatmap(lambda theme: st.lists(steps(theme), min_size=4, max_size=25))
    .map(checks_at_the_end)
)


class Play:
    """A session and its model, side by side."""

    def __init__(self) -> None:
        self.session = Rehearsal(DEFINITION)
        self.model = Model()
        self.snapshots: list[int] = []
        self.judged = 0

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("check", call_id):
                self.check(call_id)
            case ("result", call_id, outcome, bare, output):
                self.result(call_id, outcome, bare, output)
            case ("call", call_id):
                if self.check(call_id):
                    self.result(call_id, "ok", False, "a row")
            case ("snapshot",):
                self.session.snapshot(f"s{len(self.snapshots)}")
                self.snapshots.append(len(self.model.history))
                self.note("snapshot")
            case ("restore", number) if number < len(self.snapshots):
                self.session.restore(f"s{number}")
                self.note("restore", snapshot=self.snapshots[number])
            case ("reset",):
                self.session.reset()
                self.note("reset")
            case ("pass", seconds):
                self.session.passing(seconds)
            case _:
                pass

    def check(self, call_id: str) -> bool:
        tool, params = CALLS[call_id]
        now_us = max(self.session.now_us, self.session.tally.last_us)
        expected = self.model.against(call_id, now_us)
        entries = len(self.session.log)
        answer = self.session.check(tool, call_id, params=params, resources=files(params))
        ids = {each.policy_id for each in answer.denials}
        if "lictor.call-id-used" not in ids:
            assert ids & NAMES == expected, (call_id, self.model.history)
            self.judged += bool(expected)
        if answer.decision == "allow":
            self.note("allowed", call_id, noted=len(self.session.log) > entries)
        elif len(self.session.log) > entries:
            self.note("denied", call_id)
        return answer.decision == "allow"

    def result(self, call_id: str, outcome: str, bare: bool, output: str | None) -> None:
        tool, params = CALLS[call_id]
        self.session.result(
            tool,
            call_id,
            outcome,
            params={} if bare else params,
            resources=() if bare else files(params),
            output=output,
        )
        self.note("result", call_id, outcome=outcome, bare=bare, output=output)

    def note(self, what: str, call_id: str = "", **fields: Any) -> None:
        at_us = self.session.tally.last_us
        self.model.history.append(Happened(what, call_id, at_us, **fields))


def files(params: dict[str, Any]) -> tuple[Any, ...]:
    return (seen(params["path"]),) if "path" in params else ()


@given(scripts)
@settings(max_examples=300, deadline=None)
def test_every_denial_is_that_of_the_model(script: list[tuple[Any, ...]]) -> None:
    play = Play()
    for step in script:
        play.take(step)
    event(f"denials: {min(play.judged, 3)}")


@given(scripts)
@settings(max_examples=60, deadline=None)
def test_the_fold_of_the_log_is_what_was_folded_entry_by_entry(
    script: list[tuple[Any, ...]],
) -> None:
    play = Play()
    for step in script:
        play.take(step)
    assert play.session.rebuilt() == play.session.stored


@given(scripts)
@settings(max_examples=60, deadline=None)
def test_an_entry_that_stands_twice_in_the_log_counts_once(script: list[tuple[Any, ...]]) -> None:
    """A report that was stored while the store was away, and again when it was back."""
    play = Play()
    for step in script:
        play.take(step)
    session = play.session
    before = {name: fact for name, fact in session.stored.items() if name != "session/tally"}
    denied = {entry.call_id for _, entry in session.log if isinstance(entry, CallDenied)}
    for _, entry in list(session.log):
        if isinstance(entry, CallReserved | CallFinished) and entry.call_id not in denied:
            session.append(entry)
    after = {name: fact for name, fact in session.stored.items() if name != "session/tally"}
    assert after == before
