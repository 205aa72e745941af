"""Keeping, setting back and forgetting a session's state; beginning a session, and going on with it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rehearsed_session import BEGIN_US, SECOND_US, Rehearsal, Scripted, guarded

from lictor_guard.errors import SessionStateError
from lictor_guard.facts.fact import Changes, Fact, Facts
from lictor_guard.facts.session_facts import STATE_CHANGE, Identity, Tally
from lictor_guard.facts.state_document import state_document, state_hash
from lictor_guard.log.replay import Replay
from lictor_guard.plugins.tool_policy import Restored
from lictor_schema.sessions.session_questions import RestoreRequest, StateDocument

TOOLS = ("edit", "test", "deploy")
ORDER = {"kind": "sequential-dependency", "name": "order", "requires": {"deploy": ["test"]}}
RATE = {"kind": "rate-limit", "name": "rate", "tools": ["edit"], "limit": 2, "window_s": 60}
STATIC = {"kind": "static", "name": "s", "text": "hi", "trigger": {"every_n_calls": 2}}


class Note(Fact, kind="test-note", retention="state"):
    """What a scripted policy knows."""

    text: str


def _play(**sections: Any) -> Rehearsal:
    return Rehearsal(guarded(tools=TOOLS, policy_specs=[ORDER, RATE], **sections))


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def test_state_goes_through_a_document_and_the_session_goes_on_from_it() -> None:
    """Scenario 135: state round-trips through JSON and restores; what follows builds on it."""
    play = _play()
    play.call("test")
    kept = play.snapshot("a", with_document=True)
    assert kept.document is not None
    read = StateDocument.model_validate_json(kept.document.model_dump_json())
    other = _play()
    assert other.check("deploy").decision == "deny"
    restored = other.restore(document=read)
    assert (restored.ok, restored.state_hash) == (True, kept.state_hash)
    assert other.check("deploy").decision == "allow"
    assert other.state() == play.state()
    assert other.rebuilt() == other.stored


def test_what_only_logs_is_not_in_a_snapshot_and_survives_a_restore() -> None:
    """Scenario 136: counters, call ids, rates and cadences stay; knowledge goes back."""
    play = _play(feedback=[STATIC])
    play.snapshot("empty")
    play.call("test")
    play.call("edit")
    play.collect("f1")
    log_before = {n: f for n, f in play.whole.items() if f.retention == "log"}
    document = play.snapshot("full", with_document=True).document
    assert document is not None
    assert set(document.facts) == {"policy/order/tool:test"}
    play.restore("empty")
    assert play.state() == {}
    # The restore notes that it was the last change, in the place of the snapshot.
    assert log_before.pop(STATE_CHANGE) != play.whole[STATE_CHANGE]
    assert {name: play.whole[name] for name in log_before} == log_before
    assert play.check("deploy").policy_id == "order"


def test_a_restore_goes_to_the_snapshot_that_is_named_also_after_another_restore() -> None:
    play = _play()
    play.snapshot("none")
    play.call("test")
    play.snapshot("tested")
    play.restore("none")
    assert play.check("deploy").decision == "deny"
    play.restore("tested")
    assert play.check("deploy").decision == "allow"
    assert play.rebuilt() == play.stored


def _documents() -> dict[str, StateDocument]:
    play = _play()
    play.call("test")
    good = play.snapshot("a", with_document=True).document
    assert good is not None
    stored = next(iter(good.facts.values()))
    of = good.definition_hash
    tally = Tally(calls=0).encode().decode()
    return {
        "another definition": good.model_copy(update={"definition_hash": "sha256:" + "0" * 64}),
        "an unknown kind": StateDocument(
            format=1, definition_hash=of, facts={"policy/order/x": 'no-such-kind {"a":1}'}
        ),
        "a damaged fact": StateDocument(
            format=1, definition_hash=of, facts={"policy/order/x": stored[:-2]}
        ),
        "a fact that only logs": StateDocument(
            format=1, definition_hash=of, facts={"policy/order/x": tally}
        ),
        "the session's own fact": StateDocument(
            format=1, definition_hash=of, facts={"session/tally": tally}
        ),
        "nobody's fact": StateDocument(
            format=1, definition_hash=of, facts={"policy/other/x": stored}
        ),
        "an owner without a key": StateDocument(
            format=1, definition_hash=of, facts={"policy/order": stored}
        ),
    }


@pytest.mark.parametrize("what", _documents())
def test_a_document_that_does_not_fit_is_refused_and_changes_nothing(what: str) -> None:
    """Scenario 137: an unknown kind, another definition, or a damaged document is refused."""
    play = _play()
    play.call("test")
    before = dict(play.stored)
    answer = play.restore(document=_documents()[what])
    assert not answer.ok
    assert answer.remedy
    assert play.stored == before


def test_no_restore_takes_the_place_of_what_was_logged() -> None:
    play = _play()
    play.call("edit")
    play.call("edit")
    of = play.guarded.hash
    stray = Note(text="nothing was called").encode().decode()
    document = StateDocument(format=1, definition_hash=of, facts={"policy/rate/window": stray})
    answer = play.restore(document=document)
    assert not answer.ok
    assert "'policy/rate/window'" in answer.reason
    assert play.restore(document=StateDocument(format=1, definition_hash=of, facts={})).ok
    assert play.check("edit").policy_id == "rate"


def test_a_restore_that_stands_in_the_log_leaves_what_was_logged() -> None:
    play = _play()
    play.call("edit")
    of = play.guarded.hash
    stray = Note(text="nothing was called").encode().decode()
    entry, _ = play.session.restore(
        RestoreRequest(
            request_id="q",
            runtime="rehearsal",
            agent_id="a1",
            task_id="t1",
            session_id="s1",
            requested_at=_moment(BEGIN_US),
            document=StateDocument(
                format=1, definition_hash=of, facts={"policy/rate/window": stray}
            ),
            cause="rolled back",
        ),
        {name: fact for name, fact in play.whole.items() if not name.startswith("policy/")},
        None,
        play.now_us,
    )
    assert entry is not None
    changes = play.session.fold_whole(entry, play.whole, {})
    assert "policy/rate/window" not in changes


def test_an_unknown_snapshot_is_refused_and_so_is_a_name_that_is_taken() -> None:
    play = _play()
    assert not play.restore("never").ok
    assert play.snapshot("a").ok
    assert not play.snapshot("a").ok
    assert play.kinds == ["session_begun", "state_kept"]


def test_a_state_that_no_document_can_hold_is_refused_when_it_is_kept() -> None:
    """Scenario 138: what can't be kept is refused at snapshot time."""
    play = _play()
    play.stored["policy/order/big"] = Note(text="x" * 70_000).encode()
    answer = play.snapshot("a")
    assert not answer.ok
    assert play.kinds == ["session_begun"]


def test_a_log_that_does_not_give_the_snapshot_again_is_refused() -> None:
    play = _play()
    play.call("test")
    play.snapshot("a")
    play.log = [numbered for numbered in play.log if numbered[1].kind != "call_finished"]
    before = dict(play.stored)
    assert not play.restore("a").ok
    assert play.stored == before


def test_a_reset_forgets_knowledge_and_keeps_identity_budgets_ids_and_snapshots() -> None:
    """Scenario 139: reset empties; the policies go on working; another session is untouched."""
    play = _play(feedback=[STATIC], budgets={"calls": 50})
    other = _play()
    other.call("test")
    untouched = dict(other.stored)
    play.call("test")
    play.call("edit")
    play.check("edit", "held")
    play.snapshot("a")
    identity, calls = play.whole["session/identity"], play.tally.calls
    assert play.reset().ok
    left = play.whole
    assert not [name for name in left if name.startswith(("policy/", "provider/", "checker/"))]
    assert "session/recent" not in left
    assert (left["session/identity"], play.tally.calls) == (identity, calls)
    assert "session/snapshot/a" in left
    assert play.result("test", "c1").duplicate
    assert play.check("deploy").policy_id == "order"
    play.call("test")
    assert play.check("deploy").decision == "allow"
    assert other.stored == untouched
    assert play.rebuilt() == play.stored


def test_feedback_that_was_delivered_is_not_repeated_after_a_restore() -> None:
    """Scenario 148: the cadence is log, not state."""
    play = _play(feedback=[STATIC])
    play.snapshot("a")
    play.call("test")
    play.call("test")
    assert play.collect("f1").feedback
    play.restore("a")
    assert play.collect("f2").feedback == ()


class Reacting(Scripted):
    """A policy that reacts to a restore."""

    def on_restored(self, restored: Restored, facts: object) -> Changes:
        assert isinstance(facts, dict)
        return {"seen": Note(text=f"{restored.snapshot_id}, {sorted(facts)}")}


class Stumbling(Scripted):
    """A policy that can't cope with a restore."""

    def on_restored(self, restored: Restored, facts: object) -> Changes:
        raise ValueError("no")


def test_policies_react_to_a_restore_and_one_that_fails_denies() -> None:
    learn = lambda _: {"k": Note(text="known")}  # noqa: E731
    policies = (Reacting("reacts", learn=learn), Stumbling("stumbles"))
    play = Rehearsal(guarded(tools=TOOLS, policies=policies))
    play.result("edit")
    play.snapshot("a")
    play.restore("a")
    assert play.whole["policy/reacts/seen"] == Note(text="a, ['k']")
    assert play.check("edit").policy_id == "stumbles"
    assert play.rebuilt() == play.stored


def test_the_hash_of_a_state_does_not_depend_on_the_order_of_facts() -> None:
    facts: dict[str, Fact] = {"policy/a/1": Note(text="1"), "policy/a/2": Note(text="2")}
    turned = dict(reversed(facts.items()))
    of = "sha256:" + "1" * 64
    assert state_hash(state_document(facts, of)) == state_hash(state_document(turned, of))
    assert list(state_document(turned, of).facts) == sorted(facts)


def test_a_replay_from_the_middle_says_that_it_lacks_the_snapshot() -> None:
    play = _play()
    play.snapshot("a")
    play.restore("a")
    replay = Replay(play.session.folder, play.whole)
    with pytest.raises(SessionStateError, match="from its begin"):
        replay.add(*play.log[-1])


def test_entries_that_concern_every_fact_are_not_folded_from_some() -> None:
    play = _play()
    play.reset()
    sequence, entry = play.log[-1]
    with pytest.raises(SessionStateError, match="fold_whole"):
        play.session.names_to_fold(entry)
    with pytest.raises(SessionStateError, match="fold_whole"):
        play.session.fold(entry, sequence, Facts({}))


def test_a_session_begins_once_and_is_told_the_same_again() -> None:
    play = _play(deadline_s=60)
    first = play.show()
    play.passing(5)
    again = play.begin()
    assert (again.definition_hash, again.deadline_at) == (first.definition_hash, first.deadline_at)
    assert again.deadline_at == _moment(BEGIN_US + 60 * SECOND_US)
    assert play.kinds == ["session_begun"]
    play.begin(prompted=True)
    assert play.kinds == ["session_begun", "work_given"]


@pytest.mark.parametrize(
    ("asked_s", "deadline_s", "expected_s"),
    [
        (30, 60, 30),
        (90, 60, 60),
        (30, None, 30),
        (None, 60, 60),
        (None, None, None),
        (-10, 60, -10),
    ],
)
def test_the_earlier_deadline_holds(
    asked_s: int | None, deadline_s: int | None, expected_s: int | None
) -> None:
    play = Rehearsal(guarded(tools=TOOLS, deadline_s=deadline_s), begin=False)
    asked = None if asked_s is None else _moment(BEGIN_US + asked_s * SECOND_US)
    play.begin(deadline_at=asked)
    identity = play.whole["session/identity"]
    assert isinstance(identity, Identity)
    expected = None if expected_s is None else BEGIN_US + expected_s * SECOND_US
    assert identity.deadline_us == expected


def test_a_deadline_later_than_an_entry_can_tell_is_as_late_as_it_can() -> None:
    play = Rehearsal(guarded(tools=TOOLS), begin=False)
    answer = play.begin(deadline_at=datetime(2999, 12, 30, tzinfo=UTC))
    assert answer.deadline_at == _moment(2**53 - 1)
    assert play.check("edit").decision == "allow"


def test_a_session_keeps_its_task_and_its_definition() -> None:
    play = _play()
    mine = play.guarded.hash
    assert play.begin(definition="rehearsed", definition_hash=mine).ok
    assert not play.begin(task="t2", prompted=True).ok
    assert not play.begin(definition="other", prompted=True).ok
    assert not play.begin(definition_hash="sha256:" + "0" * 64, prompted=True).ok
    assert play.kinds == ["session_begun"]


def test_an_adapter_is_told_what_it_needs_to_know() -> None:
    tools = [{"name": "write", "access": "write", "resources": ["path"]}]
    completion = {"checker": {"kind": "files", "files": ["out.txt"]}, "on_silence": "allow"}
    watching = {"kind": "static", "name": "s", "text": "hi", "trigger": {"on_file_created": "go"}}
    play = Rehearsal(
        guarded(
            tools=tools, workspace={"mounts": ["/w"]}, completion=completion, feedback=[watching]
        )
    )
    shown = play.show()
    assert shown.resource_params == {"write": ("path",)}
    assert (shown.mounts, shown.look_at, shown.stop_on_silence) == (("/w",), ("out.txt",), "allow")
    assert play.result("write").look_at == ("go",)
    blocking = {**completion, "on_silence": "block"}
    assert Rehearsal(guarded(tools=tools, completion=blocking)).show().stop_on_silence == "block"
    assert _play().show().stop_on_silence == "allow"
