"""Pages of alerts: open alerts, history, silences, and recipients.

In: alerts as `jobs.alerts` stores them. Out: acknowledgements, silences, recipients.
"""
