"""Laws of the session core, over random scripts of questions against a definition with every built-in part."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rehearsed_session import Rehearsal, guarded

from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.session_log import CallDenied, CallFinished, parse_session_entry
from lictor_schema.sessions.session_questions import Resource, SeenFile, Usage

TOOLS = ("read", "write", "test", "deploy", "search", "unlisted")
_HASHES = ("sha256:" + "1" * 64, "sha256:" + "2" * 64)
EVERYTHING = guarded(
    tools=[
        {"name": "read", "access": "read", "resources": ["path"]},
        {"name": "write", "access": "write", "resources": ["path"]},
        {"name": "test"},
        {"name": "sea*"},
    ],
    sections=[
        {
            "name": "ship",
            "tools": [{"name": "deploy"}],
            "policies": [
                {
                    "kind": "sequential-dependency",
                    "name": "order",
                    "requires": {"deploy": ["test"]},
                    "invalidated_by": {"test": ["write"]},
                }
            ],
        }
    ],
    policy_specs=[
        {"kind": "read-before-write", "name": "rbw"},
        {"kind": "rate-limit", "name": "rate", "tools": ["test"], "limit": 3, "window_s": 20},
        {
            "kind": "parameters",
            "name": "paths",
            "tools": ["write"],
            "rules": [{"param": "path", "deny": ["secret"]}],
        },
        {
            "kind": "time-window",
            "name": "hours",
            "tools": ["deploy"],
            "begins": "00:00",
            "ends": "23:59",
        },
    ],
    feedback=[
        {"kind": "static", "name": "often", "text": "hi", "trigger": {"every_n_calls": 2}},
        {"kind": "deadline", "name": "time", "trigger": {"every_n_seconds": 10}},
        {"kind": "repeated-calls", "name": "loop", "trigger": {"every_n_calls": 3}},
        {"kind": "budget", "name": "money", "trigger": {"every_n_calls": 4}},
        {
            "kind": "no-progress",
            "name": "idle",
            "trigger": {"every_n_calls": 2, "every_n_seconds": 15},
            "calls": 3,
        },
        {"kind": "static", "name": "file", "text": "go", "trigger": {"on_file_created": "go.txt"}},
    ],
    completion={
        "checker": {
            "kind": "all-of",
            "checkers": [
                {"kind": "files", "files": ["out.txt"]},
                {"kind": "verification", "name": "tests", "tool": "test", "stale_after": ["write"]},
                {"kind": "evidence", "quality": "weak"},
            ],
        },
        "max_blocks": 2,
        "subagents": True,
    },
    deadline_s=400,
    budgets={"calls": 60, "cost_usd": "2.5"},
)

_TEN_YEARS = 10 * 365 * 86_400
LONGEST = guarded(
    tools=TOOLS,
    policy_specs=[
        {
            "kind": "rate-limit",
            "name": "rate",
            "tools": ["test"],
            "limit": 3,
            "window_s": 31 * 86_400,
        }
    ],
    feedback=[
        {
            "kind": "deadline",
            "name": "time",
            "trigger": {"every_n_seconds": _TEN_YEARS},
            "warn_s": _TEN_YEARS,
        }
    ],
    deadline_s=_TEN_YEARS,
)

Step = tuple[str, dict[str, Any]]
_call_ids = st.sampled_from([f"c{n}" for n in range(12)])
_outcomes = st.sampled_from(["ok", "ok", "ok", "failed", "denied", "invalid", "crashed"])


@st.composite
def _touching(draw: st.DrawFn) -> dict[str, Any]:
    path = draw(st.sampled_from(["a", "b/c", "secret\n"]))
    state: Any = draw(st.sampled_from(["file", "file", "missing", "directory", "unknown"]))
    digest = draw(st.sampled_from([None, *_HASHES])) if state == "file" else None
    lost = draw(st.booleans()) and state == "unknown"
    resource = Resource(
        param="path",
        given=path,
        key=None if lost else path,
        state=state,
        digest=digest,
        problem="gone" if lost else None,
    )
    return {"params": {"path": path}, "resources": (resource,)}


_standing = st.sampled_from(
    [
        None,
        TaskStanding(request_id="q", known=True),
        TaskStanding.model_validate_json(
            '{"request_id": "q", "known": true, "evidence": {"strong": 1}}'
        ),
    ]
)
_files = st.sampled_from(
    [
        (),
        (SeenFile(path="go.txt", state="file", size=1), SeenFile(path="out.txt", state="missing")),
        (SeenFile(path="out.txt", state="file", size=1),),
    ]
)
_usage = st.sampled_from(
    [
        None,
        Usage(input_tokens=3, output_tokens=1, cost_usd="0.123456789012"),
        Usage(cost_usd="-1"),
        Usage(cost_usd="0.9"),
    ]
)
_steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(
        st.sampled_from(["check", "call"]),
        st.fixed_dictionaries({"tool": st.sampled_from(TOOLS), "about": _touching()}),
    ),
    st.tuples(
        st.just("check_id"),
        st.fixed_dictionaries(
            {"tool": st.sampled_from(TOOLS), "call_id": _call_ids, "about": _touching()}
        ),
    ),
    st.tuples(
        st.just("result"),
        st.fixed_dictionaries(
            {
                "tool": st.sampled_from(TOOLS),
                "call_id": _call_ids,
                "outcome": _outcomes,
                "about": _touching(),
                "usage": _usage,
            }
        ),
    ),
    st.tuples(
        st.just("unseen"),
        st.fixed_dictionaries(
            {"tool": st.sampled_from(TOOLS), "call_id": _call_ids, "outcome": _outcomes}
        ),
    ),
    st.tuples(
        st.just("use"),
        st.fixed_dictionaries(
            {"report_id": st.sampled_from(["u1", "u2", "u3"]), "usage": _usage.filter(bool)}
        ),
    ),
    st.tuples(
        st.just("collect"),
        st.fixed_dictionaries({"call_id": _call_ids, "files": _files, "standing": _standing}),
    ),
    st.tuples(st.just("tick"), st.fixed_dictionaries({"standing": _standing})),
    st.tuples(
        st.just("stop"),
        st.fixed_dictionaries(
            {
                "agent": st.sampled_from(["a1", "sub"]),
                "files": st.one_of(st.none(), _files),
                "standing": _standing,
            }
        ),
    ),
    st.tuples(
        st.sampled_from(["snapshot", "restore"]),
        st.fixed_dictionaries({"snapshot_id": st.sampled_from(["s1", "s2"])}),
    ),
    st.tuples(st.sampled_from(["reset", "begin"]), st.just({})),
    st.tuples(
        st.just("pass"), st.fixed_dictionaries({"seconds": st.sampled_from([1, 9, 15, 40, -20])})
    ),
)
_scripts = st.lists(_steps, max_size=40)


def _perform(play: Rehearsal, step: Step) -> None:
    what, fields = step
    match what:
        case "check":
            _checked(play, play.check(fields["tool"], **fields["about"]))
        case "check_id":
            _checked(play, play.check(fields["tool"], fields["call_id"], **fields["about"]))
        case "call":
            play.call(fields["tool"], **fields["about"])
        case "result":
            play.result(
                fields["tool"],
                fields["call_id"],
                fields["outcome"],
                usage=fields["usage"],
                **fields["about"],
            )
        case "unseen":
            play.result_unseen(fields["tool"], fields["call_id"], fields["outcome"])
        case "use":
            play.use(fields["report_id"], **fields["usage"].model_dump())
        case "collect":
            play.collect(**fields)
        case "tick":
            play.tick(**fields)
        case "stop":
            play.stop(subagent=fields["agent"] == "sub", **fields)
        case "snapshot":
            play.snapshot(**fields)
        case "restore":
            play.restore(**fields)
        case "reset":
            play.reset()
        case "begin":
            play.begin(prompted=True)
        case "pass":
            play.passing(**fields)
        case _:
            raise AssertionError(what)


def _checked(play: Rehearsal, answer: Any) -> None:
    logged = {entry.entry_id for _, entry in play.log}
    assert (answer.decision == "deny") == (answer.record_id in logged)


def _played(script: Sequence[Step], play: Rehearsal | None = None) -> Rehearsal:
    play = play or Rehearsal(EVERYTHING)
    for step in script:
        _perform(play, step)
    return play


law = settings(max_examples=max(25, settings().max_examples // 2), deadline=None)


@law
@given(_scripts)
def test_the_stored_fold_is_the_fold_of_the_log_made_anew(script: list[Step]) -> None:
    play = _played(script)
    assert play.rebuilt() == play.stored


@law
@given(_scripts)
def test_every_entry_that_a_session_makes_can_be_read_again(script: list[Step]) -> None:
    """However long the times are that the definition names."""
    play = _played(script, Rehearsal(LONGEST))
    for _, entry in play.log:
        assert parse_session_entry(entry.to_json()) == entry


@law
@given(_scripts)
def test_no_built_in_part_needs_a_fact_that_was_not_loaded(script: list[Step]) -> None:
    play = _played(script)
    assert "session/broken" not in play.stored
    for _, entry in play.log:
        assert not getattr(entry, "failures", ())
        denials = entry.denials if isinstance(entry, CallDenied) else ()
        assert not [each for each in denials if re.match("Policy '.*' failed", each.reason)]


def _misused(entry: CallDenied) -> bool:
    return [each.policy_id for each in entry.denials] == ["lictor.call-id-used"]


@law
@given(_scripts)
def test_every_call_that_ended_or_was_denied_is_counted_once(script: list[Step]) -> None:
    """Scenario 144: no result is lost and none counted twice, in whatever order they come."""
    play = _played(script)
    ids = {
        entry.call_id
        for _, entry in play.log
        # Who asks under the id of another call is denied, and that other call is not told to have ended by it.
        if isinstance(entry, CallFinished)
        or (isinstance(entry, CallDenied) and not _misused(entry))
    }
    tally = play.tally
    assert tally.calls == len(ids) == tally.succeeded + tally.failed + tally.denied


@law
@given(_scripts)
def test_a_report_made_again_changes_nothing(script: list[Step]) -> None:
    """Scenario 149: whatever happened since."""
    play = _played(script)
    for what, fields in script:
        if what in ("result", "use"):
            before = dict(play.stored)
            _perform(play, (what, fields))
            if what == "use" or fields["outcome"] == "denied":
                assert play.stored == before
            else:
                # A call that was denied may be reported once to have run all the same.
                again = dict(play.stored)
                _perform(play, (what, fields))
                assert play.stored == again


@law
@given(_scripts)
def test_a_stop_asked_again_changes_nothing_and_gets_the_same_answer(script: list[Step]) -> None:
    play = Rehearsal(EVERYTHING)
    for number, (what, fields) in enumerate(script):
        if what != "stop":
            _perform(play, (what, fields))
            continue
        asked = {**fields, "subagent": fields["agent"] == "sub", "request_id": f"stop {number}"}
        first, before = play.stop(**asked), dict(play.stored)
        assert play.stop(**asked) == first
        assert play.stored == before


_NEW_FILE = Resource(param="path", given="a", key="a", state="missing")


@law
@given(_scripts, _scripts)
@example(
    # A write that is under way at the restore.
    before=[
        ("check", {"tool": "write", "about": {"params": {"path": "a"}, "resources": (_NEW_FILE,)}}),
        ("call", {"tool": "test", "about": {"params": {}, "resources": ()}}),
    ],
    between=[],
)
def test_a_restore_sets_state_back_and_takes_nothing_off_the_log(
    before: list[Step], between: list[Step]
) -> None:
    play = _played(before)
    play.snapshot("mine")
    state = play.state()
    _played(between, play)
    logged, tally = _logged(play), play.tally
    answer = play.restore("mine")
    assert answer.ok
    assert play.state() == state
    assert _logged(play) == logged
    times = {"last_us": play.tally.last_us, "active_us": play.tally.active_us}
    assert play.tally == tally.model_copy(update=times)


def _logged(play: Rehearsal) -> dict[str, bytes]:
    # The tally tells the time of the restore too, the last change of state is the restore itself, and who may have been
    # running through it notes that there was one.
    apart = ("session/tally", "session/state-change", "checker/", "policy/order/set-back")
    return {
        name: fact.encode()
        for name, fact in play.whole.items()
        if fact.retention == "log" and not name.startswith(apart)
    }


@law
@given(_scripts)
def test_counters_and_time_only_grow(script: list[Step]) -> None:
    play = Rehearsal(EVERYTHING)
    grown = ("calls", "succeeded", "failed", "denied", "input_tokens", "output_tokens", "last_us")
    for step in script:
        before = play.tally
        _perform(play, step)
        after = play.tally
        assert all(getattr(after, each) >= getattr(before, each) for each in grown)
        costs = [(each.cost_micro_usd, each.cost_below_micro) for each in (before, after)]
        assert costs == sorted(costs)


@law
@given(st.lists(st.tuples(st.booleans(), _steps), max_size=40))
def test_two_sessions_of_one_definition_do_not_see_each_other(
    mixed: list[tuple[bool, Step]],
) -> None:
    """Scenario 142, for sessions: what one learns, the other does not."""
    plays = (Rehearsal(EVERYTHING, session_id="left"), Rehearsal(EVERYTHING, session_id="right"))
    for right, step in mixed:
        _perform(plays[right], step)
    for right, play in enumerate(plays):
        alone = Rehearsal(EVERYTHING, session_id=play.session_id)
        _played([step for side, step in mixed if side == right], alone)
        assert alone.stored == play.stored


@law
@given(_scripts)
def test_the_same_script_gives_the_same_log(script: list[Step]) -> None:
    assert _played(script).log == _played(script).log


@law
@given(_scripts)
def test_an_entry_needs_no_more_facts_however_long_the_log_is(script: list[Step]) -> None:
    play = _played(script)
    fresh = Rehearsal(dataclasses.replace(EVERYTHING))
    for _, entry in play.log:
        if entry.kind not in ("state_restored", "state_reset"):
            names = play.session.names_to_fold(entry)
            assert names == fresh.session.names_to_fold(entry)
            assert len(names) < 40


@pytest.mark.parametrize("calls", [10, 1000])
def test_a_check_loads_the_same_facts_after_many_calls(calls: int) -> None:
    play = Rehearsal(guarded(tools=["edit"], budgets={}))
    request = play.reported("edit", "next")
    first = play.session.names_for_result(request)
    for _ in range(calls):
        play.result("edit")
    names = play.session.names_for_result(request)
    assert names == first
    assert sum(len(play.stored.get(name, b"")) for name in names) < 8_000
