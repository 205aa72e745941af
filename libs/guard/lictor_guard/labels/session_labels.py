"""The labels of a session: given from the moment that a call is allowed, and never taken back by a restore or a reset.

What an agent has seen it knows, whatever becomes of the session's state: neither setting back the files nor forgetting
what policies knew takes it out of the agent's context. So labels are `lasting` facts. Only a call that is reported as
never run gives none.

A label costs one fact, however many calls give it, and a call that may give one that is there already costs nothing.
"""

from collections.abc import Sequence

from lictor_guard.facts.fact import Changes, Fact, Facts, full_name
from lictor_guard.facts.session_facts import SESSION
from lictor_guard.labels.rules import GivingRule
from lictor_guard.plugins.tool_call import Call, StandingLabel
from lictor_schema.core.base_model import Model

_LABELS = full_name(SESSION, "label/")


class LabelingCall(Model):
    """A call that gave a label, or that may give one."""

    call_id: str
    tool: str
    at_us: int


class Label(Fact, kind="label", retention="lasting"):
    """How the session stands with a label."""

    given: LabelingCall | None = None
    """The first call that gave it and has ended."""
    underway: int = 0
    """Calls that were allowed, may give it, and have not ended; counted only until it is given."""
    last: LabelingCall | None = None
    """The last of them."""


class LabelsUnderway(Fact, kind="labels-underway", retention="lasting"):
    """What a call that was allowed and has not ended may give."""

    rules: tuple[int, ...]
    """Their places in the definition."""


class SessionLabels:
    """The labels of one definition: the rules that give them, and what they change in a session's facts."""

    def __init__(self, rules: Sequence[GivingRule] = ()) -> None:
        self._rules = tuple(rules)
        self._labels = tuple(dict.fromkeys(each.label for each in rules))

    @property
    def by_output(self) -> bool:
        """Whether a rule looks at what calls return."""
        return any(each.output for each in self._rules)

    def names(self, call_id: str) -> list[str]:
        """The facts that a call needs: as many as there are labels, and one of its own."""
        if not self._labels:
            return []
        return [*(label_name(each) for each in self._labels), _underway_name(call_id)]

    def standing(self, facts: Facts, call_id: str) -> dict[str, StandingLabel]:
        """The labels that the session has by other calls than this one."""
        own = self._labels_of(self._underway(facts, call_id))
        found: dict[str, StandingLabel] = {}
        for each in self._labels:
            label = _label(facts, each)
            if label.given is not None:
                found[each] = _standing(each, label.given, underway=False)
            elif label.last is not None and label.underway > (each in own):
                found[each] = _standing(each, label.last, underway=True)
        return found

    def reserves(self, call: Call, facts: Facts) -> bool:
        """Whether a call must be on the log before it is made: it may give a label that is not given yet."""
        return bool(self._new(call, facts))

    def was_another(self, call: Call, facts: Facts) -> bool:
        """Whether a call that was allowed before may give more now: what its parameters name has become another."""
        return not set(self._new(call, facts)) <= set(self._underway(facts, call.call_id))

    def on_allowed(self, call: Call, facts: Facts, at_us: int) -> Changes:
        """What changes when a call is allowed."""
        new = self._new(call, facts)
        if not new:
            return {}
        by = LabelingCall(call_id=call.call_id, tool=call.tool, at_us=at_us)
        changes: dict[str, Fact | None] = {_underway_name(call.call_id): LabelsUnderway(rules=new)}
        for each in self._labels_of(new):
            changes[label_name(each)] = Label(underway=_label(facts, each).underway + 1, last=by)
        return changes

    def on_result(
        self, call: Call, facts: Facts, at_us: int, *, ran: bool, output: str | None
    ) -> Changes:
        """What changes when a call has ended."""
        if not self._rules:
            return {}
        own = self._underway(facts, call.call_id)
        by = LabelingCall(call_id=call.call_id, tool=call.tool, at_us=at_us)
        given = self._given(call, own, output) if ran else frozenset[str]()
        changes: dict[str, Fact | None] = {_underway_name(call.call_id): None} if own else {}
        mine = self._labels_of(own)
        for each in self._labels:
            label = _label(facts, each)
            if label.given is not None:
                continue
            if each in given:
                changes[label_name(each)] = Label(given=by)
            elif each in mine:
                left = label.underway - 1
                changes[label_name(each)] = (
                    Label(underway=left, last=label.last) if left > 0 else None
                )
        return changes

    def _new(self, call: Call, facts: Facts) -> tuple[int, ...]:
        """The rules by which a call may give what the session has not for good."""
        return tuple(
            place
            for place, rule in enumerate(self._rules)
            if _label(facts, rule.label).given is None and rule.concerns(call)
        )

    def _given(self, call: Call, own: Sequence[int], output: str | None) -> frozenset[str]:
        # As it was allowed, and as it was reported: a report may leave out parameters, and a link lead elsewhere.
        return frozenset(
            rule.label
            for place, rule in enumerate(self._rules)
            if rule.told_by(output) and (place in own or rule.concerns(call))
        )

    def _underway(self, facts: Facts, call_id: str) -> tuple[int, ...]:
        if not self._rules:
            return ()
        found = facts.get(_underway_name(call_id))
        return found.rules if isinstance(found, LabelsUnderway) else ()

    def _labels_of(self, places: Sequence[int]) -> frozenset[str]:
        return frozenset(self._rules[each].label for each in places)


def label_name(label: str) -> str:
    """Where a label stands among the session's facts."""
    return f"{_LABELS}{label}"


def _underway_name(call_id: str) -> str:
    return full_name(SESSION, f"labeling/{call_id}")


def _label(facts: Facts, label: str) -> Label:
    found = facts.get(label_name(label))
    return found if isinstance(found, Label) else Label()


def _standing(label: str, by: LabelingCall, *, underway: bool) -> StandingLabel:
    return StandingLabel(label, by.call_id, by.tool, by.at_us, underway)
