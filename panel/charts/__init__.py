"""Charts: their contents, their time range, and the marks of jobs.

In: a volume and a time range. Out: series as JSON and CSV, and the panels that the browser draws.
"""
