"""What a person sees at a terminal of 40, 60 or 80 columns: no line too long, no word cut, nothing missing."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from lictor_cli.output.terminal import harmless_json, say_table, spelled_out

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
REASON = (
    "The task claims completion, and none of the evidence attached to it is of quality strong"
    " or better; a claim of completion needs verification output."
)
RULE = "verified-completion-only.completion-without-required-evidence"

RECORD = """
from lictor.models import DecisionRecord
from lictor_schema.core.canonical_json import canonical_json
hash = "sha256:" + "0" * 64
record = DecisionRecord.from_json(canonical_json({
    "record_id": "6f0d1c57-5e0d-5b8e-9d53-1c9b8a2f7e11", "recorded_at": "2026-01-01T10:20:30.400Z",
    "runtime": "test", "task_id": "a-task", "agent_id": "agent", "correlation_id": "flow",
    "event_id": "e1", "event_type": "task_claimed_complete",
    "event_timestamp": "2026-01-01T10:20:30Z", "event_sequence": 1, "event_sha256": hash,
    "trigger_event_ids": ["e1"],
    "decision": {"decision": "downgrade_status", "policy_id": RULE, "severity": "high",
        "reason": REASON, "rewritten_message": None, "suggested_status": None,
        "required_actions": [], "operator_notice": None},
    "matched_rules": [], "config_hash": hash, "decision_type": "report", "evidence": {},
    "receipt": {"status": "planned", "delivery_state": "prepared",
        "operator_notice_required": False},
    "task_closed": False}))
"""
SCRIPTS = {
    "watch": RECORD
    + """
from lictor_cli.watch import _shower
_shower(False, with_task=True)(record)
""",
    "story": RECORD
    + """
from lictor_cli.output.story_view import story_view
with story_view(silent=False) as view:
    for _ in range(8):
        view.narrate("the agent claims that it is done")
        view.see(record)
""",
    "table": """
from lictor_cli.output.terminal import say_table
say_table(("N", "service", "stream", "received", "reason"),
    [(str(n), "policy-evaluator", f"EVENTS {n}", "2026-01-01T10:20:30.400Z", REASON + " " + RULE)
     for n in range(1, 4)])
""",
    "doctor": """
from lictor_local.doctor import DoctorFinding
from lictor_cli.doctor import _show
_show(DoctorFinding("policy-evaluator", False, REASON, RULE), advise=True)
""",
}


def at_terminal(script: str, columns: int) -> list[str]:
    """What the script writes to a terminal of that width, line by line."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
    }
    with subprocess.Popen(
        [sys.executable, "-c", f"REASON, RULE = {REASON!r}, {RULE!r}\n{script}"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color"},
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                written += os.read(ours, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
    os.close(ours)
    told = ESCAPES.sub("", written.decode())
    assert process.returncode == 0, told
    # What is redrawn in place comes after a carriage return.
    return [line.rpartition("\r")[2] for line in told.replace("\r\n", "\n").split("\n")]


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("script", SCRIPTS)
def test_lines_fit_and_words_stay_whole(script: str, columns: int) -> None:
    lines = at_terminal(SCRIPTS[script], columns)
    assert max(map(len, lines)) <= columns
    told = "\n".join(lines)
    assert "…" not in told
    words = told.split()
    for word in REASON.split():
        assert word in words
    # Longer than some columns: it may go on in the next line, but all of it is there.
    assert RULE in re.sub(r"\s+", "", told)


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_a_table_that_does_not_fit_keeps_its_header(columns: int) -> None:
    titles = ("N", "service", "stream", "received", "reason")
    lines = at_terminal(SCRIPTS["table"], columns)
    told = " ".join("\n".join(lines).partition("policy-")[0].split())
    assert told == " ".join((*titles, "1"))


def test_cells_stand_below_their_titles() -> None:
    lines = at_terminal(SCRIPTS["table"], 60)
    assert lines[:2] == ["N  service           stream    received", "    reason"]
    assert lines[2] == "1  policy-evaluator  EVENTS 1  2026-01-01T10:20:30.400Z"
    assert lines[3].startswith("    The task claims completion")


def test_a_piped_table_has_its_header() -> None:
    script = f"REASON, RULE = {REASON!r}, {RULE!r}\n{SCRIPTS['table']}"
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines()[0].split() == ["N", "service", "stream", "received", "reason"]


@pytest.mark.parametrize("columns", [60, 80])
def test_a_story_longer_than_the_screen_shows_every_decision(columns: int) -> None:
    told = "\n".join(at_terminal(SCRIPTS["story"], columns))
    assert told.count("downgrade_status") == 8
    assert told.count("10:20:30") == 8


def test_json_that_an_agent_wrote_can_not_steer_a_terminal() -> None:
    written = {"title": "\x1b[2J \x9b31m \x85 \u202e \x7f é 漢 \U000e0001"}
    told = harmless_json(json.dumps(written, ensure_ascii=False))
    assert told.isprintable()
    assert "é 漢" in told
    assert json.loads(told) == written


def test_ids_are_labelled_where_a_person_watches() -> None:
    told = " ".join("\n".join(at_terminal(SCRIPTS["watch"], 80)).split())
    assert "task a-task decision 6f0d1c57-5e0d-5b8e-9d53-1c9b8a2f7e11" in told


@pytest.mark.parametrize(
    "char", ["\ufe0f", "\u3164", "\u034f", "\u2800", "\u200b", "\u202e", "\u00a0"]
)
def test_no_two_values_look_the_same_for_what_is_not_seen(char: str) -> None:
    escaped = json.dumps(char)[1:-1]
    assert spelled_out(f"news{char}letter") == f"news{escaped}letter"
    assert harmless_json(json.dumps(char, ensure_ascii=False)) == f'"{escaped}"'


def test_what_is_seen_stays_with_every_blank() -> None:
    assert spelled_out("a   b ä 例 \U0001f600") == "a   b ä 例 \U0001f600"
    assert json.loads(f'"{spelled_out(chr(0xE0100))}"') == chr(0xE0100)
    assert spelled_out("x" * 11, 10) == "x" * 9 + "…"


def test_a_column_of_values_keeps_every_blank_and_another_is_one_line_of_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say_table(("what", "with"), [("a  b", "a  b\ufe0f")], exact=("with",))
    assert capsys.readouterr().out.splitlines()[1] == "a b   a  b\\ufe0f"
