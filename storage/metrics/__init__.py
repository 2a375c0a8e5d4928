"""Counters of the kernel, the samples made of them, and what they say.

In: raw counters of a host. Out: rates, series, the state of a cache.
"""
