"""Artefacts that are known again, over any sequence of references."""

from hypothesis import given
from hypothesis import strategies as st

from lictor_policy.task.artefacts import MAX_MARKS, KnownArtefacts, all_old
from lictor_schema.events.operator_context import EvidenceRef

REFS = st.builds(
    EvidenceRef,
    kind=st.sampled_from(["log", "Log", "file"]),
    ref=st.sampled_from(["a", "./a", "b", "https://ci/1"]),
    sha256=st.none() | st.sampled_from(["a" * 64, "b" * 64]),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["meet", "take back", "report"]), st.lists(REFS, max_size=4)),
    max_size=30,
)


@given(STEPS)
def test_what_was_met_is_never_new_again_until_it_is_taken_back(
    steps: list[tuple[str, list[EvidenceRef]]],
) -> None:
    known = KnownArtefacts("")
    for what, refs in steps:
        match what:
            case "meet":
                known.bring_something_new(refs)
                assert not KnownArtefacts(known.marks).bring_something_new(refs)
            case "take back":
                known.take_back(refs)
            case _:
                known.marks = all_old(known.marks)
        assert len(known.marks) % 7 == 0
        assert set(known.marks[::7]) <= {"+", " "}


@given(st.lists(REFS, min_size=1, max_size=4), STEPS)
def test_after_a_report_nothing_that_was_met_becomes_new(
    refs: list[EvidenceRef], steps: list[tuple[str, list[EvidenceRef]]]
) -> None:
    known = KnownArtefacts("")
    known.bring_something_new(refs)
    known.marks = all_old(known.marks)
    for what, others in steps:
        if what == "take back":
            known.take_back(others)
    assert not known.bring_something_new(refs)


def test_a_file_is_the_same_under_another_kind_and_an_id_is_not() -> None:
    known = KnownArtefacts("")

    def is_new(kind: str, ref: str) -> bool:
        return known.bring_something_new([EvidenceRef(kind=kind, ref=ref)])

    assert is_new("log", "logs/run.txt")
    assert not is_new("file", "./logs/run.txt")
    assert is_new("url", "https://ci.example/1")
    assert not is_new("ci run", " https://ci.example/1")
    assert is_new("event", "17")
    assert is_new("issue", "17")
    assert not is_new("Issue ", "17")


def test_marks_stay_bounded() -> None:
    known = KnownArtefacts("")
    for number in range(1000):
        known.bring_something_new(
            [EvidenceRef(kind="log", ref=str(number), sha256=f"{number:064x}")]
        )
    assert len(known.marks) == 7 * MAX_MARKS
