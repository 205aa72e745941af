"""`lictor contract show`: how a governed decision stands."""

from argparse import ArgumentParser, Namespace

from lictor.history.stream_contents import streams_at
from lictor_cli.contract.sources import decision_shown, task_arguments, told
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say
from lictor_schema.contracts.decision_questions import DecisionShowAnswer

HELP = "Show how a decision stands."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    task_arguments(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    async with streams_at(options.url, "contract") as client:
        answer = await decision_shown(client, options)
    return told(options, answer, lambda: _say(answer))


def _say(answer: DecisionShowAnswer) -> None:
    standing, halted_by = answer.standing, answer.halted_by
    if standing is None:
        say(printable(answer.reason))
        return
    rung = standing.rung
    lines = [
        ("decision", f"{standing.decision_type}, episode {standing.episode_id}"),
        ("state", f"{standing.state.value}: {standing.reason} (by {standing.by})"),
        ("halted", None if halted_by is None else f"the kill-switch is engaged by {halted_by}"),
        ("begun", f"{standing.begun_at}, deadline {standing.deadline_at}"),
        ("ended", "yes" if standing.ended else "no"),
        ("rung", None if rung is None or rung.step is None else rung.step.value),
        ("entries", str(standing.entries)),
    ]
    for name, text in lines:
        if text is not None:
            say(f"{name:<9} {printable(text)}")
    for action in standing.actions:
        approvers = ", ".join(action.approvers) or "nobody"
        ended = action.outcome or ("dispatched" if action.dispatches else "not dispatched")
        say(
            f"action    {printable(action.action_id)}  {printable(action.action_type)}  "
            f"{action.decision}, {ended}, approved by {printable(approvers)}"
        )
        say(f"          {action.action_hash}")
        for reason in action.reasons:
            say(f"          {printable(reason.message)}; {printable(reason.remedy)}")
