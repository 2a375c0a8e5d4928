"""Charts: what they show, for which time, and the marks of jobs on them.

In: a volume and a time range. Out: series as JSON and CSV, and the panels that the browser draws.
"""
