"""Pages of alerts: what is open, its history, silences, and who is told.

In: alerts as `jobs.alerts` keeps them. Out: acknowledgements, silences, routes of messages.
"""
