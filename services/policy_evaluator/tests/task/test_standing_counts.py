"""What a standing says of a task's evidence: never more than there is, and enough to be asked for."""

from hypothesis import given
from hypothesis import strategies as st

from lictor_policy.task.evidence import attach
from lictor_policy.task.state import TaskState
from lictor_policy_evaluator.task.current_state import Current
from lictor_policy_evaluator.task.standing import stand
from lictor_schema.events.evidence import EvidenceItem, Quality
from lictor_schema.gates.task_standing import MAX_COUNTED_ITEMS

STARTED = TaskState(
    task_id="t",
    started=True,
    runtime="r",
    agent_id="a",
    correlation_id="c",
    operator=(None,) * 5,
    title="",
    mode="interactive",
    workflow_shape="single-agent",
    channel="telegram",
    decision_type="",
    session_id=None,
    parent_task_id=None,
    started_us=1,
    opened_us=1,
    checkpoint_interval_s=None,
    silence_timeout_s=None,
    has_report_anchor=False,
    externalized_path_valid=False,
)


def item(number: int, quality: Quality, offered: bool) -> EvidenceItem:
    return EvidenceItem.model_validate(
        {
            "evidence_id": f"e{number}",
            "task_id": "t",
            "correlation_id": "c",
            "agent_id": "a",
            "class": "tool_output",
            "quality": quality,
            "summary": "It ran",
            "captured_at": "2026-01-31T12:00:00Z",
            "refs": [{"kind": "log", "ref": f"log-{number}.txt"}],
            "supports": {"claim_types": ["completion"] if offered else []},
        },
        strict=False,
    )


attachments = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(Quality), st.booleans()), max_size=80
)


@given(attachments)
def test_no_quality_is_told_of_more_often_than_it_was_attached(
    script: list[tuple[int, Quality, bool]],
) -> None:
    state, latest = STARTED, dict[int, Quality]()
    for number, quality, offered in script:
        state = attach(state, (item(number, quality, offered),))
        latest[number] = quality
    told = stand("r", Current(state, 7))
    assert (told.known, told.state_sequence) == (True, 7)
    for quality in Quality:
        true = sum(each.rank >= quality.rank for each in latest.values())
        assert told.at_least(quality) <= true


@given(st.lists(st.tuples(st.sampled_from(Quality), st.booleans()), max_size=80))
def test_as_many_as_a_definition_may_ask_for_are_always_told_of(
    script: list[tuple[Quality, bool]],
) -> None:
    state = STARTED
    for number, (quality, offered) in enumerate(script):
        state = attach(state, (item(number, quality, offered),))
    told = stand("r", Current(state, 1))
    for quality in Quality:
        true = sum(each.rank >= quality.rank for each, _ in script)
        assert told.at_least(quality) >= min(true, MAX_COUNTED_ITEMS)
    assert told.evidence_count == sum(each.rank > 0 for each, _ in script)


def test_the_same_artefact_under_many_ids_counts_once() -> None:
    state = STARTED
    for number in range(5):
        again = item(number, Quality.STRONG, True).model_copy(
            update={"refs": item(0, Quality.WEAK, True).refs}
        )
        state = attach(state, (again,))
    told = stand("r", Current(state, 1))
    assert told.at_least(Quality.WEAK) == told.evidence_count == 1


def test_a_task_that_is_only_announced_is_not_known() -> None:
    assert not stand("r", Current(STARTED.changed(started=False), 3)).known
    assert not stand("r", Current(None, 3)).known
