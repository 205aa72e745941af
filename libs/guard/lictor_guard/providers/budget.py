"""Reports how much of the session's budgets is used."""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from lictor_guard.facts.session_facts import Tally
from lictor_guard.plugins.feedback_provider import BuiltInProvider, FeedbackContext
from lictor_schema.sessions.agent_definition import BudgetFeedbackSpec, Budgets
from lictor_schema.sessions.feedback import Feedback, Observation

_MICRO = 1_000_000


class _Spent(NamedTuple):
    """One budget; whole numbers, money in millionths of a dollar."""

    what: str
    used: int
    limit: int

    @property
    def percent(self) -> int:
        """The share used, rounded down: 100 means used up."""
        # A budget of nothing is used up before anything was used.
        return self.used * 100 // self.limit if self.limit > 0 else 100

    def in_words(self) -> str:
        if self.what == "money":
            amounts = f"{_dollars(self.used)} of {_dollars(self.limit)}"
        else:
            amounts = f"{self.used} of {self.limit}"
        return f"{amounts} used ({self.percent} %)"


class BudgetFeedback(BuiltInProvider):
    """Informs; warns as soon as one budget is used to `warn_percent`."""

    def __init__(self, spec: BudgetFeedbackSpec) -> None:
        self.name = spec.name
        self._warn_percent = spec.warn_percent

    def should_run(self, context: FeedbackContext) -> bool:
        """Only a session with a budget has something to use up."""
        return any(_spent(context.budgets, context.tally))

    def provide(self, context: FeedbackContext) -> Feedback:
        """Every budget, and a warning where one runs out."""
        budgets = sorted(_spent(context.budgets, context.tally), key=lambda each: -each.percent)
        fullest = budgets[0]
        observations = tuple(
            Observation(category=each.what, description=each.in_words()) for each in budgets
        )
        if fullest.percent < self._warn_percent:
            return Feedback(
                provider=self.name,
                summary=f"Of the budget for {fullest.what}, {fullest.percent} % are used.",
                observations=observations,
            )
        gone = fullest.percent >= 100
        return Feedback(
            provider=self.name,
            summary=f"The budget for {fullest.what} is used up."
            if gone
            else f"The budget for {fullest.what} is nearly used up: {fullest.percent} %.",
            observations=observations,
            suggestions=("Stop and hand over what there is, now.",)
            if gone
            else ("Finish what matters most first, and leave out what can wait.",),
            severity="warning",
        )


def _spent(budgets: Budgets, tally: Tally) -> Iterator[_Spent]:
    if budgets.calls is not None:
        yield _Spent("calls", tally.calls, budgets.calls)
    if budgets.input_tokens is not None:
        yield _Spent("input tokens", tally.input_tokens, budgets.input_tokens)
    if budgets.output_tokens is not None:
        yield _Spent("output tokens", tally.output_tokens, budgets.output_tokens)
    if budgets.total_tokens is not None:
        used = tally.input_tokens + tally.output_tokens
        yield _Spent("tokens", used, budgets.total_tokens)
    if budgets.cost_usd is not None:
        limit = int(Decimal(budgets.cost_usd) * _MICRO)
        yield _Spent("money", tally.cost_micro_usd, limit)


def _dollars(micro: int) -> str:
    return f"${Decimal(micro) / _MICRO:.2f}"
