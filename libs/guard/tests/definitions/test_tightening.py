"""Which definitions are proved to allow nothing that others deny, and that none is that does."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from rehearsed_session import Rehearsal

from lictor_guard.definitions.compiled_definition import Guarded, compile_definition
from lictor_guard.definitions.tightening import why_not_tighter
from lictor_guard.errors import DefinitionError
from lictor_guard.facts.fact import Fact
from lictor_guard.facts.state_document import state_of
from lictor_schema.sessions.agent_definition import AgentDefinition
from lictor_schema.sessions.session_log import AnySessionEntry, StateKept, StateRestored

Document = dict[str, Any]

FULL: Document = {
    "apiVersion": "lictor/v1",
    "kind": "AgentDefinition",
    "metadata": {"name": "coder", "version": "1"},
    "tools": [
        {"name": "edit", "access": "write", "resources": ["path"]},
        {"name": "test"},
        {"name": "deploy"},
        {"name": "ping"},
    ],
    "sections": [
        {
            "name": "shell",
            "tools": [{"name": "run"}, {"name": "fs_*"}],
            "policies": [
                {"kind": "rate-limit", "name": "few", "tools": ["run"], "limit": 5, "window_s": 60}
            ],
        }
    ],
    "policies": [
        {
            "kind": "sequential-dependency",
            "name": "order",
            "requires": {"deploy": ["test"]},
            "invalidated_by": {"test": ["edit"]},
        },
        {
            "kind": "rate-limit",
            "name": "pace",
            "tools": ["ping", "test"],
            "limit": 3,
            "window_s": 60,
        },
        {
            "kind": "parameters",
            "name": "safe",
            "tools": ["run", "fs_*"],
            "rules": [{"param": "command", "allow": ["a+", "b+"], "deny": ["aaa"]}],
        },
        {
            "kind": "time-window",
            "name": "hours",
            "tools": ["deploy"],
            "days": ["mon", "fri"],
            "begins": "08:00",
            "ends": "17:00",
        },
        {"kind": "read-before-write", "name": "read-first"},
    ],
    "deadline_s": 3600,
    "budgets": {"calls": 100, "cost_usd": "2.50"},
}


def compiled(document: Document) -> Guarded:
    return compile_definition(AgentDefinition.from_json(json.dumps(document)))


def changed(change: Callable[[Document], object]) -> Guarded:
    document = copy.deepcopy(FULL)
    change(document)
    return compiled(document)


def policy(document: Document, name: str) -> Document:
    places = [document["policies"], *(each["policies"] for each in document["sections"])]
    return next(each for place in places for each in place if each["name"] == name)


def without(document: Document, name: str) -> None:
    document["policies"] = [each for each in document["policies"] if each["name"] != name]


TIGHTER: Mapping[str, Callable[[Document], object]] = {
    "the same": lambda _: None,
    "another version": lambda d: d["metadata"].update(version="2", description="x"),
    "a lower limit": lambda d: policy(d, "pace").update(limit=2),
    "a longer window": lambda d: policy(d, "pace").update(window_s=61),
    "more tools counted together": lambda d: policy(d, "pace").update(
        tools=["ping", "test", "run"]
    ),
    "another requirement": lambda d: policy(d, "order").update(
        requires={"deploy": ["test", "ping"], "run": ["test"]}
    ),
    "another policy": lambda d: d["policies"].append(
        {
            "kind": "parameters",
            "name": "new",
            "tools": ["run"],
            "rules": [{"param": "x", "required": True}],
        }
    ),
    "a denied pattern more": lambda d: policy(d, "safe")["rules"][0].update(deny=["aaa", "bbb"]),
    "the last allowed pattern less": lambda d: policy(d, "safe")["rules"][0].update(allow=["a+"]),
    "a parameter required": lambda d: policy(d, "safe")["rules"][0].update(required=True),
    "another rule": lambda d: policy(d, "safe")["rules"].insert(0, {"param": "x", "deny": ["y"]}),
    "a day less": lambda d: policy(d, "hours").update(days=["fri"]),
    "shorter hours": lambda d: policy(d, "hours").update(begins="09:00", ends="16:59"),
    "a section's policy for all": lambda d: d["policies"].append(
        d["sections"][0]["policies"].pop()
    ),
    "an earlier deadline": lambda d: d.update(deadline_s=3599),
    "smaller budgets": lambda d: d.update(
        budgets={"calls": 99, "cost_usd": "2.49", "input_tokens": 5}
    ),
    "records required": lambda d: d.update(gate_records="required"),
    "people asked, by the clock": lambda d: d["policies"].append(
        {**ASKS, "pauses_deadline": False}
    ),
    "a completion check": lambda d: d.update(
        completion={"checker": {"kind": "files", "files": ["x"]}}
    ),
    "a tool less": lambda d: (
        d["tools"].append(d["tools"].pop())
        or (d["sections"][0]["tools"].pop(), policy(d, "safe").update(tools=["run"]))
    ),
}

ASKS: Document = {"kind": "require-approval", "name": "ask", "tools": ["deploy", "run"]}
NOT_PROVED: Mapping[str, tuple[Callable[[Document], object], str]] = {
    "another name": (lambda d: d["metadata"].update(name="other"), "it is called 'other'"),
    "a higher limit": (lambda d: policy(d, "pace").update(limit=4), "its limit is higher"),
    "a shorter window": (lambda d: policy(d, "pace").update(window_s=59), "its window is shorter"),
    "a tool not counted": (
        lambda d: policy(d, "pace").update(tools=["ping"]),
        "test is not counted",
    ),
    "a requirement less": (
        lambda d: policy(d, "order").update(requires={"deploy": ["ping"]}, invalidated_by={}),
        "does not require test",
    ),
    "staleness less": (
        lambda d: policy(d, "order").update(invalidated_by={}),
        "other tools make test stale",
    ),
    "staleness more": (
        lambda d: policy(d, "order").update(invalidated_by={"test": ["edit", "run"]}),
        "other tools make test stale",
    ),
    "a new requirement that goes stale": (
        lambda d: policy(d, "order").update(
            requires={"deploy": ["test", "ping"]},
            invalidated_by={"test": ["edit"], "ping": ["run"]},
        ),
        "ping is required for the first time",
    ),
    "a policy less": (lambda d: without(d, "read-first"), "policy read-first is gone"),
    "a policy of another kind": (
        lambda d: policy(d, "read-first").update(
            kind="rate-limit", tools=["edit"], limit=1, window_s=1
        ),
        "it is another",
    ),
    "a denied pattern less": (
        lambda d: policy(d, "safe")["rules"][0].update(deny=[]),
        "is gone, or looser",
    ),
    "an allowed pattern more": (
        lambda d: policy(d, "safe")["rules"][0].update(allow=["a+", "b+", "c+"]),
        "is gone, or looser",
    ),
    "the first allowed pattern less": (
        lambda d: policy(d, "safe")["rules"][0].update(allow=["b+"]),
        "is gone, or looser",
    ),
    "a tool not gated": (lambda d: policy(d, "safe").update(tools=["run"]), "fs_* is not gated"),
    "other hours": (lambda d: policy(d, "hours").update(begins="07:59"), "open at other times"),
    "other hours by midnight": (
        lambda d: policy(d, "hours").update(begins="08:00", ends="07:00"),
        "open at other times",
    ),
    "another place": (
        lambda d: policy(d, "hours").update(timezone="Europe/Vienna"),
        "those of another place",
    ),
    "a policy for a section": (
        lambda d: d["sections"][0]["policies"].append(d["policies"].pop(2)),
        "gates a section only",
    ),
    "a tool out of its section": (
        lambda d: d["tools"].append(d["sections"][0]["tools"].pop()),
        "does not gate fs_*",
    ),
    "a later deadline": (lambda d: d.update(deadline_s=3601), "deadline_s"),
    "no deadline": (lambda d: d.pop("deadline_s"), "deadline_s"),
    "a budget less": (lambda d: d.update(budgets={"calls": 100}), "budget cost_usd"),
    "a larger budget": (
        lambda d: d.update(budgets={"calls": 100, "cost_usd": "10.00"}),
        "budget cost_usd",
    ),
    "every tool": (lambda d: d.update(other_tools="allow"), "not listed are allowed"),
    "another tool": (lambda d: d["tools"].append({"name": "new"}), "tool new is added"),
    "a tool otherwise": (
        lambda d: d["tools"][1].update(access="read", resources=["p"]),
        "described otherwise",
    ),
    "a tool less that writes": (
        lambda d: (
            d["tools"].pop(0),
            d["tools"].append({"name": "w", "access": "write", "resources": ["p"]}),
            policy(d, "order").update(invalidated_by={}),
        ),
        "would not be heard",
    ),
    "people asked": (
        lambda d: d["policies"].append(ASKS),
        "policy ask asks people about more calls, and the deadline may stand still meanwhile",
    ),
    "people asked, where only the host may give a deadline": (
        lambda d: (d["policies"].append(ASKS), d.pop("deadline_s")),
        "the deadline may stand still",
    ),
    "other mounts": (lambda d: d.update(workspace={"mounts": ["/w"]}), "workspace is another"),
    "other feedback": (
        lambda d: d.update(
            feedback=[{"kind": "static", "name": "n", "text": "t", "trigger": {"every_n_calls": 1}}]
        ),
        "feedback is another",
    ),
}


@pytest.mark.parametrize("name", TIGHTER)
def test_a_tightening_is_proved(name: str) -> None:
    assert why_not_tighter(compiled(FULL), changed(TIGHTER[name])) == ()


@pytest.mark.parametrize("name", NOT_PROVED)
def test_what_may_allow_more_is_not_proved_and_says_why(name: str) -> None:
    change, why = NOT_PROVED[name]
    assert why in "; ".join(why_not_tighter(compiled(FULL), changed(change)))


def test_a_policy_that_asks_about_more_tools_may_stop_the_clock_more_often() -> None:
    section = changed(lambda d: d["sections"][0]["policies"].append({**ASKS, "tools": ["run"]}))
    everywhere = changed(lambda d: d["policies"].append({**ASKS, "tools": ["run"]}))
    assert "stand still" in "; ".join(why_not_tighter(section, everywhere))
    assert why_not_tighter(section, section) == ()
    assert why_not_tighter(everywhere, everywhere) == ()


def test_a_plugin_may_ask_too() -> None:
    plugin = {"kind": "plugin", "plugin": "odd", "name": "odd"}
    old = compiled(FULL)
    new = AgentDefinition.from_json(json.dumps({**FULL, "policies": [*FULL["policies"], plugin]}))
    added = replace(old, definition=new)
    assert "stand still" in "; ".join(why_not_tighter(old, added))


def test_a_policy_that_lets_the_deadline_run_may_let_the_agent_stop_unchecked() -> None:
    def checked(document: Document) -> None:
        document.update(completion={"checker": {"kind": "files", "files": ["x"]}})
        document["policies"].append(ASKS)

    def asked_by_two(document: Document) -> None:
        checked(document)
        document["policies"].append({**ASKS, "name": "too", "pauses_deadline": False})

    reasons = why_not_tighter(changed(checked), changed(asked_by_two))
    assert "past it, the agent may stop unchecked" in "; ".join(reasons)


def test_with_a_completion_check_a_smaller_budget_lets_the_agent_stop_sooner() -> None:
    def checked(document: Document) -> None:
        document.update(completion={"checker": {"kind": "files", "files": ["x"]}})

    def smaller(document: Document) -> None:
        checked(document)
        document.update(deadline_s=60)

    assert "stop unchecked" in "; ".join(why_not_tighter(changed(checked), changed(smaller)))


def test_a_limit_that_counts_roughly_is_comparable_to_itself_only() -> None:
    rough = changed(lambda d: policy(d, "pace").update(limit=1000))
    assert why_not_tighter(rough, rough) == ()
    exact = changed(lambda d: policy(d, "pace").update(limit=100))
    assert "counts roughly" in "; ".join(why_not_tighter(rough, exact))


def test_a_cheaper_pattern_would_allow_what_costs_too_much_by_the_old_ones() -> None:
    """Why the first of the allowed patterns may not be left out."""
    verdicts: list[str] = []
    for allow in (["(?:[a-f]|[g-k]){400}", "x*"], ["x*"]):
        rule = {"param": "command", "allow": allow}
        session = Rehearsal(changed(lambda d, r=rule: policy(d, "safe").update(rules=[r])))
        session.begin()
        verdicts.append(session.check("run", params={"command": "x" * 100_000}).decision)
    assert verdicts == ["deny", "allow"]


def test_fewer_policies_share_the_work_of_matching() -> None:
    def share(document: Document) -> None:
        other = copy.deepcopy(policy(document, "safe"))
        document["policies"].append({**other, "name": "other"})

    def part(document: Document) -> None:
        share(document)
        # `other` gates what nobody may call any more.
        document["sections"][0]["tools"].pop()
        policy(document, "safe").update(tools=["run"])
        policy(document, "other").update(tools=["ping"])

    old, new = changed(share), changed(part)
    assert "it may spend more on matching" in "; ".join(why_not_tighter(old, new))


# The law.


class Told(Rehearsal):
    """A session that is told what another's log says, and folds it by its own definition."""

    def __init__(self, guarded: Guarded) -> None:
        super().__init__(guarded, begin=False)
        self.kept: dict[int, dict[str, Fact]] = {}

    def hear(self, entry: AnySessionEntry) -> None:
        """Fold an entry of the other's log."""
        kept = None
        if isinstance(entry, StateRestored) and entry.to_sequence is not None:
            kept = self.kept[entry.to_sequence]
        self._append(entry, kept)
        if isinstance(entry, StateKept):
            self.kept[self.log[-1][0]] = state_of(self.whole)

    def become(self, guarded: Guarded) -> None:
        """Go on by another definition, with all facts that there are."""
        self.session = type(self)(guarded).session


TOOLS = ("edit", "test", "deploy", "ping", "run", "fs_x")
names = st.sampled_from(TOOLS)
some = st.lists(
    st.sampled_from(("edit", "test", "deploy", "ping", "run", "fs_*")),
    min_size=1,
    max_size=3,
    unique=True,
)
patterns = st.lists(st.sampled_from(("a+", "b+", "aaa", "[ab]*", "")), max_size=3)


@st.composite
def changes(draw: st.DrawFn) -> Callable[[Document], None]:
    """One change to a definition, that tightens, loosens, or neither."""
    kind = draw(st.integers(0, 12))
    pauses = draw(st.booleans())
    tools, number = draw(some), draw(st.integers(1, 4))
    allow, deny = draw(patterns), draw(patterns)
    day = draw(st.sampled_from(("mon", "tue", "fri")))
    hour = draw(st.integers(0, 23))

    def change(d: Document) -> None:
        match kind:
            case 0:
                policy(d, "pace").update(limit=number)
            case 1:
                policy(d, "pace").update(window_s=number * 20)
            case 2:
                policy(d, "pace").update(tools=tools)
            case 3:
                policy(d, "order").setdefault("requires", {})["deploy"] = tools
            case 4:
                policy(d, "order")["requires"][tools[0]] = tools[1:] or ["test"]
            case 5:
                policy(d, "order").update(invalidated_by={"test": tools})
            case 6:
                policy(d, "safe")["rules"][0].update(allow=allow, deny=deny)
            case 7:
                policy(d, "safe").update(tools=tools)
            case 8:
                policy(d, "hours").update(days=[day], begins=f"{hour:02}:00", ends="17:00")
            case 9:
                d["policies"].append(
                    {
                        "kind": "rate-limit",
                        "name": "more",
                        "tools": tools,
                        "limit": number,
                        "window_s": 60,
                    }
                )
            case 10:
                d["tools"] = [each for each in d["tools"] if each["name"] not in tools]
            case 11:
                d["policies"].append({**ASKS, "tools": tools, "pauses_deadline": pauses})
            case _:
                d.update(deadline_s=number * 60, budgets={"calls": number * 3})

    return change


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Guarded, Guarded]:
    """Two definitions of which one is the other after some changes."""
    base = copy.deepcopy(FULL)
    base.update(deadline_s=240, budgets={"calls": 12})
    if draw(st.booleans()):
        checker = {
            "kind": "verification",
            "name": "tested",
            "tool": "test",
            "stale_after": ["edit"],
        }
        base.update(completion={"checker": checker, "max_blocks": 100})
    policy(base, "hours").update(days=["mon", "fri"], begins="00:00", ends="23:00")
    for change in draw(st.lists(changes(), max_size=2)):
        change(base)
    other = copy.deepcopy(base)
    for change in draw(st.lists(changes(), min_size=1, max_size=2)):
        change(other)
    found: list[Guarded] = []
    for document in (base, other):
        try:
            found.append(compiled(document))
        except (DefinitionError, ValueError):
            found.append(compiled(FULL))
    return found[0], found[1]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("call"), names, st.sampled_from(("ok", "failed", "none", "late"))),
        st.tuples(st.just("unasked"), names, st.sampled_from(("ok", "failed"))),
        st.tuples(st.just("wait"), st.integers(1, 50), st.none()),
        st.tuples(st.sampled_from(("keep", "back", "reset", "become")), st.none(), st.none()),
    ),
    max_size=25,
)
STALE = [
    ("call", "edit", "ok"),
    ("call", "test", "none"),
    ("keep", None, None),
    ("back", None, None),
]


@settings(deadline=None)
@given(
    pair=pairs(),
    author_is_new=st.booleans(),
    story=steps,
    command=st.sampled_from(("a", "ab", "aaa", "b", "")),
)
@example(pair=(compiled(FULL), compiled(FULL)), author_is_new=False, story=STALE, command="a")
def test_whatever_is_called_a_tightening_allows_no_call_that_the_old_one_denies(
    pair: tuple[Guarded, Guarded], author_is_new: bool, story: list[Any], command: str
) -> None:
    """On any log, whoever wrote it; also of a session that goes on by the new one with the facts it had."""
    old, new = pair
    proved = why_not_tighter(old, new) == ()
    event(f"proved: {proved}")
    if not proved:
        return
    before, after, moved = Told(old), Told(new), Told(old)
    author = Rehearsal(new if author_is_new else old, begin=False)
    heard = number = 0

    def spread() -> None:
        nonlocal heard
        for _, entry in author.log[heard:]:
            for each in (before, after, moved):
                each.hear(entry)
        heard = len(author.log)

    def look(call_id: str, tool: str) -> None:
        params = {"command": command}
        first, *others = (_verdict(each, tool, call_id, params) for each in (before, after, moved))
        if first == "deny":
            assert others == ["deny", "deny"]
        first, *others = (
            _unnoted(each, lambda each=each: each.stop()) for each in (before, after, moved)
        )
        if first == "deny":
            assert others == ["deny", "deny"]

    author.begin()
    spread()
    kept: str | None = None
    open_calls: list[tuple[str, str]] = []
    for what, given_, how in story:
        for each in TOOLS:
            number += 1
            look(f"look{number}", each)
        number += 1
        if what == "wait":
            for each in (author, before, after, moved):
                each.now_us += given_ * 1_000_000
        elif what == "become":
            moved.become(new)
        elif what == "keep":
            kept = f"s{number}"
            author.snapshot(kept)
        elif what == "reset":
            author.reset()
        elif what == "back":
            if kept is not None:
                author.restore(kept)
        elif what == "unasked":
            author.result(given_, f"u{number}", how, params={"command": command})
        else:
            call_id = f"c{number}"
            answer = author.check(given_, call_id, params={"command": command})
            if answer.decision == "allow" and how in ("ok", "failed"):
                author.result(given_, call_id, how, params={"command": command})
            elif answer.decision == "allow" and how == "late":
                open_calls.append((given_, call_id))
            elif open_calls:
                tool, late = open_calls.pop()
                author.result(tool, late, "ok", params={"command": command})
        spread()
    # And by a log that only the new one can have written.
    _calls_past_the_deadline(old, new, [given_ for what, given_, _ in story if what == "call"])


def _calls_past_the_deadline(old: Guarded, new: Guarded, tools: list[str]) -> None:
    """Where nobody stops the clock of the old one's sessions, nobody does of the new one's, whatever was asked."""
    deadline_s = old.definition.deadline_s
    pausing = any(getattr(each, "pauses_deadline", False) for each in old.definition.policies)
    if deadline_s is None or pausing:
        return
    session = Rehearsal(new)
    for tool in tools:
        session.check(tool, params={"command": "a"})
    session.passing(deadline_s)
    assert {session.check(tool).decision for tool in TOOLS} == {"deny"}


def _verdict(session: Told, tool: str, call_id: str, params: Mapping[str, Any]) -> str:
    """What it would answer to a call."""
    return _unnoted(session, lambda: session.check(tool, call_id, params=params))


def _unnoted(session: Told, ask: Callable[[], Any]) -> str:
    """What it would answer; nothing is written down."""
    log, stored = len(session.log), dict(session.stored)
    answer = ask()
    del session.log[log:]
    session.stored.clear()
    session.stored.update(stored)
    return answer.decision
