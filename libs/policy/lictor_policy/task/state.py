"""What is remembered about a task: as much as the facts need, and never more with its history."""

import json
from typing import Any, NamedTuple, cast

from lictor_policy.errors import TaskStateError
from lictor_schema.events.evidence import EvidenceClass, Quality

FORMAT = 4
"""The first element of encoded state; a change of the fields below needs a new number."""

MAX_EVIDENCE = 16
MAX_MISSES = 8
MAX_TITLE = 512

QUALITIES: tuple[Quality, ...] = tuple(Quality)
"""Quality by rank."""


_CLASSES: tuple[EvidenceClass, ...] = tuple(EvidenceClass)


NO_CLASSES: tuple[int, ...] = (0,) * len(_CLASSES)
"""A number for each evidence class, in the order of EvidenceClass: nothing of any."""


def class_index(evidence_class: EvidenceClass) -> int:
    """The place of a class where there is a number for each."""
    return _CLASSES.index(evidence_class)


def class_bit(evidence_class: EvidenceClass) -> int:
    """The bit of a class in `TaskState.class_mask`."""
    return 1 << _CLASSES.index(evidence_class)


# A letter for the class of an item that is offered for a completion, a digit for any other.
_OFFERED = "abcdefghij"
_CLASS_AT = {
    **{str(number): number for number in range(len(_CLASSES))},
    **{_OFFERED[number]: number for number in range(len(_CLASSES))},
}
_NEW, _COUNTED, _AGAIN = "+", " ", "="


def note_evidence(
    evidence_id: str,
    evidence_class: EvidenceClass,
    quality: Quality,
    *,
    offered: bool = False,
    new: bool = False,
    again: bool = False,
) -> str:
    """An attached item in short: a digit for its quality, signs for its class and its newness, then its id.

    `again`: it only shows artefacts that other items showed before.

    One string, because state is decoded for every event and the items are needed for few.
    """
    number = _CLASSES.index(evidence_class)
    sign = _OFFERED[number] if offered else number
    return f"{quality.rank}{sign}{_NEW if new else _AGAIN if again else _COUNTED}{evidence_id}"


def is_offered(note: str) -> bool:
    """Whether a noted item is offered for a completion."""
    return note[1] in _OFFERED


def is_new(note: str) -> bool:
    """Whether a noted item was counted as new since the last checkpoint."""
    return note[2] == _NEW


def shows_again(note: str) -> bool:
    """Whether a noted item only shows what other items showed before."""
    return note[2] == _AGAIN


def as_reported(note: str) -> str:
    """The note of an item after a checkpoint."""
    return note.replace(_NEW, _COUNTED, 1) if is_new(note) else note


def class_index_of(note: str) -> int:
    """The place of a noted item's class where there is a number for each."""
    return _CLASS_AT[note[1]]


def read_evidence(note: str) -> tuple[str, EvidenceClass, Quality]:
    """Id, class and quality of an item noted by `note_evidence`."""
    return note[3:], _CLASSES[_CLASS_AT[note[1]]], QUALITIES[int(note[0])]


Memory = list[int]
"""What is kept about one question to the past; never changed, only replaced."""
History = dict[str, Memory]
"""Memories by name; never changed, only replaced."""


class TaskState(NamedTuple):
    """One task. Times are whole microseconds since 1970, qualities are ranks."""

    # Fixed when the task starts; a named tuple of plain values is its own JSON form.
    task_id: str
    started: bool
    runtime: str
    agent_id: str
    correlation_id: str
    operator: tuple[str | None, ...]
    """The five fields of the operator context, in their order."""
    title: str
    mode: str
    workflow_shape: str
    channel: str
    decision_type: str
    session_id: str | None
    parent_task_id: str | None
    started_us: int
    """When the task began, by the time of its runtime."""
    opened_us: int
    """When the broker stored that; everything due is counted from the broker's times."""
    checkpoint_interval_s: int | None
    silence_timeout_s: int | None
    has_report_anchor: bool
    externalized_path_valid: bool

    status: str = "active"
    closed: bool = False
    held_by: str = ""
    """The disposition that set the status, when only the operator may change it."""
    operator_asked: bool = False
    """Whether the last thing the operator heard from the task was a question."""

    checkpoint_number: int = 0
    """The checkpoint whose timer is set, or was last."""
    checkpoint_due_us: int | None = None
    silence_due_us: int | None = None
    last_due_us: int | None = None
    """When the latest checkpoint that was reported as due was due."""
    last_silence_us: int | None = None
    """When the latest silence was reported."""
    last_visible_us: int | None = None
    update_seen: bool = False
    """Whether the operator saw an update since the last miss, or the start."""
    missed_in_a_row: int = 0
    silences_in_a_row: int = 0
    miss_event_ids: tuple[str, ...] = ()
    """The events that reported the present run of misses, the latest few."""

    new_items: int = 0
    new_best: int = 0
    next_step_backed: bool = False
    best_quality: int = 0
    completion_quality: int = 0
    class_mask: int = 0
    """One bit per evidence class attached so far, in the order of EvidenceClass."""
    new_counts: tuple[int, ...] = ()
    """New items since the last checkpoint by class, in that order; empty for none."""
    new_bests: tuple[int, ...] = ()
    """The strongest of them by class."""
    completion_bests: tuple[int, ...] = ()
    """The strongest evidence offered for a completion by class."""
    evidence: tuple[str, ...] = ()
    """Attached items, as `note_evidence` writes them.

    When there are too many, the weakest and oldest are let go first; half of the places are for the strongest that
    are offered for a completion, so that it is known when what a completion rests on is taken back.
    """

    items_total: int = 0
    """Evidence items of at least weak quality attached so far."""
    artefacts: str = ""
    """What evidence pointed at, as `KnownArtefacts` marks it: one of these again is nothing new."""
    status_only_in_a_row: int = 0
    """Reports in a row that brought no new evidence."""

    last_report_us: int = 0
    """When the operator last saw a report of the task itself; 0 for never."""
    promises: tuple[str, ...] = ()
    """Promised follow-ups not delivered yet, as `Owed.note` writes them; so the next two."""
    results: tuple[str, ...] = ()
    """Children's results that the operator has not been shown."""
    runs: tuple[str, ...] = ()
    """Children whose results are expected by a time."""
    delivered_due_us: int = 0
    """When the latest promise that was delivered had been due."""
    forwarded: tuple[str, ...] = ()
    """Runs whose results were shown, the last few, as `note_shown` writes them."""
    reports: int = 0
    """How many reports of the task the operator saw: what came before a report and what came after
    follows from their number, because a broker's clock can stand still or be set back."""
    results_untracked: int = 0
    """Results beyond those that are watched one by one; they count as not shown too."""
    untracked_after: int = 0
    """How many reports had been seen when the last of them came."""
    runs_untracked: int = 0
    """Children beyond those that are waited for one by one."""
    promises_untracked: int = 0
    """Promises beyond those that are watched one by one."""
    spawn_failures: int = 0
    """Failures since the operator last saw a report that no waiting result stands for: of children
    that could not be dispatched, and of results that are not tracked."""
    demands: tuple[str, ...] = ()
    """The latest few events on which a report was demanded that no forced update has answered."""
    told_id: str = ""
    """The last event that was the first to report an obligation as overdue."""
    times_told: int = 0
    """How often that obligation was reported, that time included."""

    history: History = {}  # noqa: RUF012 -- never changed, only replaced
    """What conditions ask about the past, as `HistoryPlan` keeps it."""
    repeats: dict[str, int] = {}  # noqa: RUF012 -- never changed, only replaced
    """How often the rules that escalate on repetition have matched."""

    def changed(self, **values: Any) -> "TaskState":
        """The state with other values; a third of the time that ``_replace`` takes with so many fields."""
        fields = list(self)
        for name, value in values.items():
            fields[_INDEX[name]] = value
        return _MAKE(TaskState, fields)

    def encode(self) -> bytes:
        """State to bytes for the store."""
        return _ENCODE((FORMAT, *self)).encode()

    @classmethod
    def decode(cls, raw: bytes) -> "TaskState":
        """Bytes from the store to state."""
        try:
            values = cast("list[Any]", json.loads(raw))
            found = values.pop(0)
            if found != FORMAT or len(values) != _FIELDS:
                raise TaskStateError(
                    f"task state has format {found} with {len(values)} fields; this engine reads"
                    f" format {FORMAT} with {_FIELDS}; replay the events to rebuild it"
                )
            for index in _TUPLES:
                values[index] = tuple(values[index])
        except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
            raise TaskStateError(
                f"task state is not readable ({error}); replay the events to rebuild it"
            ) from error
        return _MAKE(cls, values)


# Past the constructor, which would unpack and pack all fields again.
_MAKE: Any = cast(Any, tuple).__new__
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_FIELDS = len(TaskState._fields)
_INDEX = {name: number for number, name in enumerate(TaskState._fields)}
_TUPLES = tuple(
    _INDEX[name]
    for name in (
        "operator",
        "miss_event_ids",
        "new_counts",
        "new_bests",
        "completion_bests",
        "evidence",
        "promises",
        "results",
        "runs",
        "forwarded",
        "demands",
    )
)
