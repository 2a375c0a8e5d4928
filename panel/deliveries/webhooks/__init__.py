"""Webhooks: events (`storage.models.Event`) that are sent to other people's servers.

In: the list of events; who wants which of them. Out: rows of `panel.models.WebhookDelivery`, which
`panel.deliveries` has sent, signed, in order, and each under the event's own name.
"""
