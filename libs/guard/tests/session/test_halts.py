"""A halt in a session: nothing but what it says is told, and what was done is still counted."""

from lictor_guard.session.halts import HALTED, judge_halts
from lictor_schema.contracts.decision_log import SwitchEngaged
from lictor_schema.sessions.halt import HaltEntry, HaltTarget

ID = "00000000-0000-4000-8000-000000000001"


def halt(**target: str) -> HaltEntry:
    return HaltEntry(
        entry_id=ID,
        kind="halted",
        target=HaltTarget.model_validate(target or {"scope": "all"}),
        at_us=1_800_000_000_000_000,
        by="ada",
        reason="it deletes files.",
    )


def test_every_halt_is_a_reason_and_none_is_no_judgement() -> None:
    assert judge_halts(()) is None
    switch = SwitchEngaged(
        kind="switch_engaged", entry_id=ID, at_us=1, request_id="r", by="bob", reason="closed"
    )
    judged = judge_halts((halt(scope="agent", definition="coder"), switch))
    assert judged is not None
    assert [each.policy_id for each in judged.denials] == [HALTED, HALTED]
    agents, everybody = (each.reason for each in judged.denials)
    assert agents == (
        "ada halted every session of 'coder' at 2027-01-15T08:00:00.000Z: it deletes files."
    )
    assert everybody.startswith("bob halted everything with the kill-switch at 1970-")
    assert not judged.reserved


def test_the_remedy_is_for_whoever_runs_the_agent() -> None:
    for target, verb in (
        ({"scope": "session", "runtime": "rt", "session_id": "s1"}, "lictor session resume s1"),
        ({"scope": "agent", "definition": "coder"}, "lictor session resume --agent coder"),
        ({"scope": "all"}, "lictor session resume --all"),
    ):
        judged = judge_halts((halt(**target),))
        assert judged is not None
        assert "you can't mend this" in judged.denials[0].remedy
        assert verb in judged.denials[0].remedy
