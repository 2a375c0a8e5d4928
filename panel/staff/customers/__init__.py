"""Pages of customers and of what they buy: plans, ledger, deliveries.

In: a customer's key and forms. Out: customers, mandates and plans as staff set them.
"""
