"""`lictor hook`: what stands between Claude Code and the guard. Without a verb, `lictor.fast.hook` answers an event."""

HELP = """\
Without a command it answers one hook event of Claude Code: JSON on stdin, JSON on stdout, exit code 0;
or exit code 2 with the reason on stderr. `lictor hook --definition NAME` begins sessions with that agent definition;
`--event NAME` says which event it is for, where that can't be read. `--url URL`, or `--endpoints FILE` with the file
that a `lictor up` leaves in its user's state directory, says who judges: nothing in the workspace does then.
"""

VERBS = {
    "install": "write the hooks into Claude Code's settings, or take them out",
}
