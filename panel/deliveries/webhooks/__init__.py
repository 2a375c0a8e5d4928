"""Webhooks: events (`storage.models.Event`) that are sent to other servers.

In: the list of events, and the webhooks with the events they want. Out: rows of
`panel.models.WebhookDelivery`, which are sent signed, in order, each under the id of its event.
"""
