"""What happened, by time."""
