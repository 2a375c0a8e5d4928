"""Alerts: problems with a memory, so that a person is told once, and once that it is over.

In: the list of problems that every page shows (`jobs.problems`), silences, hosts in maintenance.
Out: rows of `Alert`, and events of which some are to be told. Who is told, and how, is
`panel.deliveries.alerts`.
"""
