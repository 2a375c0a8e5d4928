"""Endpoints of alerts, silences and alert recipients; for staff.

In: filters, acknowledgements, silences, recipients. Out: alerts with their history, recipients.
"""
