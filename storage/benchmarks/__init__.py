"""Benchmarks of a host's disks and caches: what is ordered, what it takes, and what came of it.
Pure."""
