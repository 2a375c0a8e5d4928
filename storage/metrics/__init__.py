"""Kernel counters, the samples made from them, and their figures.

In: raw counters of a host. Out: rates, series, the state of a cache.
"""
