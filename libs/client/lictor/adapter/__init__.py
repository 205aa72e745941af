"""What stands between a runtime and the guard: one sans-IO core, and a thin translator for each runtime.

`lictor hook` starts a process before every tool call, so what it imports (`values`, `jsontext`, `workspace`,
`verdicts`, `operations`, `address`, `wire`) uses the standard library only, and the light part of it.
"""
