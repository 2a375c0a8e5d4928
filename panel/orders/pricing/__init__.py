"""What an order costs, and whether it may be charged.

In: a plan, a volume and its customer. Out: quotes, prices, trials, what a mandate covers.
"""
