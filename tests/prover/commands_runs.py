"""Programs in commands, executed beside the stand-ins that `concrete_runs` gives to Python."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import Any, Final

from concrete_runs import Answers, Call, Run, UserRow

from lictor_prove.commands import Commands, ExecutionError, execute

_KINDS: Final[Mapping[str, type]] = {"bool": bool, "str": str, "int": int, "float": float}


def run_commands(commands: Commands, seed: int) -> Run:
    """Runs the program with answers that the seed decides: the same that Python's stand-ins give for it."""
    done = Run()
    answers = Answers(random.Random(seed))
    done.inputs.update(
        {each.name: answers.input(_KINDS[str(each.type)]) for each in commands.inputs}
    )

    def stand_in(effect: str, arguments: Mapping[str, Any]) -> Any:
        result = answers.give(effect)
        done.calls.append(Call(effect, copy.deepcopy(dict(arguments)), copy.deepcopy(result)))
        return result

    try:
        execute(commands, done.inputs, stand_in, rows={"UserRow": UserRow})
    except ExecutionError as error:
        done.raised = error
    return done
