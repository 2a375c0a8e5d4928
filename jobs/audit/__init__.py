"""The audit trail: who did what on which host. Written before and after each command, never
changed.

In: the engine's steps. Out: rows for the audit pages and the API.
"""
