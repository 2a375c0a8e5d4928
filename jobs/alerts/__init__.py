"""Alerts: problems with a memory, so that recipients get one message when a problem lasts and one
when it is resolved.

In: the list of problems that every page shows (`jobs.problems`), silences, hosts in maintenance.
Out: rows of `Alert`, and events, some of which notify. `panel.deliveries.alerts` sends the
messages.
"""
