"""The state of a task: its history, evidence, obligations, holds and timers."""
