"""Endpoints of alerts, silences and alert recipients; for staff.

In: filters, acknowledgements, silences, routes. Out: alerts with their history, routes.
"""
