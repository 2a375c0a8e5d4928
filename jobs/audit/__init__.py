"""What was done on hosts, by whom: written before and after each command, never changed.

In: the engine's steps. Out: rows for the audit pages and the API.
"""
