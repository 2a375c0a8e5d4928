"""Endpoints of alerts, silences, and who is told; for staff.

In: filters, acknowledgements, silences, routes. Out: alerts with their history, routes.
"""
