"""When a session's time or budget is used up: one rule, for every gate and every runtime."""

from typing import Literal

from lictor_guard.facts.session_facts import Identity, Tally
from lictor_schema.sessions.agent_definition import Budgets
from lictor_schema.sessions.session_questions import Usage

Limit = Literal["deadline", "budget"]
NEAR_END = 256
"""So many calls before its end a budget counts each when it is allowed; before that nobody has so many under way."""
_MILLION = 1_000_000


def exhausted(identity: Identity, tally: Tally, budgets: Budgets, now_us: int) -> Limit | None:
    """What is used up, the deadline first; used up means reached."""
    deadline_us = identity.deadline_at(now_us)
    if deadline_us is not None and now_us >= deadline_us:
        return "deadline"
    return "budget" if spent_budgets(tally, budgets) else None


def spent_budgets(tally: Tally, budgets: Budgets) -> tuple[str, ...]:
    """The budgets that are used up, each with its figures, for people."""
    total = tally.input_tokens + tally.output_tokens
    counted = (
        (tally.calls + tally.running, budgets.calls, "calls"),
        (tally.input_tokens, budgets.input_tokens, "input tokens"),
        (tally.output_tokens, budgets.output_tokens, "output tokens"),
        (total, budgets.total_tokens, "tokens"),
    )
    spent = [
        f"{used} of {budget} {what}"
        for used, budget, what in counted
        if budget is not None and used >= budget
    ]
    if budgets.cost_usd is not None:
        used = tally.cost_micro_usd * _MILLION + tally.cost_below_micro
        if used >= _millionths_of_micro(budgets.cost_usd):
            spent.append(f"the {budgets.cost_usd} US dollars")
    return tuple(spent)


def counts_when_allowed(tally: Tally, budgets: Budgets) -> bool:
    """Whether a call has to be counted before it is made: calls side by side must not pass the budget together."""
    if budgets.calls is None:
        return False
    return budgets.calls - tally.calls - tally.running <= NEAR_END


def with_usage(tally: Tally, usage: Usage | None) -> Tally:
    """The tally with reported usage added, to the last digit; what is reported as negative counts as nothing."""
    if usage is None:
        return tally
    below = tally.cost_below_micro
    if usage.cost_usd is not None:
        below += max(0, _millionths_of_micro(usage.cost_usd))
    micro, below = divmod(below, _MILLION)
    return tally.model_copy(
        update={
            "input_tokens": tally.input_tokens + usage.input_tokens,
            "output_tokens": tally.output_tokens + usage.output_tokens,
            "cost_micro_usd": tally.cost_micro_usd + micro,
            "cost_below_micro": below,
        }
    )


def _millionths_of_micro(amount: str) -> int:
    """A decimal text of dollars in units of 10**-12: whole, since it has at most twelve decimals."""
    whole, _, decimals = amount.removeprefix("-").partition(".")
    value = int(whole + decimals.ljust(12, "0"))
    return -value if amount.startswith("-") else value
