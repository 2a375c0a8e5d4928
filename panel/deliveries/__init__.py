"""The one way out: how a message that is written in the database reaches somebody else's server.

In: rows that are due (`panel.models.outgoing.Outgoing`): messages to the billing system, notices to
customers, alerts. Out: each is tried by one sender at a time, again after a failure, and given up
in the end; signed, and only to addresses that the operator allowed.
"""
