"""Signed calls of the billing system, one function for each.

In: a valid body of `call_bodies`. Out: a `CallResult`. `panel.billing.signed_calls` lists them.
"""
