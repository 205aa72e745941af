"""`lictor runs`: what approved programs did."""

HELP = """\
Runs: an approved program runs once, and every effect is written down before it is made. What did not complete was
taken back as far as it could be; the rest is named. The runner runs what is approved by itself: there is no command
to run a program.
"""
VERBS = {
    "list": "list runs and what became of them",
    "show": "show one: every effect with its arguments, its result, and whether it was taken back",
}
