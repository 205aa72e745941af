"""What a service publishes about itself: health and dead letters."""
