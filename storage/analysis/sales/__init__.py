"""What plans earned and what to buy for more of them. Pure.

In: completed orders as `PlanOrder`s, the SSD space of a host and what is wanted there. Out: revenue
by month and plan, how many customers stayed, and the SSD to buy next. Amounts are minor units, and
no currency is converted into another.
"""
