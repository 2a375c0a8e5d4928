"""Endpoints of customers, plans, mandates, orders and proofs.

In: bodies of requests. Out: shapes of each; orders go to `panel.orders`.
"""
