"""Endpoints of events and of the webhooks that they are sent to.

In: a place in the list, filters, addresses. Out: pages of events, also as server-sent events;
webhooks and the log of what was sent to them.
"""
