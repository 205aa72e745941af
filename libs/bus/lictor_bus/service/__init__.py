"""The process of a service: composition, settings, health, telemetry, questions and answers."""
