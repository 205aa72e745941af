"""A program runs in the same Python as it was rehearsed in: started with the same flags, hash seed and locale."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from runs_on_disk import RUN_ID, TASK_ID, Bank, MemoryJournal, at_once
from staged_programs import ordered, planned, shop
from staged_programs import program as staged

from lictor_prove.written_values import shortened, written
from lictor_run.approved_run import Run
from lictor_run.program_interpreter import ENVIRONMENT, environment
from lictor_run.rehearsal.local_stage import LocalStage
from lictor_schema.approvals.run import EffectDone, RunOutcome

WORDS = [f"word {number}" for number in range(40)]
IN_ANY_ORDER = "{" + ", ".join(map(repr, WORDS)) + "}"
EFFECTS = """
    import json
    import locale
    import os
    import sys
    from pathlib import Path

    from lictor_layer import nothing_to_undo, trusted

    @nothing_to_undo
    @trusted
    def report() -> str:
        own = Path("/proc/self/cmdline").read_bytes().decode().split(chr(0))
        flags = {{name: getattr(sys.flags, name) for name in dir(sys.flags) if name[0] != "_"}}
        return json.dumps(dict(
            words=list({words}),
            hash=hash("x"),
            started=own[1 : own.index("-m")],
            environ=dict(os.environ),
            flags={{name: held for name, held in flags.items() if isinstance(held, int)}},
            locale=locale.setlocale(locale.LC_ALL, None),
            encoding=locale.getpreferredencoding(),
        ))
"""
PROGRAM = (
    "from tools.bank.trusted.effects import report\n\n\ndef main() -> None:\n    said = report()\n"
)


async def reported(folder: Path, shown: dict[str, str]) -> dict[str, Any]:
    """What the child of a run says of itself."""
    bank = Bank.at(folder, EFFECTS.replace("{words}", "{" + IN_ANY_ORDER + "}"))
    journal = MemoryJournal()
    run = Run(RUN_ID, TASK_ID, journal, writer="w")
    place = replace(bank.place(), environment=shown)
    ended = await run.execute(bank.approved(PROGRAM), place, at_once)
    assert ended.outcome is RunOutcome.EXECUTED, ended.reason
    (done,) = [each for each in journal.entries if isinstance(each, EffectDone)]
    assert isinstance(done.result, str)
    return json.loads(done.result)


async def test_a_run_and_its_rehearsal_have_one_hash_seed_locale_and_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever the services were started with.
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    monkeypatch.setenv("LC_ALL", "POSIX")
    ran = await reported(tmp_path / "run", {"TZ": "UTC"})
    with LocalStage() as stage:
        order = ordered(
            shop(tmp_path / "shop"),
            staged(f"save([word for word in {IN_ANY_ORDER}])"),
            planned(("save", None)),
        )
        ((call,),) = [run.calls for run in stage.perform(order).runs]
        process = Path(f"/proc/{stage.pid}")
        command = process.joinpath("cmdline").read_bytes().decode().split("\0")
        seen = process.joinpath("environ").read_bytes().decode().split("\0")
    # The order of a set of strings shows the hash seed.
    assert call.arguments["items"] == shortened(written(ran["words"]))
    assert ran["words"] != WORDS
    assert command[1 : command.index("-m")] == ran["started"]
    assert sorted(each for each in seen if each) == [
        f"{name}={ran['environ'][name]}" for name in sorted(ENVIRONMENT)
    ]
    assert ran["environ"] == {"TZ": "UTC", **ENVIRONMENT}
    # A fixed hash seed is one without randomization; the same in every run.
    assert ran["flags"]["hash_randomization"] == 0
    assert ran["flags"]["utf8_mode"] == 1
    assert ran["flags"]["no_user_site"] == 1
    assert ran["encoding"].lower() == "utf-8"
    again = await reported(tmp_path / "again", {"TZ": "UTC"})
    assert (again["hash"], again["locale"]) == (ran["hash"], ran["locale"])


async def test_nothing_that_a_layer_is_shown_changes_python(tmp_path: Path) -> None:
    changing = {"PYTHONHASHSEED": "7", "PYTHONOPTIMIZE": "2", "LC_ALL": "tr_TR", "LANG": "de"}
    ran = await reported(tmp_path, {"MAIL_HOST": "h", **changing})
    assert ran["environ"] == {"MAIL_HOST": "h", **ENVIRONMENT} == environment({"MAIL_HOST": "h"})
    assert ran["flags"]["optimize"] == 0
