"""What every service does on the bus: subjects, streams, the batch loop, state, timers, dead letters, telemetry."""
