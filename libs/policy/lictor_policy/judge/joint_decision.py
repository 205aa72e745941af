"""What several rules that fire on one event say together.

The deciding rule says what is decided and words the notice. Nothing that another rule demands is lost by that: the
notice is as urgent as the most urgent of them wants it and says what each has to say, and the actions of all are
required. Most of it is fixed for the same rules, so it is put together once and kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from lictor_policy.decisions.capabilities import fresh_receipts, receipts_by_runtime
from lictor_policy.decisions.json_text import optional
from lictor_policy.events.content import message_of
from lictor_policy.rules.compiled_rule import CompiledRule
from lictor_policy.rules.record_text import DecisionText, NoticeText, cut
from lictor_policy.rules.templates import Template, TemplateContext
from lictor_policy.task.holds import is_held_back, keeps_status
from lictor_schema.core.base_model import MAX_ITEMS, MAX_TEXT_LENGTH
from lictor_schema.decisions.decision import Decision, OperatorNotice, RequiredAction, Severity
from lictor_schema.decisions.receipt import ActionName

_OPEN = "?"


class Joint(NamedTuple):
    """The rules of one decision, strongest first, and what is fixed of what they say."""

    winner: CompiledRule
    decision: DecisionText
    notice: "JointNotice | None"
    rewrite: Template | None
    receipts: tuple[str, str]
    """As JSON: without and with a notice that is due."""
    receipts_by_runtime: Mapping[str, tuple[str, str]]
    """The same, by what each runtime with a descriptor can do."""

    def decide(self, situation: TemplateContext, reason: str) -> str:
        """The decision as JSON."""
        rewritten = None
        if self.rewrite is not None and (message := message_of(situation.event)) is not None:
            ours = self.rewrite.is_filled_by(message, situation)
            rewritten = message if ours else self.rewrite.fill(situation)
        output = self.winner.rule.decision_output
        kept = keeps_status(situation.state, output.decision, output.suggested_status)
        notice = None if self.notice is None else self.notice.fill(situation, reason)
        return self.decision.write(reason, rewritten, notice, moves=not kept)

    def receipt(self, runtime: str) -> str:
        """The receipt as JSON: nothing is done yet, what the runtime can do stands as intent."""
        receipts = self.receipts_by_runtime.get(runtime, self.receipts)
        return receipts[self.notice is not None and self.notice.is_owed]


class JointNotice(NamedTuple):
    """The notice that rules demand together."""

    is_owed: bool
    parts: tuple[str, ...]
    channel: Template
    words: Template | None
    """Of the deciding rule; None when it has none."""
    others: tuple[tuple[str, Template, Template], ...]
    """What the others have to say: the rule, its channel, its text."""

    def fill(self, situation: TemplateContext, reason: str) -> NoticeText:
        """The notice about a situation."""
        to_channel, to_message, rest = self.parts
        channel = self.channel.fill(situation) or "operator"
        message = self._message(situation, reason, channel)
        return f"{to_channel}{quoted(channel)}{to_message}{optional(message)}{rest}"

    def _message(self, situation: TemplateContext, reason: str, channel: str) -> str | None:
        if self.words is None and not self.is_owed and not self.others:
            return None
        message = reason if self.words is None else self.words.fill(situation)
        told = {message}
        for rule_id, elsewhere, text in self.others:
            words = text.fill(situation)
            if words not in told:
                told.add(words)
                to = elsewhere.fill(situation) or "operator"
                message += (
                    f" Also ({rule_id if to == channel else f'for {to}, {rule_id}'}): {words}"
                )
        return message if len(message) <= MAX_TEXT_LENGTH else message[: MAX_TEXT_LENGTH - 1] + "…"


@lru_cache(maxsize=4096)
def together(ranked: tuple[CompiledRule, ...]) -> Joint:
    """What rules say together; the strongest first."""
    winner = ranked[0]
    actions = tuple(_actions(ranked))
    shown = not is_held_back(winner.rule.decision_output.decision)
    rewrites = [rule.rewrite for rule in (ranked if shown else ranked[:1])]
    return Joint(
        winner,
        DecisionText.of(_decision(winner, actions)),
        _notice(ranked),
        next((rewrite for rewrite in rewrites if rewrite is not None), None),
        fresh_receipts(actions),
        receipts_by_runtime(actions, winner.capabilities),
    )


def _decision(winner: CompiledRule, actions: tuple[RequiredAction, ...]) -> Decision:
    output = winner.rule.decision_output
    return Decision(
        decision=output.decision,
        policy_id=winner.policy_id,
        severity=winner.severity,
        reason=_OPEN,
        rewritten_message=None,
        suggested_status=output.suggested_status,
        required_actions=actions,
        operator_notice=None,
    )


def _actions(ranked: Sequence[CompiledRule]) -> Iterator[RequiredAction]:
    """The actions of all rules, those of the deciding one first, none twice."""
    winner = ranked[0]
    listed: list[RequiredAction] = []
    for rule in ranked:
        for action in rule.rule.decision_output.required_actions:
            told = action if rule is winner else _beside(action, winner)
            if told not in listed:
                listed.append(told)
                yield told


def _beside(action: RequiredAction, winner: CompiledRule) -> RequiredAction:
    """An action of another rule; what contradicts the decision is listed, and must not be done."""
    output = winner.rule.decision_output
    match action.action:
        case ActionName.SET_STATUS:
            stands = action.details.get("status") == output.suggested_status
        case ActionName.REWRITE_MESSAGE:
            stands = not is_held_back(output.decision)
        case _:
            stands = True
    if stands:
        return action
    details = {**action.details, "superseded_by": winner.policy_id}
    return action.model_copy(update={"mandatory": False, "details": details})


def _notice(ranked: Sequence[CompiledRule]) -> JointNotice | None:
    demanding = [rule for rule in ranked if rule.notice is not None]
    if not demanding:
        return None
    owed = any(rule.notice is not None and rule.notice.notice.required for rule in demanding)
    if owed:
        demanding = [each for each in demanding if each.notice and each.notice.notice.required]
    winner = ranked[0]
    forms = [rule.notice for rule in demanding if rule.notice is not None]
    own = winner.notice if winner in demanding else None
    channel = (own or max(forms, key=lambda form: form.notice.urgency.rank)).channel
    words = winner.wording if own is None or own.text is None else own.text
    others = tuple(
        (rule.rule.id, rule.notice.channel, rule.notice.text)
        for rule in demanding
        if rule is not winner and rule.notice is not None and rule.notice.text is not None
    )
    notice = OperatorNotice(
        required=owed,
        channel=_OPEN,
        urgency=max((form.notice.urgency for form in forms), key=_urgency),
        must_reference=tuple(
            dict.fromkeys(name for form in forms for name in form.notice.must_reference)
        )[:MAX_ITEMS],
        deadline=next((form.notice.deadline for form in forms if form.notice.deadline), None),
    )
    return JointNotice(
        owed,
        cut(notice, f'"channel":"{_OPEN}"', '"message":null'),
        channel,
        words if owed or (own is not None and own.text is not None) else None,
        others,
    )


def _urgency(urgency: Severity) -> int:
    return urgency.rank
