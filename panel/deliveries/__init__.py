"""Outgoing messages: from a database row to another server or a mailbox.

In: rows that are due (`panel.models.outgoing.Outgoing`): messages to the billing system, `notices`
to customers, `alerts` to staff, events to `webhooks`. Out: each is tried by one sender at a time,
again after a failure, and given up in the end; signed, and only to addresses that the operator
allowed.
"""
