"""Who is told of alerts, and how.

In: events of alerts that are to be told (`jobs.alerts`). Out: e-mails, webhooks, a daily digest,
and a sign of life to a dead-man's switch.
"""
