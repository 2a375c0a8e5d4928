"""The whole of Tiercel at once: its processes, its services, a host over SSH, a person at it."""
