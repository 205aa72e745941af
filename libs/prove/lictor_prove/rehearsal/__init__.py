"""Rehearsal: what is proved about a program is compared with what Python does, before anybody sees the verdict."""
