"""Messages of alerts to their recipients.

In: events of alerts that notify (`jobs.alerts`). Out: e-mails, webhooks, a daily digest, and a
sign of life to a dead-man's switch.
"""
