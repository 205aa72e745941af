"""A task's state: its obligations, evidence, holds, history and timers."""
