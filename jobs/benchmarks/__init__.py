"""Benchmarks: ordered, paused and cancelled by people, and brought to their end by workers, run by
run. Each run is a job of the engine."""
