"""Metrics for Prometheus: the fleet, hosts, disks, volumes, caches, jobs, and the panel itself.

In: rows that are there anyway, the kernel's counters as they were last read. Out: one text in
Prometheus' format. Its names are a promise: docs/metrics has a dashboard and rules that use them.
"""
