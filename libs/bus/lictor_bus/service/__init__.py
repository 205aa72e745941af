"""The shell of a service: its process, settings, health, telemetry, questions and AsyncAPI document."""
