"""Endpoints of what the charts and cards of the pages show, by the same computations.

In: a host, a disk, a job or the fleet, and a time. Out: columns, and who made them.
"""
