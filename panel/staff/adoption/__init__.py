"""Adoption of existing volumes, in three steps.

In: a host's inventory and the customers chosen. Out: volumes with a customer, and tagging jobs.
"""
