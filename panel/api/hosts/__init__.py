"""Endpoints of what people do with hosts: enrol, trust, hold, adopt; and what was found there.

In: bodies of each module. Out: their shapes. Staff only.
"""
